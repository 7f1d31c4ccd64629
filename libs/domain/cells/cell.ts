import { invalidArgument } from '../errors';

/** The cell of a process that names none. Its queues and exchanges carry no cell in their names. */
export const DEFAULT_CELL = 'cell1';

/**
 * The cell name under which the top has its queues, exchanges, keys and metrics. The top has no hosts; agents,
 * schedulers and conductors belong to other cells.
 */
export const TOP = 'top';

/**
 * A valid cell name. No dots, so that no cell's names are a prefix of another's; short enough for the names of its
 * users' private queues to fit into AMQP's 255 bytes.
 */
export const CELL_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$';
export const CELL_NAME = new RegExp(CELL_NAME_PATTERN);

/**
 * @throws BerthError `invalid_argument / top_has_no_hosts` when a process that needs hosts is configured for the top.
 */
export function refuseTop(cell: string): void {
  if (cell !== TOP) return;
  const message = `the top of a fleet has no hosts: set BERTH_CELL to a cell, or run 'berth top-conductor' or 'berth top-scheduler'`;
  throw invalidArgument('top_has_no_hosts', message, 'BERTH_CELL');
}
