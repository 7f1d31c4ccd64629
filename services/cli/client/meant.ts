import type { Client } from '#libs/client/client';
import type { InstanceView } from '#libs/contracts/instance';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';

/** A thing that people name, and its line in the error for a name that several have. */
export interface Nameable {
  readonly uuid: string;
  readonly name: string;
  readonly line: string;
}

/** The help of an argument that names an instance. */
export const NAMED = 'its name, its UUID or the beginning of that';
/** Limit of the instances among which a name is looked for. */
const MOST_SEARCHED = 50_000;
const MOST_SHOWN = 10;
/** The beginning of a UUID that is surely none of a name: as long as lists show it. */
const SHORT_UUID = 8;

/**
 * The one thing that a text names: its name, its UUID, or the beginning of that; undefined when none does.
 *
 * @throws BerthError `invalid_argument / ambiguous_name` with those that it may mean.
 */
export function oneMeant<T extends Nameable>(kind: string, text: string, all: readonly T[]): T | undefined {
  const begun = text.toLowerCase();
  const found = all.filter(({ uuid, name }) => text !== '' && (name === text || uuid.startsWith(begun)));
  if (found.length < 2) return found[0];
  const exact = found.filter(({ uuid }) => uuid === begun);
  if (exact.length === 1) return exact[0];
  const shown = found.slice(0, MOST_SHOWN).map(({ line }) => `\n  ${line}`);
  const more = found.length > MOST_SHOWN ? `\n  and ${found.length - MOST_SHOWN} more` : '';
  const message = `'${text}' names ${found.length} ${kind}s:${shown.join('')}${more}`;
  throw new BerthError('invalid_argument', 'ambiguous_name', message, { details: { hint: 'add more of its UUID' } });
}

/**
 * The UUID of an instance from what a person types: the UUID or its beginning, or a name. Instances that are DELETED are
 * found by their UUID only. A whole UUID is not looked up. A name is taken only when all instances were read: one that was
 * not may have it, too.
 *
 * @throws BerthError `not_found / no_such_instance`, `invalid_argument / ambiguous_name`, and the client's errors.
 */
export async function meantInstance(client: Client, text: string, readAll = reader(client)): Promise<string> {
  const begun = text.toLowerCase();
  if (isUuid(begun)) return begun;
  if (begun.length >= SHORT_UUID && isBeginning(begun)) {
    const next = await client.instances({ marker: before(begun) }, MOST_SHOWN);
    const found = oneMeant('instance', text, next.map(asNameable));
    if (found !== undefined) return found.uuid;
  }
  const instances = await readAll(text);
  // A few letters of a UUID that is gone must not stand in the way of a name.
  const mayBeGone = begun.length >= SHORT_UUID;
  const open = instances.filter(({ state, uuid }) => state !== 'deleted' || (mayBeGone && uuid.startsWith(begun)));
  const found = oneMeant('instance', text, open.map(asNameable));
  if (found !== undefined) return found.uuid;
  throw new BerthError(
    'not_found',
    'no_such_instance',
    `there is no instance '${text}': no name, no beginning of a UUID`,
  );
}

/** `meantInstance` of several, each once. */
export async function meantInstances(client: Client, texts: readonly string[]): Promise<readonly string[]> {
  const readAll = reader(client);
  const uuids: string[] = [];
  for (const text of texts) uuids.push(await meantInstance(client, text, readAll));
  return [...new Set(uuids)];
}

/** The UUID of a build request from its beginning. Errors as in `meantInstance`. */
export async function meantRequest(client: Client, text: string): Promise<string> {
  if (isUuid(text.toLowerCase())) return text.toLowerCase();
  const requests = new Map<string, Nameable>();
  for (const { requestId: uuid, name } of await reader(client)(text)) {
    requests.set(uuid, { uuid, name: '', line: `${uuid}  ${name}` });
  }
  const found = oneMeant('request', text, [...requests.values()]);
  if (found !== undefined) return found.uuid;
  throw new BerthError('not_found', 'no_such_request', `no build request begins with '${text}'`);
}

/** Reads all instances, once for all texts. @throws BerthError `invalid_argument / malformed_uuid` when they are too many. */
function reader(client: Client): (text: string) => Promise<readonly InstanceView[]> {
  let reading: Promise<readonly InstanceView[]> | undefined;
  return async (text) => {
    const instances = await (reading ??= client.instances({}, MOST_SEARCHED));
    if (instances.length < MOST_SEARCHED) return instances;
    const message = `among more than ${MOST_SEARCHED} instances '${text}' must be a UUID`;
    throw invalidArgument('malformed_uuid', message, 'uuid');
  };
}

function asNameable({ uuid, name, state, host }: InstanceView): Nameable {
  return { uuid, name, line: `${uuid}  ${name}  ${state.toUpperCase()}  ${host}`.trimEnd() };
}

/** True for the first characters of a UUID, with its dashes. */
function isBeginning(text: string): boolean {
  return text.length > 0 && isUuid(`${text}${LOWEST.slice(text.length)}`);
}

const LOWEST = '00000000-0000-0000-0000-000000000000';

/** The greatest UUID below all that begin so; '' when there is none. */
function before(begun: string): string {
  const number = BigInt(`0x${begun.replaceAll('-', '').padEnd(32, '0')}`) - 1n;
  if (number < 0n) return '';
  const hex = number.toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
