import type { CellMove, InstanceRow } from '#libs/domain/instance';
import type { TopConductor } from '../context';
import { changeRecord } from '../records';

/** Returns true if the record was changed: another conductor may be further. */
export async function changeMove(
  t: TopConductor,
  { uuid, version }: InstanceRow,
  change: Partial<CellMove>,
): Promise<boolean> {
  let isChanged = false;
  await changeRecord(t, uuid, (record) => {
    const { cell } = record;
    isChanged = record.version === version && cell?.move !== undefined;
    if (!isChanged || cell?.move === undefined) return undefined;
    return { cell: { ...cell, move: { ...cell.move, ...change } }, dueAtMs: t.clock.now() + t.config.syncIntervalMs };
  });
  return isChanged;
}
