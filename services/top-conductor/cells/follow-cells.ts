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
import type { CellOfInstance, InstanceRow } from '#libs/domain/instance';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { TopConductor } from '../context';
import { changeByNews, concernsMove } from '../moves/take-news';
import { changeRecord, dueIn, requestIn } from '../records';
import { isMoving, reserveAsOnRecord } from '../requests/reservations';
import { failAtTop, owesGang, settleGang } from '../requests/settle-gang';
import { busOfCell } from './bus-of-cell';
import { forgottenBy } from './doubts';

const CALL_TIMEOUT_MS = 10_000;
/** Records written this shortly before a comparison began may be missing in it. */
const TOO_NEW_MS = 10_000;
/** Approximate limit of the cells' instances kept in memory before the top's records are read for them. */
const MAX_HEARD = 500_000;
const EVERY = { requestId: '', projectId: '', state: undefined, host: '', instanceUuid: '' };

/** Listens for events of a cell's instances, once its bus is open. */
export async function hearCell(t: TopConductor, cell: string, bus: Bus): Promise<void> {
  const failed = (err: unknown) =>
    t.log.warn(
      { event: 'state_not_taken', err, of_cell: cell },
      'cell event not applied: the next comparison applies it',
    );
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

/** A cell's report of an instance, from an event or a list. */
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
 * Applies a cell's report to the record of an instance assigned to it. Reports older than the record are ignored; but
 * one read later (`reread`) is accepted with any version: the cell's store went back, or was wiped.
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
    // An event lacks the new size after a resize: the cell is asked.
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
  // A moving instance is due now; the conductor that looks after it continues the move.
  if (changed.cell?.move) return;
  if (owesGang(changed)) await settleGang(t, changed.requestId);
  if (news.requestSpec) await reserveAsOnRecord(t, [changed.uuid]);
}

function tellsMore(t: TopConductor, record: InstanceRow, news: Told, by: 'event' | 'list' | 'reread'): boolean {
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

/** The request after a resize: placement rules and the user stay. */
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

/** True while the cell that it came from still has a copy. */
function isLeaving(cell: CellOfInstance | undefined): boolean {
  return cell?.left?.isGone === false;
}

/** An instance to be ended is DELETING until its cell has ended it; then it is in ERROR, unless its client ended it. */
function shown({ isEnding, endedBy }: CellOfInstance, news: Pick<Told, 'state' | 'fault'>) {
  const { state, fault } = news;
  if (isEnding && state !== 'deleted') return { state: 'deleting', fault: endedBy } as const;
  if (isEnding && endedBy) return { state: 'error', fault: endedBy } as const;
  return { state, fault: fault && { reason: fault.reason, message: fault.message } };
}

function isAsTold({ state, cell }: InstanceRow, news: Pick<Told, 'state' | 'fault' | 'version'>): boolean {
  return cell !== undefined && cell.version === news.version && shown(cell, news).state === state;
}

/**
 * A cell refused a request that it was handed: its project's priority limit may be lower there, or the request was too
 * old. It is found by its id in the cell, which differs from the top's for a part of a request.
 */
async function refused(t: TopConductor, name: string, { requestId, error }: { requestId: string; error: BerthError }) {
  if (requestId === '') return;
  const fault = { reason: error.reason, message: error.message };
  const isRefused = (record: InstanceRow) =>
    record.state === 'scheduling' && record.cell?.name === name && requestIn(record) === requestId;
  const members: InstanceRow[] = [];
  for (let marker: string | undefined; ; ) {
    const waiting = await t.instances.list({ state: 'scheduling' }, marker, MAX_PAGE);
    members.push(...waiting.filter(isRefused));
    if (waiting.length < MAX_PAGE) break;
    marker = waiting.at(-1)?.uuid;
  }
  await failAtTop(t, members, fault, isRefused);
}

/** Asks a cell about one instance; returns true if the cell has it, or had it. @throws BerthError `unavailable`. */
export async function askOne(t: TopConductor, name: string, instanceUuid: string): Promise<boolean> {
  const view = await mirrorOne(t, name, instanceUuid);
  return view !== undefined && view.state !== 'deleted';
}

async function mirrorOne(t: TopConductor, name: string, instanceUuid: string): Promise<InstanceView | undefined> {
  const view = await viewIn(t, name, instanceUuid);
  if (view) await mirror(t, name, view, 'list');
  return view;
}

/** A cell's record of an instance, ended or not. @throws BerthError `unavailable`. */
export async function viewIn(t: TopConductor, name: string, instanceUuid: string): Promise<InstanceView | undefined> {
  return (await listPage(t, name, { ...EVERY, instanceUuid, marker: '', limit: 1 }))[0];
}

/**
 * Asks a cell about the instances of a request. Returns the unknown ones: those that it does not find by their uuid
 * either, because it may have taken them from another request, handed over before. @throws BerthError `unavailable`.
 */
export async function askCell(
  t: TopConductor,
  name: string,
  records: readonly InstanceRow[],
): Promise<readonly InstanceRow[]> {
  const [first] = records;
  if (first === undefined) return [];
  const request = { ...EVERY, requestId: requestIn(first), marker: '', limit: MAX_PAGE };
  const views = await listPage(t, name, request);
  await Promise.all(views.map((view) => mirror(t, name, view, 'list')));
  const others = records.filter(({ uuid }) => !views.some((view) => view.uuid === uuid));
  const unknown: InstanceRow[] = [];
  for (const record of others) if ((await mirrorOne(t, name, record.uuid)) === undefined) unknown.push(record);
  return unknown;
}

/**
 * Compares all instances of cells with the top's records, to catch up after an outage of the top or a cell. An instance
 * unknown to its cell was lost on its way there, or is in doubt. The top's records are read through once for many
 * cells, not for each.
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
      t.log.warn({ event: 'cell_not_compared', err, of_cell: name }, 'instances of a cell not read');
    }
    if (count < MAX_HEARD && name !== names.at(-1)) continue;
    await findMissing(t, heard);
    [heard, count] = [[], 0];
  }
  return compared;
}

/** The instances of a cell, and the time of the question. */
interface Heard {
  readonly name: string;
  readonly beganAtMs: number;
  readonly there: ReadonlySet<string>;
}

/**
 * A version below the recorded one does not prove that the cell's store went back: the list may be older than the
 * event. So it is read again, after the record.
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
  const missing: InstanceRow[] = [];
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
  const { instances } = await callMethod(
    { bus: busOfCell(t, name), queue: RPC_CONDUCTOR },
    listInstancesMethod,
    request,
    options,
  );
  return instances;
}
