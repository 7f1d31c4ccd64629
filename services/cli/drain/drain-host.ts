import type { Client } from '#libs/client/client';
import type { InstanceView } from '#libs/contracts/messages';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { mapConcurrently } from '../concurrent';
import { nextMove } from './next-move';

export interface DrainOptions {
  readonly host: string;
  readonly reason: string;
  /** Instances that are moved at once. */
  readonly parallel: number;
  /** How long one instance may take. */
  readonly timeoutMs: number;
}

/** What a drain needs of a client. */
export type DrainClient = Pick<Client, 'setHostEnabled' | 'instances' | 'instance' | 'operate'>;

export interface DrainParts {
  readonly client: DrainClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** After each instance that has left, or stays. */
  readonly onProgress: (done: number, all: number, what: Drained) => void;
}

/** How it went with one instance. */
export interface Drained {
  readonly uuid: string;
  readonly name: string;
  /** Where it is now; '' for nowhere. */
  readonly host: string;
  readonly state: string;
  /** Why it stays; undefined when it has left. */
  readonly stays: string | undefined;
}

/** Between two looks at an instance. */
const POLL_MS = 200;

/**
 * Takes a host out of service and moves away what is there: while it runs where the driver can, else stopped and started, and
 * confirmed at once. What is under way there is waited for. It keeps nothing of its own: the host is disabled, and what is left
 * is what is still there, so that a drain which was interrupted, or left something, is begun again.
 *
 * @throws BerthError `not_found / no_such_host`, `unavailable`; the host stays disabled.
 */
export async function drainHost(parts: DrainParts, options: DrainOptions): Promise<Drained[]> {
  const { client, signal, onProgress } = parts;
  const { host, reason, parallel } = options;
  await client.setHostEnabled(host, false, reason);
  const there = await instancesOf(client, host);
  let done = 0;
  return mapConcurrently(
    there,
    parallel,
    async (instance) => {
      const drained = await drainOne(parts, options, instance);
      onProgress(++done, there.length, drained);
      return drained;
    },
    signal,
  );
}

/** What is on a host, and what has left but for what the host keeps of it until that is confirmed. */
async function instancesOf(client: DrainClient, host: string): Promise<InstanceView[]> {
  const [there, kept] = await Promise.all([client.instances({ host }), client.instances({ state: 'verify_resize' })]);
  const elsewhere = kept.filter((one) => one.host !== host && one.migration?.sourceHost === host);
  return [...there, ...elsewhere].filter((one) => nextMove(host, one, []).kind !== 'gone');
}

async function drainOne(
  { client, clock, signal }: DrainParts,
  { host, timeoutMs }: DrainOptions,
  first: InstanceView,
): Promise<Drained> {
  const untilMs = clock.elapsed() + timeoutMs;
  const tried: string[] = [];
  for (let instance = first; ; instance = await client.instance(first.uuid)) {
    const { uuid, name, state } = instance;
    const about = { uuid, name, state, host: instance.host };
    const next = nextMove(host, instance, tried);
    if (next.kind === 'gone') return { ...about, stays: undefined };
    if (next.kind === 'stays') return { ...about, stays: next.reason };
    if (clock.elapsed() > untilMs) return { ...about, stays: `it has not left in ${timeoutMs / 1_000} s: ${state}` };
    if (signal.aborted) return { ...about, stays: 'the drain was interrupted' };
    const refused = next.kind === 'wait' ? undefined : await ask(client, uuid, next);
    if (refused) return { ...about, stays: refused };
    if (next.kind === 'move') tried.push(next.operation);
    await sleep(clock, POLL_MS, signal);
  }
}

/** Why it was refused, if it can't be asked again. */
async function ask(
  client: DrainClient,
  uuid: string,
  next: Extract<ReturnType<typeof nextMove>, { kind: 'move' | 'confirm' }>,
): Promise<string | undefined> {
  try {
    // Confirmed by itself, should the drain be interrupted.
    if (next.kind === 'move') await client.operate(uuid, next.operation, { confirmAfterMs: 1 });
    else await client.operate(uuid, 'confirm');
    return undefined;
  } catch (thrown) {
    const { reason, message } = BerthError.from(thrown);
    // Somebody else has changed it meanwhile: look again.
    if (reason === 'instance_changed' || (next.kind === 'confirm' && reason === 'instance_state')) return undefined;
    return `${reason}: ${message}`;
  }
}
