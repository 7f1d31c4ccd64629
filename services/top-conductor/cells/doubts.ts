import type { Instance } from '#libs/domain/instance';
import type { TopConductor } from '../context';
import { changeRecord } from '../records';

/** States that say nothing of what runs: a doubt changes nothing about them. */
const WITHOUT_DOUBT: readonly Instance['state'][] = ['error', 'deleting', 'deleted'];

/**
 * A cell does not know an instance that it was given. Where the top itself ends it, that is its end; where the cell never said a
 * word of it, it is handed over again.
 *
 * The naive way takes what a cell does not know for deleted. It fails when the cell's store was wiped or went back: its instances
 * run all the same, and the cell adopts them when their hosts report. So it is a doubt, UNKNOWN, until the cell says something or
 * somebody ends it. What the cell says next is taken with any version, because a store that was wiped numbers anew. It costs that
 * what the cell ended and forgot while the top was away for longer than the cell remembers has to be ended by hand.
 */
export async function forgottenBy(t: TopConductor, { uuid }: Instance): Promise<void> {
  await changeRecord(t, uuid, (record) => {
    const { state, cell } = record;
    // What was to end before its cell was told of it may be unknown there for good.
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

/** Instances in cells that the setting of this top does not name, or names no more: nothing is heard of them. */
export async function doubtUnnamedCells(t: TopConductor): Promise<void> {
  const unheard: Instance[] = [];
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

function inDoubt(record: Instance, fault: NonNullable<Instance['fault']>) {
  const { state, cell } = record;
  if (cell === undefined || cell.move || WITHOUT_DOUBT.includes(state)) return undefined;
  if (state === 'unknown' && cell.version === 0 && record.fault?.reason === fault.reason) return undefined;
  return { state: 'unknown', fault, cell: { ...cell, version: 0 }, dueAtMs: undefined } as const;
}
