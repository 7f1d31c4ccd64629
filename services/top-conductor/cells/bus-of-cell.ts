import type { Bus } from '#libs/bus/port';
import { cellUnreachable } from '#libs/cells/cell-link';
import type { TopConductor } from '../context';

/**
 * The bus of a cell, never the top's own: what is meant for a cell that is not named any more must not come back to the top.
 *
 * @throws BerthError `unavailable / cell_unreachable`.
 */
export function busOfCell({ links }: Pick<TopConductor, 'links'>, cell: string): Bus {
  const link = links.get(cell);
  if (link === undefined) throw cellUnreachable(cell, 'BERTH_TOP_CELLS of this top conductor does not name it');
  return link.bus;
}
