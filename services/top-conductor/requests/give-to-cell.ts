import { isForNow } from '#libs/bus/hold-message';
import { callMethod } from '#libs/bus/typed-calls';
import type { MemberKind } from '#libs/contracts/member-kinds';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { type SelectDestinationsResponse, selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { type InstanceRow, MAX_SCHEDULING_MS, NOT_SCHEDULED, timeLeftOf } from '#libs/domain/instance';
import { membersByKind } from '#libs/domain/queueing/gang';
import { type QuotaExcess, sentenceOf } from '#libs/domain/quotas/quota';
import { isOverZones } from '#libs/domain/server-group';
import { groupBy } from '#libs/runtime/group-by';
import type { TopConductor } from '../context';
import { givingMs, isGiven, noteFault } from '../records';
import { handOver } from './hand-over';
import type { Place } from './place';
import { groupOf, reserve, reserveAsOnRecord } from './reservations';
import { selectOverZones } from './select-over-zones';
import { failAtTop, membersOf } from './settle-gang';
import { specForCell } from './spec-for-cell';

/**
 * Gives the instances of one request to a cell, or, if no cell takes all of them, to several: a top scheduler chooses
 * it and has hosts claimed there; the cell is recorded; then the cell's conductors get the build request, with the
 * selection, and the top is done.
 *
 * The naive way hands over first and records the cell afterwards. It fails when this process dies in between: the next
 * one would choose another cell, and build twice. So the cell is recorded first, and from then on the instances stay
 * with it: the next conductor asks that cell alone, which selects the same hosts again or, for a request that it
 * already has, finds the instances by the request's id. The cost: a build waits for its cell when that becomes
 * unreachable between the selection and the handover.
 *
 * Meanwhile they are not due, so that no other conductor handles them (`givingMs`). Every step is idempotent; a failed
 * one is retried when the records are due again.
 */
export async function giveToCell(t: TopConductor, records: readonly InstanceRow[]): Promise<void> {
  const waiting = records.filter((record) => !isGiven(record));
  const parts = groupBy(waiting, ({ cell }) => cell && JSON.stringify([cell.name, cell.zone, cell.requestId]));
  for (const open of parts.values()) await give(t, open, open[0]?.cell);
}

/** @param recorded  the recorded cell, and zone, of all of them */
async function give(t: TopConductor, open: readonly InstanceRow[], recorded: Place | undefined): Promise<void> {
  const [first] = open;
  if (first === undefined) return;
  let choosesZones = false;
  let decided = recorded;
  try {
    const reserved = await reserve(t, open);
    if (reserved.kind === 'quota') return await refuseAbove(t, open, reserved.excess);
    const others = await membersElsewhere(t, open);
    // A conductor died while it recorded their cell: the rest follows.
    if (isWhole(first)) decided ??= others[0]?.cell;
    choosesZones = decided === undefined && isOverZones(groupOf(first));
    const ask = (minRevision = 0) => selectFor(t, open, first, { decided, elsewhere: others.length, minRevision });
    const response = await (choosesZones ? selectOverZones(t, open, ask) : ask());
    const { destinations, noValidHost, cell: named = '' } = response;
    const cells = new Set(destinations.map(({ selected }) => selected.cell));
    const isPart = others.length > 0;
    if (cells.size > 1 || (choosesZones && destinations.length > 0))
      return await handOverAcross(t, open, response, isPart);
    const { zone } = decided ?? {};
    if (destinations.length > 0) return await handOver(t, open, { cell: named, zone, destinations, isPart });
    const waits = waitsUntilMs(first) > first.createdAtMs;
    if (waits && named !== '') return await handOver(t, open, { cell: named, zone, destinations: [], isPart });
    // The cell may have the request, and its own claim may block this selection: the cell decides.
    if (decided !== undefined && !isRefusedBy(response, 'cell_reachable')) {
      return await handOver(t, open, { cell: decided.name, zone, destinations: [], isPart });
    }
    const fault = { reason: 'no_valid_host', message: noValidHost?.summary ?? 'no cell takes it' };
    const mayChange =
      decided === undefined ? mayChangeSoon(t, first, response) : isRefusedBy(response, 'cell_reachable');
    t.measured.requests.inc({ outcome: mayChange ? 'delayed' : 'no_valid_host' });
    await (mayChange ? noteFaults(t, open, fault) : fail(t, open, fault));
  } catch (thrown) {
    const error = BerthError.from(thrown);
    const fault = { reason: error.reason, message: error.message };
    t.log.warn({ event: 'not_given_to_cell', err: error, request_id: first.requestId }, error.message);
    // A recorded cell may have it already: that the cell is no longer named ends nothing.
    const waits = isForNow(error) || (decided && error.reason === 'unknown_cell');
    const isTooLate = decided === undefined && t.clock.now() - waitsUntilMs(first) >= MAX_SCHEDULING_MS;
    t.measured.requests.inc({ outcome: waits ? 'unavailable' : 'failed' });
    await (waits && !isTooLate ? noteFaults(t, open, fault) : fail(t, open, waits ? NOT_SCHEDULED : fault));
  } finally {
    if (choosesZones) await countAsOnRecord(t, open);
  }
}

/**
 * Two conductors may have chosen zones for the same instances at once: one has recorded its choice, and the other may
 * have reserved other places since, or none. Each checks after its last write, so that the later one sees the record.
 */
async function countAsOnRecord(t: TopConductor, open: readonly InstanceRow[]): Promise<void> {
  const uuids = open.map(({ uuid }) => uuid);
  await reserveAsOnRecord(t, uuids).catch((err: unknown) =>
    t.log.debug(
      { event: 'places_kept', err, request_id: open[0]?.requestId },
      'places in zones not counted, retrying later',
    ),
  );
}

/** True for a member of a gang that is whole in one cell: of several kinds, or with a policy for losses. */
function isWhole({ gang }: InstanceRow): boolean {
  return gang?.kind !== undefined || gang?.onLoss !== undefined;
}

/** Members of a gang that are in a cell already: the gang was divided. */
async function membersElsewhere(t: TopConductor, open: readonly InstanceRow[]): Promise<readonly InstanceRow[]> {
  const [first] = open;
  if (first?.gang === undefined) return [];
  const own = new Set(open.map(({ uuid }) => uuid));
  return (await membersOf(t, first.requestId)).filter(({ uuid, cell }) => cell !== undefined && !own.has(uuid));
}

/**
 * Gives each to the cell, and zone, that selected it: each part is a request of its own. Unselected ones end, in a gang
 * that is large enough without them.
 */
async function handOverAcross(
  t: TopConductor,
  open: readonly InstanceRow[],
  { destinations, noValidHost }: SelectDestinationsResponse,
  hasOthers: boolean,
): Promise<void> {
  const byCell = groupBy(destinations, ({ selected }) => selected.cell);
  const byZone = [...byCell].map(([cell, its]) => [cell, groupBy(its, ({ zone }) => zone)] as const);
  const isPart = hasOthers || byZone.reduce((count, [, zones]) => count + zones.size, 0) > 1;
  await Promise.all(
    byZone.map(async ([cell, zones]) => {
      // One after the other: the second part finds that its cell already has the request's id.
      for (const [zone, its] of zones) {
        const uuids = new Set(its.map(({ instanceUuid }) => instanceUuid));
        const part = open.filter(({ uuid }) => uuids.has(uuid));
        await handOver(t, part, { cell, zone, destinations: its, isPart });
      }
    }),
  );
  const selected = new Set(destinations.map(({ instanceUuid }) => instanceUuid));
  const fault = { reason: 'no_valid_host', message: noValidHost?.summary ?? 'no cell takes it' };
  const others = open.filter(({ uuid }) => !selected.has(uuid));
  await fail(t, others, fault);
}

/** None of them is reserved. Instances that may wait do so until others of the project end. */
async function refuseAbove(
  t: TopConductor,
  open: readonly InstanceRow[],
  excess: readonly QuotaExcess[],
): Promise<void> {
  const fault = { reason: 'quota_exceeded', message: sentenceOf(excess) };
  t.measured.requests.inc({ outcome: 'quota_exceeded' });
  const mayWait = (record: InstanceRow) => t.clock.now() < waitsUntilMs(record);
  await noteFaults(t, open.filter(mayWait), fault);
  const others = open.filter((record) => !mayWait(record));
  await fail(t, others, fault);
}

async function selectFor(
  t: TopConductor,
  open: readonly InstanceRow[],
  first: InstanceRow,
  { decided, elsewhere, minRevision }: { decided: Place | undefined; elsewhere: number; minRevision: number },
): Promise<SelectDestinationsResponse> {
  const { requestId, admission } = first;
  const toSelect = (ofKind: readonly InstanceRow[]): MemberKind => {
    const { requestSpec, gang } = ofKind[0] ?? first;
    return {
      requestSpec: specForCell(requestSpec, decided?.zone),
      instanceUuids: ofKind.map(({ uuid }) => uuid),
      minCount: gang ? Math.max(1, gang.minCount - elsewhere) : 0,
    };
  };
  const [own = [], ...others] = membersByKind(open);
  const furtherKinds = others.map(toSelect);
  const request = {
    requestId,
    ...toSelect(own),
    ...(furtherKinds.length > 0 ? { furtherKinds } : {}),
    ...(isWhole(first) ? { inOneCell: true } : {}),
    numAlternates: t.config.numAlternates,
    priority: admission?.priority ?? 0,
    isProtected: admission?.isProtected ?? false,
    alternatesHeld: admission?.alternatesHeld,
    ...(admission?.confirmsHost ? { confirmsHost: true } : {}),
    timeLimitMs: timeLeftOf(first, t.clock.now()),
    minRevision,
    ...(decided === undefined ? {} : { cell: decided.name }),
  };
  // From a former alternate, or from a claim without a record: a repeated selection gets the same answer.
  const options = { timeoutMs: t.config.selectTimeoutMs, signal: t.stopping, id: requestId };
  return callMethod({ bus: t.bus, queue: RPC_SCHEDULER }, selectDestinationsMethod, request, options);
}

/**
 * True when a refusal may soon change: an unreachable cell may come back. In a group that spreads over zones, other
 * members may be on their way, for as long as a choice takes, and such a group waits for capacity here, since a cell
 * sees only its own zones.
 */
function mayChangeSoon(t: TopConductor, record: InstanceRow, response: SelectDestinationsResponse): boolean {
  const ageMs = t.clock.now() - record.createdAtMs;
  if (isRefusedBy(response, 'cell_reachable') && ageMs < t.config.schedulingTimeoutMs) return true;
  if (!isOverZones(groupOf(record))) return false;
  return (isRefusedBy(response, 'cell_spread') && ageMs < givingMs(t)) || t.clock.now() < waitsUntilMs(record);
}

/** End of its wait for capacity; its creation time if it does not wait. */
function waitsUntilMs({ createdAtMs, admission }: InstanceRow): number {
  return createdAtMs + (admission?.waitForCapacityMs ?? 0);
}

function isRefusedBy({ noValidHost }: SelectDestinationsResponse, by: 'cell_reachable' | 'cell_spread'): boolean {
  return noValidHost?.filters.some(({ filter }) => filter === by) ?? false;
}

async function noteFaults(t: TopConductor, open: readonly InstanceRow[], fault: NonNullable<InstanceRow['fault']>) {
  await Promise.all(open.map((record) => noteFault(t, record, fault)));
}

/**
 * Fails instances of one request that no cell takes, all of them without a cell or in the recorded one. An instance for
 * which another conductor has chosen a cell meanwhile is left alone.
 */
function fail(t: TopConductor, asked: readonly InstanceRow[], fault: NonNullable<InstanceRow['fault']>): Promise<void> {
  const decided = asked[0]?.cell?.name;
  return failAtTop(t, asked, fault, (record) => !isGiven(record) && record.cell?.name === decided);
}
