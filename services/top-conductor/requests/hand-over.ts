import { castTyped } from '#libs/bus/typed-calls';
import { giveBack } from '#libs/cells/give-back';
import { buildRequestCodec } from '#libs/contracts/conductor';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import type { Destination } from '#libs/contracts/selection';
import type { InstanceRow } from '#libs/domain/instance';
import { membersByKind } from '#libs/domain/queueing/gang';
import { busOfCell, requireNamed } from '../cells/bus-of-cell';
import type { TopConductor } from '../context';
import { changeRecord, dueIn, noteFault, requestIn } from '../records';
import type { Place } from './place';
import { groupOf, reserve } from './reservations';
import { membersOf } from './settle-gang';
import { specForCell } from './spec-for-cell';

/** The terms of giving a request's instances to a cell. */
interface Handover {
  readonly cell: string;
  /** For a group that spreads over zones: the zone of all of them. Their places there are already reserved. */
  readonly zone?: string | undefined;
  /** For some of the instances, or none. */
  readonly destinations: readonly Destination[];
  /** True when others of the request are in other cells, or zones: then the top decides whether the gang fails. */
  readonly isPart: boolean;
}

/**
 * Records the cell, sends it the request, and records the handover.
 *
 * @throws BerthError `unavailable / cell_unreachable`.
 */
export async function handOver(
  t: TopConductor,
  open: readonly InstanceRow[],
  { cell, ...how }: Handover,
): Promise<void> {
  requireNamed(t, cell);
  if (how.zone === undefined && (await isElsewhere(t, open, cell))) return goElsewhere(t, open, { cell, ...how });
  const given = await chooseCell(t, open, { name: cell, zone: how.zone }, await requestIdIn(t, open, cell));
  const [first] = given;
  if (first === undefined) return;
  const kinds = membersByKind(given);
  const uuids = kinds.flat().map(({ uuid }) => uuid);
  const furtherMembers = kinds.slice(1).map((ofKind) => kindFor(ofKind, how));
  const request = {
    requestId: requestIn(first),
    ...kindFor(kinds[0] ?? given, how),
    ...(furtherMembers.length > 0 ? { furtherMembers } : {}),
    instanceUuids: uuids,
    publishedAtMs: first.createdAtMs,
    admission: first.admission,
    onLoss: how.isPart ? undefined : first.gang?.onLoss,
    destinations: how.destinations.filter(({ instanceUuid }) => uuids.includes(instanceUuid)),
  };
  await castTyped({ bus: busOfCell(t, cell), queue: BUILD_REQUESTS }, buildRequestCodec, request, {
    id: request.requestId,
  });
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

/** The instances of one spec in the request to the cell. A part is no gang there, unless it has several kinds. */
function kindFor(ofKind: readonly InstanceRow[], { zone, isPart }: Omit<Handover, 'cell'>) {
  const [first] = ofKind as [InstanceRow, ...InstanceRow[]];
  const count = ofKind.length;
  return {
    requestSpec: specForCell(first.requestSpec, zone),
    count,
    name: count === 1 ? first.name : first.name.replace(/-\d+$/, ''),
    minCount: isPart ? 0 : Math.min(first.gang?.minCount ?? 0, count),
  };
}

/** True when their group is bound to one cell, and in another. */
async function isElsewhere(t: TopConductor, open: readonly InstanceRow[], cell: string): Promise<boolean> {
  if (!open.some(groupOf)) return false;
  return (await reserve(t, open, () => ({ name: cell }))).kind === 'elsewhere';
}

/** Members of their group are in another cell by now: the selection here is released, and they go there. */
async function goElsewhere(
  t: TopConductor,
  open: readonly InstanceRow[],
  { cell, destinations }: Handover,
): Promise<void> {
  const message = `members of its group have come to another cell than ${cell}: asks there`;
  await Promise.all(open.map((record) => noteFault(t, record, { reason: 'group_elsewhere', message })));
  await giveBack(busOfCell(t, cell), destinations, t.stopping);
}

/**
 * The id of their request in a cell. A cell takes a request id once: if it has had other instances of the request,
 * which a dead conductor separated from these, these come with a new id.
 */
async function requestIdIn(t: TopConductor, open: readonly InstanceRow[], cell: string): Promise<string> {
  const [first] = open;
  if (first === undefined) return '';
  const own = new Set(open.map(({ uuid }) => uuid));
  const isTaken = (await membersOf(t, first.requestId)).some((one) => {
    return one.cell?.name === cell && !own.has(one.uuid) && requestIn(one) === requestIn(first);
  });
  return isTaken ? t.random.uuid() : requestIn(first);
}

/** Records the cell; returns the instances that are in this cell, and zone, afterwards. */
async function chooseCell(
  t: TopConductor,
  open: readonly InstanceRow[],
  { name, zone }: Place,
  requestId: string,
): Promise<InstanceRow[]> {
  const isThere = (cell: Place) => cell.name === name && cell.zone === zone;
  const chosen = await Promise.all(
    open.map(({ uuid }) =>
      changeRecord(t, uuid, (record) => {
        if (record.state !== 'scheduling' || record.cell?.isHandedOver) return undefined;
        // Another conductor was faster: the claim made here has no record, and the cell's audit releases it.
        if (record.cell && !isThere(record.cell)) return undefined;
        const before = record.cell ?? { version: 0, isHandedOver: false, isEnding: false };
        const its = requestId === record.requestId ? {} : { requestId };
        return {
          cell: { ...its, ...before, name, ...(zone === undefined ? {} : { zone }) },
          fault: undefined,
          dueAtMs: dueIn(t, 'scheduling', false),
        };
      }),
    ),
  );
  return chosen.filter(
    (record) => record?.state === 'scheduling' && record.cell && isThere(record.cell),
  ) as InstanceRow[];
}
