import { callMethod } from '#libs/bus/typed-calls';
import type { SelectDestinationsResponse } from '#libs/contracts/messages';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { type QuotaExcess, sentenceOf } from '#libs/domain/quotas/quota';
import { groupBy } from '#libs/runtime/group-by';
import type { TopConductor } from '../context';
import { changeRecord, isGiven, noteFault } from '../records';
import { handOver } from './hand-over';
import { reserve } from './reservations';
import { membersOf, owesGang, settleGang } from './settle-gang';
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
  const cells = new Set(waiting.map(({ cell }) => cell?.name));
  for (const cell of cells) {
    const open = waiting.filter((record) => record.cell?.name === cell);
    await give(t, open, cell);
  }
}

/** @param decided  the cell that is written down for all of them */
async function give(t: TopConductor, open: readonly Instance[], decided: string | undefined): Promise<void> {
  const [first] = open;
  if (first === undefined) return;
  try {
    const reserved = await reserve(t, open);
    if (reserved.kind === 'quota') return await refuseAbove(t, open, reserved.excess);
    const others = await membersElsewhere(t, open);
    const response = await selectFor(t, open, first, decided, others.length);
    const { destinations, noValidHost, cell: named = '' } = response;
    const cells = new Set(destinations.map(({ selected }) => selected.cell));
    if (cells.size > 1) return await handOverAcross(t, open, response);
    const isPart = others.length > 0;
    if (destinations.length > 0) return await handOver(t, open, { cell: named, destinations, isPart });
    const waits = (first.admission?.waitForCapacityMs ?? 0) > 0 && named !== '';
    if (waits) return await handOver(t, open, { cell: named, destinations: [], isPart });
    const fault = { reason: 'no_valid_host', message: noValidHost?.summary ?? 'no cell takes it' };
    // A cell that could take it may come back; one that may have it already is waited for however long that takes.
    const isEarly = t.clock.now() - first.createdAtMs < t.config.schedulingTimeoutMs;
    const mayChange = isDelayed(response) && (isEarly || decided !== undefined);
    t.measured.requests.inc({ outcome: mayChange ? 'delayed' : 'no_valid_host' });
    await Promise.all(open.map((record) => (mayChange ? noteFault(t, record, fault) : fail(t, record, fault))));
  } catch (thrown) {
    const error = BerthError.from(thrown);
    const fault = { reason: error.reason, message: error.message };
    t.log.warn({ event: 'not_given_to_cell', err: error, request_id: first.requestId }, error.message);
    // A cell that is written down may have it already: that it is not named now ends nothing.
    const isForNow =
      isRetryable(error) || error.code === 'resource_exhausted' || (decided && error.reason === 'unknown_cell');
    await Promise.all(open.map((record) => (isForNow ? noteFault(t, record, fault) : fail(t, record, fault))));
  }
}

/** Of a gang, members that are in a cell already: it has been divided. */
async function membersElsewhere(t: TopConductor, open: readonly Instance[]): Promise<readonly Instance[]> {
  const [first] = open;
  if (first?.gang === undefined) return [];
  const own = new Set(open.map(({ uuid }) => uuid));
  return (await membersOf(t, first.requestId)).filter(({ uuid, cell }) => cell !== undefined && !own.has(uuid));
}

/** Each to the cell that has selected it; those that none has selected end, of a gang that is large enough without them. */
async function handOverAcross(
  t: TopConductor,
  open: readonly Instance[],
  { destinations, noValidHost }: SelectDestinationsResponse,
): Promise<void> {
  const byCell = groupBy(destinations, ({ selected }) => selected.cell);
  await Promise.all(
    [...byCell].map(([cell, its]) => {
      const uuids = new Set(its.map(({ instanceUuid }) => instanceUuid));
      const part = open.filter(({ uuid }) => uuids.has(uuid));
      return handOver(t, part, { cell, destinations: its, isPart: true });
    }),
  );
  const selected = new Set(destinations.map(({ instanceUuid }) => instanceUuid));
  const fault = { reason: 'no_valid_host', message: noValidHost?.summary ?? 'no cell takes it' };
  await Promise.all(open.filter(({ uuid }) => !selected.has(uuid)).map((record) => fail(t, record, fault)));
}

/** Nothing is reserved, of none of them. What may wait waits until others of its project end. */
async function refuseAbove(t: TopConductor, open: readonly Instance[], excess: readonly QuotaExcess[]): Promise<void> {
  const fault = { reason: 'quota_exceeded', message: sentenceOf(excess) };
  t.measured.requests.inc({ outcome: 'quota_exceeded' });
  const mayWait = ({ createdAtMs, admission }: Instance) =>
    t.clock.now() < createdAtMs + (admission?.waitForCapacityMs ?? 0);
  await Promise.all(open.map((record) => (mayWait(record) ? noteFault(t, record, fault) : fail(t, record, fault))));
}

async function selectFor(
  t: TopConductor,
  open: readonly Instance[],
  { requestId, requestSpec, admission, gang }: Instance,
  cell: string | undefined,
  elsewhere: number,
): Promise<SelectDestinationsResponse> {
  const request = {
    requestId,
    requestSpec: specForCell(requestSpec),
    instanceUuids: open.map(({ uuid }) => uuid),
    numAlternates: t.config.numAlternates,
    minCount: gang ? Math.max(1, gang.minCount - elsewhere) : 0,
    priority: admission?.priority ?? 0,
    isProtected: admission?.isProtected ?? false,
    alternatesHeld: admission?.alternatesHeld,
    ...(cell === undefined ? {} : { cell }),
  };
  // By an alternate of before, or by a claim that has no record yet: asked again, the cell answers the same.
  const options = { timeoutMs: t.config.selectTimeoutMs, signal: t.stopping, id: requestId };
  return callMethod(t.bus, RPC_SCHEDULER, selectDestinationsMethod, request, options);
}

/** Whether a cell that takes no part now may take it later. */
function isDelayed({ noValidHost }: SelectDestinationsResponse): boolean {
  return noValidHost?.filters.some(({ filter }) => filter === 'cell_reachable') ?? false;
}

/** Ends what no cell takes. One for which somebody else has chosen a cell since it was asked for is not failed by that. */
async function fail(t: TopConductor, asked: Instance, fault: NonNullable<Instance['fault']>): Promise<void> {
  const changed = await changeRecord(t, asked.uuid, (record) => {
    if (isGiven(record) || record.cell?.name !== asked.cell?.name) return undefined;
    const failed = { ...record, state: 'error', fault } as const;
    return { state: 'error', fault, dueAtMs: owesGang(failed) ? t.clock.now() + t.config.syncIntervalMs : undefined };
  });
  if (changed && owesGang(changed)) await settleGang(t, changed.requestId);
}
