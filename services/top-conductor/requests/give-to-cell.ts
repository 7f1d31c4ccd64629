import { isForNow } from '#libs/bus/hold-message';
import { callMethod } from '#libs/bus/typed-calls';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { type SelectDestinationsResponse, selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { type Instance, MAX_SCHEDULING_MS, NOT_SCHEDULED } from '#libs/domain/instance';
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
 * Gives the instances of one request to a cell, or, where no cell takes all of them, to several: a top scheduler chooses and has hosts
 * claimed there; which cell it is is written down; then the cell's conductors get the build request, with what was selected, and the top is done.
 *
 * The naive way hands over first and writes down after. It fails when this process dies in between: the next one would choose
 * another cell, and build twice. So the cell is written down first, and from then on the instances stay with it: whoever goes on
 * asks that cell alone, which selects the same again or, for a request that it has already, finds the instances by the request's
 * id. It costs that a build waits for its cell when that becomes unreachable between the selection and the handover.
 *
 * Meanwhile they are not due, so that nobody else asks for them (`givingMs`). All of it may be done twice. What can't be done now is done when the records are due again.
 */
export async function giveToCell(t: TopConductor, records: readonly Instance[]): Promise<void> {
  const waiting = records.filter((record) => !isGiven(record));
  const parts = groupBy(waiting, ({ cell }) => cell && JSON.stringify([cell.name, cell.zone, cell.requestId]));
  for (const open of parts.values()) await give(t, open, open[0]?.cell);
}

/** @param decided  the cell, and zone, that is written down for all of them */
async function give(t: TopConductor, open: readonly Instance[], decided: Place | undefined): Promise<void> {
  const [first] = open;
  if (first === undefined) return;
  let choosesZones = false;
  try {
    const reserved = await reserve(t, open);
    if (reserved.kind === 'quota') return await refuseAbove(t, open, reserved.excess);
    const others = await membersElsewhere(t, open);
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
    // It may have the request, and what it selected for that is in the way of this selection: it is the cell's to say what becomes of it.
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
    // A cell that is written down may have it already: that it is not named now ends nothing.
    const waits = isForNow(error) || (decided && error.reason === 'unknown_cell');
    const isTooLate = decided === undefined && t.clock.now() - waitsUntilMs(first) >= MAX_SCHEDULING_MS;
    t.measured.requests.inc({ outcome: waits ? 'unavailable' : 'failed' });
    await (waits && !isTooLate ? noteFaults(t, open, fault) : fail(t, open, waits ? NOT_SCHEDULED : fault));
  } finally {
    if (choosesZones) await countAsOnRecord(t, open);
  }
}

/**
 * Two conductors may have chosen zones for the same instances at once: one of them has written its choice down, and the other may have held
 * other places since, or none. Each looks after its last write, so that whoever is last sees what is on record.
 */
async function countAsOnRecord(t: TopConductor, open: readonly Instance[]): Promise<void> {
  const uuids = open.map(({ uuid }) => uuid);
  await reserveAsOnRecord(t, uuids).catch((err: unknown) =>
    t.log.debug({ event: 'places_kept', err, request_id: open[0]?.requestId }, 'places in zones are counted later'),
  );
}

/** Of a gang, members that are in a cell already: it has been divided. */
async function membersElsewhere(t: TopConductor, open: readonly Instance[]): Promise<readonly Instance[]> {
  const [first] = open;
  if (first?.gang === undefined) return [];
  const own = new Set(open.map(({ uuid }) => uuid));
  return (await membersOf(t, first.requestId)).filter(({ uuid, cell }) => cell !== undefined && !own.has(uuid));
}

/**
 * Each to the cell, and zone, that has selected it: each part is a request of its own. Those that none has selected end, of a gang that is
 * large enough without them.
 */
async function handOverAcross(
  t: TopConductor,
  open: readonly Instance[],
  { destinations, noValidHost }: SelectDestinationsResponse,
  hasOthers: boolean,
): Promise<void> {
  const byCell = groupBy(destinations, ({ selected }) => selected.cell);
  const byZone = [...byCell].map(([cell, its]) => [cell, groupBy(its, ({ zone }) => zone)] as const);
  const isPart = hasOthers || byZone.reduce((count, [, zones]) => count + zones.size, 0) > 1;
  await Promise.all(
    byZone.map(async ([cell, zones]) => {
      // One after the other: the second part finds that its cell has the request's id already.
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

/** Nothing is reserved, of none of them. What may wait waits until others of its project end. */
async function refuseAbove(t: TopConductor, open: readonly Instance[], excess: readonly QuotaExcess[]): Promise<void> {
  const fault = { reason: 'quota_exceeded', message: sentenceOf(excess) };
  t.measured.requests.inc({ outcome: 'quota_exceeded' });
  const mayWait = (record: Instance) => t.clock.now() < waitsUntilMs(record);
  await noteFaults(t, open.filter(mayWait), fault);
  const others = open.filter((record) => !mayWait(record));
  await fail(t, others, fault);
}

async function selectFor(
  t: TopConductor,
  open: readonly Instance[],
  { requestId, requestSpec, admission, gang }: Instance,
  { decided, elsewhere, minRevision }: { decided: Place | undefined; elsewhere: number; minRevision: number },
): Promise<SelectDestinationsResponse> {
  const request = {
    requestId,
    requestSpec: specForCell(requestSpec, decided?.zone),
    instanceUuids: open.map(({ uuid }) => uuid),
    numAlternates: t.config.numAlternates,
    minCount: gang ? Math.max(1, gang.minCount - elsewhere) : 0,
    priority: admission?.priority ?? 0,
    isProtected: admission?.isProtected ?? false,
    alternatesHeld: admission?.alternatesHeld,
    minRevision,
    ...(decided === undefined ? {} : { cell: decided.name }),
  };
  // By an alternate of before, or by a claim that has no record yet: asked again, the cell answers the same.
  const options = { timeoutMs: t.config.selectTimeoutMs, signal: t.stopping, id: requestId };
  return callMethod(t.bus, RPC_SCHEDULER, selectDestinationsMethod, request, options);
}

/**
 * Whether what no cell takes now may be taken shortly: an unreachable cell may come back. Of a group that spreads over zones others may be on
 * their way, for as long as a choice takes, and it waits for capacity here: a cell sees its own zones.
 */
function mayChangeSoon(t: TopConductor, record: Instance, response: SelectDestinationsResponse): boolean {
  const ageMs = t.clock.now() - record.createdAtMs;
  if (isRefusedBy(response, 'cell_reachable') && ageMs < t.config.schedulingTimeoutMs) return true;
  if (!isOverZones(groupOf(record))) return false;
  return (isRefusedBy(response, 'cell_spread') && ageMs < givingMs(t)) || t.clock.now() < waitsUntilMs(record);
}

/** How long it waits for capacity; when it was made, if it does not. */
function waitsUntilMs({ createdAtMs, admission }: Instance): number {
  return createdAtMs + (admission?.waitForCapacityMs ?? 0);
}

function isRefusedBy({ noValidHost }: SelectDestinationsResponse, by: 'cell_reachable' | 'cell_spread'): boolean {
  return noValidHost?.filters.some(({ filter }) => filter === by) ?? false;
}

async function noteFaults(t: TopConductor, open: readonly Instance[], fault: NonNullable<Instance['fault']>) {
  await Promise.all(open.map((record) => noteFault(t, record, fault)));
}

/**
 * Ends instances of one request that no cell takes, all of them without a cell or of one that is written down. One for which somebody else
 * has chosen a cell since it was asked for is not failed by that.
 */
function fail(t: TopConductor, asked: readonly Instance[], fault: NonNullable<Instance['fault']>): Promise<void> {
  const decided = asked[0]?.cell?.name;
  return failAtTop(t, asked, fault, (record) => !isGiven(record) && record.cell?.name === decided);
}
