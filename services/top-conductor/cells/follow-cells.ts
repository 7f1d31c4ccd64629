import { isDeepStrictEqual } from 'node:util';
import type { Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { buildRefusedCodec } from '#libs/contracts/conductor';
import {
  type InstanceEvent,
  type InstanceView,
  instanceEventCodec,
  listInstancesMethod,
} from '#libs/contracts/instance';
import { MAX_PAGE } from '#libs/contracts/limits';
import { RPC_CONDUCTOR } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { BerthError } from '#libs/domain/errors';
import type { CellOfInstance, Instance } from '#libs/domain/instance';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { TopConductor } from '../context';
import { changeByNews, concernsMove } from '../moves/take-news';
import { changeRecord, dueIn, requestIn } from '../records';
import { isMoving, reserveAsOnRecord } from '../requests/reservations';
import { failAtTop, owesGang, settleGang } from '../requests/settle-gang';
import { busOfCell } from './bus-of-cell';
import { forgottenBy } from './doubts';

const CALL_TIMEOUT_MS = 10_000;
/** What was written this shortly before a comparison began may be missing in it. */
const TOO_NEW_MS = 10_000;
/** So many instances of cells, about, are kept in mind before the records of the top are read for them. */
const MAX_HEARD = 500_000;
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
type Told = Pick<InstanceEvent, 'state' | 'host' | 'version' | 'fault' | 'attempts'> & {
  readonly uuid: string;
  readonly endsAtMs?: number | undefined;
  /** In lists only. */
  readonly requestSpec?: RequestSpec;
};

function told({ instanceUuid: uuid, ...event }: InstanceEvent): Told {
  return { uuid, ...event };
}

/**
 * Takes over what a cell says of an instance that it was given. What is older than what is known says nothing; but what was read
 * later (`reread`) is taken with any version: the cell's store went back, or began again.
 */
async function mirror(t: TopConductor, name: string, news: Told, by: 'event' | 'list' | 'reread'): Promise<void> {
  let isNew = false;
  const changed = await changeRecord(t, news.uuid, (record) => {
    const { cell } = record;
    if (cell && concernsMove(cell, name)) {
      const change = changeByNews(t, record, name, news);
      isNew = change !== undefined;
      return change;
    }
    if (cell?.name !== name || !tellsMore(t, record, news, by)) return undefined;
    isNew = true;
    // An event does not say what it has been resized to: it is asked for once more.
    const isResized = by === 'event' && isMoving(record) && !isMoving(news);
    const { state, fault } = shown(cell, news);
    const owes = owesGang({ ...record, ...news, state, fault });
    const isLookedAtAgain = isResized || owes || isLeaving(cell);
    return {
      state,
      fault,
      host: news.host || undefined,
      attempts: news.attempts,
      cell: { ...cell, version: news.version, isHandedOver: true },
      dueAtMs: isLookedAtAgain ? t.clock.now() : dueIn(t, state, cell.isEnding),
      ...(news.endsAtMs ? { endsAtMs: news.endsAtMs } : {}),
      ...(news.requestSpec ? { requestSpec: asResized(record.requestSpec, news.requestSpec) } : {}),
    };
  });
  if (!isNew || changed === undefined) return;
  t.measured.mirrored.inc({ by });
  // What is moved is due now, and taken a step further by whoever looks after it.
  if (changed.cell?.move) return;
  if (owesGang(changed)) await settleGang(t, changed.requestId);
  if (news.requestSpec) await reserveAsOnRecord(t, [changed.uuid]);
}

function tellsMore(t: TopConductor, record: Instance, news: Told, by: 'event' | 'list' | 'reread'): boolean {
  const known = record.cell?.version ?? 0;
  if (by === 'reread') return !isAsTold(record, news);
  const isAwaited = by === 'list' && news.version === known && record.dueAtMs !== undefined;
  return (
    news.version > known ||
    (isAwaited &&
      dueIn(t, news.state, record.cell?.isEnding ?? false) === undefined &&
      !owesGang(record) &&
      !isLeaving(record.cell))
  );
}

/** The request as it is after a resize: what decides where it may run, and who asked, stays. */
function asResized(encoded: Uint8Array, now: RequestSpec): Uint8Array {
  const spec = requestSpecCodec.decode(encoded);
  const { resources, extraSpecs, preferredResources } = now;
  const isSame = isDeepStrictEqual(
    [spec.resources, spec.extraSpecs, spec.preferredResources],
    [resources, extraSpecs, preferredResources],
  );
  if (isSame) return encoded;
  return requestSpecCodec.encode({ ...spec, flavor: undefined, resources, extraSpecs, preferredResources });
}

/** Whether something of it is left in the cell that it came from. */
function isLeaving(cell: CellOfInstance | undefined): boolean {
  return cell?.left?.isGone === false;
}

/** What is to end is DELETING until its cell has ended it; then it is in ERROR, if it was not ended by its client. */
function shown({ isEnding, endedBy }: CellOfInstance, news: Pick<Told, 'state' | 'fault'>) {
  const { state, fault } = news;
  if (isEnding && state !== 'deleted') return { state: 'deleting', fault: endedBy } as const;
  if (isEnding && endedBy) return { state: 'error', fault: endedBy } as const;
  return { state, fault: fault && { reason: fault.reason, message: fault.message } };
}

function isAsTold({ state, cell }: Instance, news: Pick<Told, 'state' | 'fault' | 'version'>): boolean {
  return cell !== undefined && cell.version === news.version && shown(cell, news).state === state;
}

/**
 * A cell refused a request that it was handed: its project may have too low a priority there, or the request was too old. It is known by
 * the id that it has there, which is another than the top's where a part of a request came by itself.
 */
async function refused(t: TopConductor, name: string, { requestId, error }: { requestId: string; error: BerthError }) {
  if (requestId === '') return;
  const fault = { reason: error.reason, message: error.message };
  const isRefused = (record: Instance) =>
    record.state === 'scheduling' && record.cell?.name === name && requestIn(record) === requestId;
  const members: Instance[] = [];
  for (let marker: string | undefined; ; ) {
    const waiting = await t.instances.list({ state: 'scheduling' }, marker, MAX_PAGE);
    members.push(...waiting.filter(isRefused));
    if (waiting.length < MAX_PAGE) break;
    marker = waiting.at(-1)?.uuid;
  }
  await failAtTop(t, members, fault, isRefused);
}

/** Asks a cell how one instance is; answers whether it has it, or had. @throws BerthError `unavailable`. */
export async function askOne(t: TopConductor, name: string, instanceUuid: string): Promise<boolean> {
  const view = await viewIn(t, name, instanceUuid);
  if (view) await mirror(t, name, view, 'list');
  return view !== undefined && view.state !== 'deleted';
}

/** An instance as a cell has it on record, ended or not. @throws BerthError `unavailable`. */
export async function viewIn(t: TopConductor, name: string, instanceUuid: string): Promise<InstanceView | undefined> {
  return (await listPage(t, name, { ...EVERY, instanceUuid, marker: '', limit: 1 }))[0];
}

/** Asks a cell how the instances of a request are. Answers those that it does not know. @throws BerthError `unavailable`. */
export async function askCell(
  t: TopConductor,
  name: string,
  records: readonly Instance[],
): Promise<readonly Instance[]> {
  const [first] = records;
  if (first === undefined) return [];
  const request = { ...EVERY, requestId: requestIn(first), marker: '', limit: MAX_PAGE };
  const views = await listPage(t, name, request);
  await Promise.all(views.map((view) => mirror(t, name, view, 'list')));
  return records.filter(({ uuid }) => !views.some((view) => view.uuid === uuid));
}

/**
 * Compares all that cells have with what the top knows of it: what happened while the top was away, or a cell was out of its
 * reach, is heard of now. What a cell does not know was lost on its way there, or is in doubt. The records of the top are read through once for
 * many cells, not for each.
 *
 * @returns the cells that answered
 */
export async function compareCells(t: TopConductor, names: readonly string[]): Promise<readonly string[]> {
  const compared: string[] = [];
  let heard: Heard[] = [];
  let count = 0;
  for (const name of names) {
    try {
      const one = await compareWithList(t, name);
      heard.push(one);
      count += one.there.size;
      compared.push(name);
    } catch (err) {
      t.log.warn({ event: 'cell_not_compared', err, of_cell: name }, 'could not ask a cell for its instances');
    }
    if (count < MAX_HEARD && name !== names.at(-1)) continue;
    await findMissing(t, heard);
    [heard, count] = [[], 0];
  }
  return compared;
}

/** What a cell has, and since when it was asked. */
interface Heard {
  readonly name: string;
  readonly beganAtMs: number;
  readonly there: ReadonlySet<string>;
}

/**
 * A version below the known one is no proof that the cell's store went back: the list may have been read before the event came.
 * So it is read again, later than what is known.
 */
async function compareWithList(t: TopConductor, name: string): Promise<Heard> {
  const beganAtMs = t.clock.now();
  const there = new Set<string>();
  for (let marker = ''; ; ) {
    const views = await listPage(t, name, { ...EVERY, marker, limit: MAX_PAGE });
    for (const { uuid } of views) there.add(uuid);
    const known = new Map(
      (await t.instances.get(views.map(({ uuid }) => uuid))).map((record) => [record.uuid, record]),
    );
    for (const view of views) {
      const record = known.get(view.uuid);
      if (record?.cell?.name !== name || isAsTold(record, view)) continue;
      if (view.version > record.cell.version) await mirror(t, name, view, 'list');
      else await rereadInCell(t, name, view.uuid);
    }
    if (views.length < MAX_PAGE) return { name, beganAtMs, there };
    marker = views.at(-1)?.uuid ?? '';
  }
}

async function findMissing(t: TopConductor, heard: readonly Heard[]): Promise<void> {
  if (heard.length === 0) return;
  const byCell = new Map(heard.map((one) => [one.name, one]));
  const missing: Instance[] = [];
  await t.instances.scan(async (rows) => {
    for (const record of rows) {
      const { uuid, state, cell, updatedAtMs } = record;
      const one = byCell.get(cell?.name ?? '');
      const isGone = state === 'deleted' || state === 'error';
      if (one && updatedAtMs < one.beganAtMs - TOO_NEW_MS && !one.there.has(uuid) && !isGone) missing.push(record);
    }
  });
  await Promise.all(missing.map((record) => forgottenBy(t, record)));
}

async function rereadInCell(t: TopConductor, name: string, instanceUuid: string): Promise<void> {
  const view = await viewIn(t, name, instanceUuid);
  if (view) await mirror(t, name, view, 'reread');
}

async function listPage(
  t: TopConductor,
  name: string,
  request: Parameters<(typeof listInstancesMethod)['request']['encode']>[0],
): Promise<readonly InstanceView[]> {
  const options = { timeoutMs: CALL_TIMEOUT_MS, signal: t.stopping };
  const { instances } = await callMethod(busOfCell(t, name), RPC_CONDUCTOR, listInstancesMethod, request, options);
  return instances;
}
