import { CELL_NAME, TOP } from '../domain/cells/cell';
import { invalidArgument } from '../domain/errors';
import { stringOption } from '../runtime/config';

/** Settings of both services of the top. */
export const topOptions = {
  cells: stringOption({
    env: 'BERTH_TOP_CELLS',
    default: 'cell1',
    range: 'NAME or NAME=amqp://..., with commas between',
    secret: true,
    help: "The cells of the fleet, with the broker's URL for a cell that has its own.",
  }),
} as const;

/** A cell, and its broker. */
export interface CellAddress {
  readonly cell: string;
  readonly busUrl: string;
}

/**
 * The cells that a setting names; those without an address are on the top's own broker.
 *
 * @throws BerthError `invalid_argument / bad_config`.
 */
export function readCells(text: string, ownBusUrl: string): readonly CellAddress[] {
  const cells = text
    .split(',')
    .filter((entry) => entry.trim() !== '')
    .map((entry) => {
      const [, cell = '', busUrl = ''] = /^([^=]*)=?(.*)$/.exec(entry.trim()) ?? [];
      return { cell, busUrl: busUrl || ownBusUrl };
    });
  if (cells.length === 0) throw badCells('it names none');
  for (const [n, { cell }] of cells.entries()) {
    if (!CELL_NAME.test(cell)) throw badCells(`'${cell}' is no name of a cell: 1 to 40 letters, digits, _ and -`);
    if (cell === TOP) throw badCells(`'${TOP}' is the top itself`);
    if (cells.findIndex((other) => other.cell === cell) !== n) throw badCells(`it names ${cell} twice`);
  }
  return cells;
}

function badCells(problem: string) {
  return invalidArgument(
    'bad_config',
    `BERTH_TOP_CELLS must name the cells of the fleet: ${problem}`,
    'BERTH_TOP_CELLS',
  );
}
