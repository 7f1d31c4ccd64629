import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec } from '#libs/contracts/conductor';
import type { Destination, SelectDestinationsResponse } from '#libs/contracts/messages';
import { BUILD_REQUESTS, RPC_SCHEDULER } from '#libs/contracts/queues';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { type QuotaExcess, sentenceOf } from '#libs/domain/quotas/quota';
import { spelledOut } from '#libs/flavors/fill-in-flavor';
import { busOfCell } from './bus-of-cell';
import type { TopConductor } from './context';
import { changeRecord, dueIn, noted } from './records';
import { reserve } from './reservations';

/**
 * Gives the instances of one request to a cell: a top scheduler chooses it and has hosts claimed there; which cell it is is
 * written down; then the cell's conductors get the build request, with what was selected, and the top is done.
 *
 * The naive way hands over first and writes down after. It fails when this process dies in between: the next one would choose
 * another cell, and build twice. So the cell is written down first, and from then on the instances stay with it: whoever goes on
 * asks that cell alone, which selects the same again or, for a request that it has already, finds the instances by the request's
 * id. It costs that a build waits for its cell when that becomes unreachable between the selection and the handover.
 *
 * Meanwhile they are not due, so that nobody else asks for them (`givingMs`). All of it may be done twice. What can't be done now is done when the records are due again.
 */
export async function giveToCell(t: TopConductor, records: readonly Instance[]): Promise<void> {
  const waiting = records.filter(({ state, cell }) => state === 'scheduling' && !cell?.isHandedOver);
  const decided = waiting.find(({ cell }) => cell !== undefined)?.cell;
  const open = waiting.filter(({ cell }) => cell === undefined || cell.name === decided?.name);
  const [first] = open;
  if (first === undefined) return;
  try {
    const excess = await reserve(t, open);
    if (excess.length > 0) return await refuseAbove(t, open, excess);
    const response = await selectFor(t, open, first, decided?.name);
    const { destinations, noValidHost, cell: named } = response;
    if (destinations.length > 0) return await handOver(t, open, destinations, named ?? '');
    const waits = (first.admission?.waitForCapacityMs ?? 0) > 0 && named !== undefined;
    if (waits) return await handOver(t, open, [], named);
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
): Promise<SelectDestinationsResponse> {
  const request = {
    requestId,
    requestSpec: spelledOut(requestSpec),
    instanceUuids: open.map(({ uuid }) => uuid),
    numAlternates: t.config.numAlternates,
    minCount: gang?.minCount ?? 0,
    priority: admission?.priority ?? 0,
    isProtected: admission?.isProtected ?? false,
    alternatesHeld: admission?.alternatesHeld,
    ...(cell === undefined ? {} : { cell }),
  };
  // By an alternate of before, or by a claim that has no record yet: asked again, the cell answers the same.
  const options = { timeoutMs: t.config.selectTimeoutMs, signal: t.stopping, id: requestId };
  return callMethod(t.bus, RPC_SCHEDULER, selectDestinationsMethod, request, options);
}

/** @throws BerthError `unavailable / cell_unreachable`. */
async function handOver(
  t: TopConductor,
  open: readonly Instance[],
  destinations: readonly Destination[],
  cell: string,
): Promise<void> {
  if (!t.links.has(cell)) busOfCell(t, cell);
  const chosen = await Promise.all(
    open.map(({ uuid }) =>
      changeRecord(t, uuid, (record) => {
        if (record.state !== 'scheduling' || record.cell?.isHandedOver) return undefined;
        // Somebody else was faster: what was claimed for it here has no record, and goes with the cell's audit.
        if (record.cell && record.cell.name !== cell) return undefined;
        const before = record.cell ?? { version: 0, isHandedOver: false, isEnding: false };
        return { cell: { ...before, name: cell }, fault: undefined, dueAtMs: dueIn(t, 'scheduling', false) };
      }),
    ),
  );
  const given = chosen.filter((record) => record?.state === 'scheduling' && record.cell?.name === cell);
  const [first] = given;
  if (first === undefined) return;
  const uuids = given.map((record) => record?.uuid ?? '');
  const request = {
    requestId: first.requestId,
    requestSpec: spelledOut(first.requestSpec),
    count: given.length,
    name: given.length === 1 ? first.name : first.name.replace(/-\d+$/, ''),
    instanceUuids: uuids,
    publishedAtMs: first.createdAtMs,
    minCount: Math.min(first.gang?.minCount ?? 0, given.length),
    admission: first.admission,
    destinations: destinations.filter(({ instanceUuid }) => uuids.includes(instanceUuid)),
  };
  await castTyped(busOfCell(t, cell), BUILD_REQUESTS, buildRequestCodec, request, { id: first.requestId });
  t.measured.handedOver.inc({ to_cell: cell }, given.length);
  t.measured.requests.inc({ outcome: 'handed_over' });
  t.log.info(
    { event: 'handed_over', request_id: first.requestId, to_cell: cell, instances: given.length },
    'handed over',
  );
  await Promise.all(
    uuids.map((uuid) =>
      changeRecord(t, uuid, ({ cell: its }) =>
        its && !its.isHandedOver ? { cell: { ...its, isHandedOver: true } } : undefined,
      ),
    ),
  );
}

/** Whether a cell that takes no part now may take it later. */
function isDelayed({ noValidHost }: SelectDestinationsResponse): boolean {
  return noValidHost?.filters.some(({ filter }) => filter === 'cell_reachable') ?? false;
}

/** Why it waits, for whoever looks at it. */
async function noteFault(t: TopConductor, { uuid }: Instance, fault: NonNullable<Instance['fault']>) {
  await changeRecord(t, uuid, (record) => (isGiven(record) ? undefined : noted(t, record, fault)));
}

/** Ends what no cell takes. One for which somebody else has chosen a cell since it was asked for is not failed by that. */
async function fail(t: TopConductor, asked: Instance, fault: NonNullable<Instance['fault']>) {
  await changeRecord(t, asked.uuid, (record) => {
    if (isGiven(record) || record.cell?.name !== asked.cell?.name) return undefined;
    return { state: 'error', fault, dueAtMs: undefined };
  });
}

/** Whether it is its cell's to say what becomes of it. */
function isGiven({ state, cell }: Instance): boolean {
  return state !== 'scheduling' || cell?.isHandedOver === true;
}
