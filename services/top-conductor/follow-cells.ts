import type { Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { buildRefusedCodec } from '#libs/contracts/conductor';
import { instanceEventCodec, listInstancesMethod } from '#libs/contracts/instance';
import { MAX_PAGE } from '#libs/contracts/limits';
import type { InstanceEvent, InstanceView } from '#libs/contracts/messages';
import { RPC_CONDUCTOR } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { TopConductor } from './context';
import { changeRecord, dueIn } from './records';

const CALL_TIMEOUT_MS = 10_000;
/** What was written this shortly before a comparison began may be missing in it. */
const TOO_NEW_MS = 10_000;
const EVERY = { requestId: '', projectId: '', state: undefined, host: '', instanceUuid: '' };

/** Hears what becomes of instances in a cell, once its bus is open. */
export async function hearCell(t: TopConductor, cell: string, bus: Bus): Promise<void> {
  const failed = (err: unknown) =>
    t.log.warn({ event: 'state_not_taken', err, of_cell: cell }, 'an event of a cell is taken at the next comparison');
  await bus.subscribe('instance.#', (_topic, { body }) => {
    void Promise.resolve()
      .then(() => mirror(t, cell, told(instanceEventCodec.decode(body)), 'event'))
      .catch(failed);
  });
  await bus.subscribe('request.refused.#', (_topic, { body }) => {
    void Promise.resolve()
      .then(() => refused(t, cell, buildRefusedCodec.decode(body)))
      .catch(failed);
  });
}

/** What a cell says of an instance, by an event or in a list. */
type Told = Pick<InstanceEvent, 'state' | 'host' | 'version' | 'fault' | 'attempts' | 'name'> & {
  readonly uuid: string;
  readonly endsAtMs?: number | undefined;
};

function told({ instanceUuid: uuid, ...event }: InstanceEvent): Told {
  return { uuid, ...event };
}

/** Takes over what a cell says of an instance that it was given. What is older than what is known says nothing. */
async function mirror(t: TopConductor, name: string, news: Told, by: 'event' | 'list'): Promise<void> {
  let isNew = false;
  await changeRecord(t, news.uuid, ({ cell }) => {
    if (cell?.name !== name || news.version <= cell.version) return undefined;
    isNew = true;
    const isGone = news.state === 'deleted';
    return {
      state: cell.isEnding && !isGone ? 'deleting' : news.state,
      host: news.host || undefined,
      name: news.name,
      attempts: news.attempts,
      fault: news.fault && { reason: news.fault.reason, message: news.fault.message },
      cell: { ...cell, version: news.version, isHandedOver: true },
      dueAtMs: dueIn(t, news.state, cell.isEnding),
      ...(news.endsAtMs ? { endsAtMs: news.endsAtMs } : {}),
    };
  });
  if (isNew) t.measured.mirrored.inc({ by });
}

/** A cell refused a request that it was handed: its project may have too low a priority there, or the request was too old. */
async function refused(t: TopConductor, name: string, { requestId, error }: { requestId: string; error: BerthError }) {
  if (requestId === '') return;
  const records = await t.instances.list({ requestId }, undefined, MAX_PAGE);
  for (const { uuid } of records) {
    await changeRecord(t, uuid, ({ state, cell }) => {
      if (cell?.name !== name || state !== 'scheduling') return undefined;
      return { state: 'error', fault: { reason: error.reason, message: error.message }, dueAtMs: undefined };
    });
  }
}

/** Asks a cell how the instances of a request are. Answers those that it does not know. @throws BerthError `unavailable`. */
export async function askCell(
  t: TopConductor,
  name: string,
  records: readonly Instance[],
): Promise<readonly Instance[]> {
  const [first] = records;
  if (first === undefined) return [];
  const request = { ...EVERY, requestId: first.requestId, marker: '', limit: MAX_PAGE };
  const views = await listPage(t, name, request);
  await Promise.all(views.map((view) => mirror(t, name, view, 'list')));
  return records.filter(({ uuid }) => !views.some((view) => view.uuid === uuid));
}

/**
 * Compares all that a cell has with what the top knows of it: what happened while the top was away, or the cell was out of its
 * reach, is heard of now. What the cell knows no more has ended, or, when it was never told of, was lost on its way there.
 */
export async function compareCell(t: TopConductor, name: string): Promise<void> {
  const beganAtMs = t.clock.now();
  const there = new Set<string>();
  for (let marker = ''; ; ) {
    const views = await listPage(t, name, { ...EVERY, marker, limit: MAX_PAGE });
    for (const { uuid } of views) there.add(uuid);
    const known = new Map(
      (await t.instances.get(views.map(({ uuid }) => uuid))).map((record) => [record.uuid, record]),
    );
    const news = views.filter(({ uuid, version }) => (known.get(uuid)?.cell?.version ?? version) < version);
    await Promise.all(news.map((view) => mirror(t, name, view, 'list')));
    if (views.length < MAX_PAGE) break;
    marker = views.at(-1)?.uuid ?? '';
  }
  const missing: Instance[] = [];
  await t.instances.scan(async (rows) => {
    const its = rows.filter(({ cell, updatedAtMs }) => cell?.name === name && updatedAtMs < beganAtMs - TOO_NEW_MS);
    missing.push(...its.filter(({ uuid, state }) => !there.has(uuid) && state !== 'deleted' && state !== 'error'));
  });
  await Promise.all(missing.map((record) => forgottenBy(t, record)));
}

/** A cell does not know an instance that it was given. */
export async function forgottenBy(t: TopConductor, { uuid }: Instance): Promise<void> {
  await changeRecord(t, uuid, ({ state, cell }) => {
    if (cell === undefined || !cell.isHandedOver) return undefined;
    if (cell.version > 0 || cell.isEnding) return { state: 'deleted', dueAtMs: undefined };
    return state === 'scheduling' ? { cell: { ...cell, isHandedOver: false } } : undefined;
  });
}

async function listPage(
  t: TopConductor,
  name: string,
  request: Parameters<(typeof listInstancesMethod)['request']['encode']>[0],
): Promise<readonly InstanceView[]> {
  const link = t.links.get(name);
  if (link === undefined) throw new BerthError('unavailable', 'cell_unreachable', `no link to cell ${name}`);
  const options = { timeoutMs: CALL_TIMEOUT_MS, signal: t.stopping };
  return (await callMethod(link.bus, RPC_CONDUCTOR, listInstancesMethod, request, options)).instances;
}
