import type { InstanceRow } from '#libs/domain/instance';
import type { TopConductor } from '../context';
import { changeRecord } from '../records';

/** States without a claim that anything runs: a doubt changes nothing about them. */
const WITHOUT_DOUBT: readonly InstanceRow['state'][] = ['error', 'deleting', 'deleted'];

/**
 * Handles a cell's report that it does not know an instance. If the top is ending it, that is its end; if the cell
 * never reported it, it is handed over again.
 *
 * The naive way takes an unknown instance for deleted. It fails when the cell's store was wiped or went back: its
 * instances keep running, and the cell adopts them when their hosts report. So it becomes a doubt, UNKNOWN, until the
 * cell reports it or somebody ends it. The cell's next report is accepted with any version, because a wiped store
 * numbers anew. The cost: an instance that the cell ended and forgot, while the top was away longer than the cell
 * remembers, has to be ended by hand.
 */
export async function forgottenBy(t: TopConductor, { uuid }: InstanceRow): Promise<void> {
  await changeRecord(t, uuid, (record) => {
    const { state, cell } = record;
    // An instance to be ended before its cell was told of it may stay unknown there.
    if (cell === undefined || cell.move || (!cell.isHandedOver && !cell.isEnding)) return undefined;
    if (cell.isEnding) {
      const { endedBy } = cell;
      return {
        state: endedBy ? 'error' : 'deleted',
        fault: endedBy,
        cell: { ...cell, version: 0 },
        dueAtMs: undefined,
      };
    }
    if (state === 'scheduling' && cell.version === 0) return { cell: { ...cell, isHandedOver: false } };
    const message = `cell ${cell.name} does not know it: its store may have been wiped or gone back; what runs there goes on`;
    return inDoubt(record, { reason: 'forgotten_by_cell', message });
  });
}

/** Doubts instances in cells that this top's setting does not name, or no longer names: no reports of them arrive. */
export async function doubtUnnamedCells(t: TopConductor): Promise<void> {
  const unheard: InstanceRow[] = [];
  await t.instances.scan(async (rows) => {
    unheard.push(...rows.filter(({ cell }) => cell !== undefined && !t.links.has(cell.name)));
  });
  for (const { uuid } of unheard) {
    await changeRecord(t, uuid, (record) => {
      if (record.cell === undefined || t.links.has(record.cell.name) || record.state === 'scheduling') return undefined;
      const message = `cell ${record.cell.name} is not named by BERTH_TOP_CELLS; what is there goes on by itself`;
      return inDoubt(record, { reason: 'cell_unreachable', message });
    });
  }
}

function inDoubt(record: InstanceRow, fault: NonNullable<InstanceRow['fault']>) {
  const { state, cell } = record;
  if (cell === undefined || cell.move || WITHOUT_DOUBT.includes(state)) return undefined;
  if (state === 'unknown' && cell.version === 0 && record.fault?.reason === fault.reason) return undefined;
  return { state: 'unknown', fault, cell: { ...cell, version: 0 }, dueAtMs: undefined } as const;
}
