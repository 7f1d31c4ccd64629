import type { InstanceView } from '#libs/contracts/instance';
import type { Consumer } from '#libs/domain/consumer';
import type { CellMove, Instance } from '#libs/domain/instance';
import { viewIn } from '../cells/follow-cells';
import type { TopConductor } from '../context';
import { changeRecord } from '../records';
import { reserveMove } from '../requests/reservations';
import { zonesOpenTo } from '../requests/reserve-again';
import { changeMove } from './change-move';
import { arrived } from './take-news';

/** Of a member of a group that would be more uneven with it there than it may be. */
export const GROUP_IS_UNEVEN = 'group_is_uneven';

/**
 * Counts a member, which is STOPPED in the zone of the other cell, there instead of where it was: one commit in the top's store, which
 * sees to it that the group stays even, and then the record.
 *
 * The naive way counts it there when it sets out. It fails when it has to go back: others have come to its place meanwhile, and the group is
 * uneven. So it counts where it was until it has arrived, and what the commit refuses goes back to a place that it never left. Two
 * conductors may get different answers of the commit, when members end between them: so each reads what is held before it reads the
 * record, and writes only over what it has read; and who undoes writes what is held once more (`keepPlace`) after the record says
 * so. Whoever is late is then refused, or has been faster, and the member has arrived. It costs a build for nothing when others come first.
 *
 * @param there  as the other cell has it: STOPPED
 * @returns whether there may be more to do now
 */
export async function arriveInZone(
  t: TopConductor,
  { uuid, version }: Instance,
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
 * Sees to it that a member whose move is undone counts where it is, and that nobody counts it in the other cell any more; or takes it as
 * arrived, if somebody has and it is there. One that has been started there since comes back whatever its group says.
 *
 * @returns whether there may be more to do now
 */
export async function keepPlace(t: TopConductor, { uuid, version, cell }: Instance): Promise<boolean> {
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

async function writeArrival(t: TopConductor, { uuid, version }: Instance, there: InstanceView): Promise<true> {
  await changeRecord(t, uuid, (record) => {
    if (record.version !== version || record.cell?.move === undefined) return undefined;
    return arrived(t, record.cell, record.cell.move, there);
  });
  return true;
}
