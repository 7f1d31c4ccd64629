import { invalidArgument } from '../errors';

/** The cell of a process that names none. Its queues and exchanges have the names that they had before there were cells. */
export const DEFAULT_CELL = 'cell1';

/**
 * The name under which the top has its queues, exchanges, keys and metrics, as if it were a cell. It has no hosts: agents,
 * schedulers and conductors are of other cells.
 */
export const TOP = 'top';

/**
 * What a cell may be called. Without dots, which would let one cell's names begin like another's, and short enough for the
 * names of its users' private queues to fit into AMQP's 255 bytes.
 */
export const CELL_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

/** @throws BerthError `invalid_argument / top_has_no_hosts` when a process that needs hosts is told that it is of the top. */
export function refuseTop(cell: string): void {
  if (cell !== TOP) return;
  const message = `the top of a fleet has no hosts: set BERTH_CELL to a cell, or run 'berth top-conductor' or 'berth top-scheduler'`;
  throw invalidArgument('top_has_no_hosts', message, 'BERTH_CELL');
}
