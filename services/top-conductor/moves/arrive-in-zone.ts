import type { InstanceView } from '#libs/contracts/instance';
import type { Consumer } from '#libs/domain/consumer';
import type { CellMove, InstanceRow } from '#libs/domain/instance';
import { viewIn } from '../cells/follow-cells';
import type { TopConductor } from '../context';
import { changeRecord } from '../records';
import { reserveMove } from '../requests/reservations';
import { zonesOpenTo } from '../requests/reserve-again';
import { changeMove } from './change-move';
import { arrived } from './take-news';

/** Reason for a member that would make its group more uneven than allowed there. */
export const GROUP_IS_UNEVEN = 'group_is_uneven';

/**
 * Counts a member, STOPPED in the zone of the other cell, there instead of in its old place: one commit in the top's
 * store, which keeps the group even, and then the record.
 *
 * The naive way counts it there when it sets out. It fails when it has to go back: others have taken its place
 * meanwhile, and the group is uneven. So it counts in its old place until it has arrived, and a member that the commit
 * refuses goes back to a place that it never left. Two conductors may get different answers of the commit, when members
 * end between them: so each reads the reservation before the record, and overwrites only the reservation it has read;
 * and an undo writes the reservation again (`keepPlace`) once the record says so. A late conductor is then refused, or
 * was faster, and the member has arrived. The cost: a wasted build when others come first.
 *
 * @param there  the other cell's record: STOPPED
 * @returns true if there may be more to do now
 */
export async function arriveInZone(
  t: TopConductor,
  { uuid, version }: InstanceRow,
  there: InstanceView,
): Promise<boolean> {
  const [held] = await t.placement.consumers([uuid]);
  const [record] = await t.instances.get([uuid]);
  const move = record?.cell?.move;
  if (record?.version !== version || move?.zone === undefined || move.phase !== 'building') return true;
  if (!isCountedThere(held, move)) {
    const among = await zonesOpenTo(t, record);
    const reserved = await reserveMove(t, record, held, { name: move.to, zone: move.zone, among });
    if (reserved.kind === 'changed') return true;
    if (reserved.kind !== 'reserved') {
      const message = `others of its group have come to zones of cell ${move.to} meanwhile`;
      return changeMove(t, record, { phase: 'undoing', fault: { reason: GROUP_IS_UNEVEN, message } });
    }
  }
  return writeArrival(t, record, there);
}

/**
 * Makes a member whose move is undone count in its old place, and prevents others from counting it in the other cell;
 * or accepts its arrival, if it was counted there and is there. A member that was started there since comes back
 * whatever its group allows.
 *
 * @returns true if there may be more to do now
 */
export async function keepPlace(t: TopConductor, { uuid, version, cell }: InstanceRow): Promise<boolean> {
  const [held] = await t.placement.consumers([uuid]);
  const there = cell?.move && isCountedThere(held, cell.move) ? await viewIn(t, cell.move.to, uuid) : undefined;
  const [record] = await t.instances.get([uuid]);
  if (record?.version !== version || record.cell?.move === undefined) return true;
  if (there?.state === 'stopped') return writeArrival(t, record, there);
  const reserved = await reserveMove(t, record, held, undefined);
  return reserved.kind !== 'reserved' || changeMove(t, record, { isKept: true });
}

function isCountedThere(held: Consumer | undefined, { to, zone }: CellMove): boolean {
  return held?.groupHost === to && held.groupDomain?.domain === zone;
}

async function writeArrival(t: TopConductor, { uuid, version }: InstanceRow, there: InstanceView): Promise<true> {
  await changeRecord(t, uuid, (record) => {
    if (record.version !== version || record.cell?.move === undefined) return undefined;
    return arrived(t, record.cell, record.cell.move, there);
  });
  return true;
}
