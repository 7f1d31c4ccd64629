import type { Bus } from '#libs/bus/port';
import { type CellLink, cellUnreachable } from '#libs/cells/cell-link';
import type { TopConductor } from '../context';

type Links = Pick<TopConductor, 'links'>;

/**
 * The bus of a cell, never the top's own: a message for a cell that is no longer configured must not come back to the
 * top.
 *
 * @throws BerthError `unavailable / cell_unreachable`.
 */
export function busOfCell(t: Links, cell: string): Bus {
  return requireNamed(t, cell).bus;
}

/** The connection to a cell, up or down. @throws BerthError `unavailable / cell_unreachable` for an unknown cell. */
export function requireNamed({ links }: Links, cell: string): CellLink {
  const link = links.get(cell);
  if (link) return link;
  throw cellUnreachable(cell, 'BERTH_TOP_CELLS of this top conductor does not name it');
}
