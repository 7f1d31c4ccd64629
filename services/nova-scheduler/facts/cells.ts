import { invalidArgument } from '#libs/domain/errors';

/** The cell of a service host, by what operators say of cells; undefined for a host of none. */
export type CellOfHost = (host: string) => string | undefined;

const ENTRY = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:=(\S+))?$/;

/**
 * Cells as `UUID` for all hosts, or `UUID=host` and `UUID=rack1-*`; the first that matches holds. Nova's API does not tell cells.
 *
 * @throws BerthError `invalid_argument / bad_cells`
 */
export function parseCells(entries: readonly string[]): CellOfHost {
  const cells = entries.map((entry) => {
    const [, uuid, pattern = '*'] = ENTRY.exec(entry) ?? [];
    if (uuid === undefined)
      throw invalidArgument('bad_cells', `BERTH_NOVA_CELLS: '${entry}' is neither UUID nor UUID=HOST`);
    const [prefix = '', ...rest] = pattern.split('*');
    if (rest.join('') !== '')
      throw invalidArgument('bad_cells', `BERTH_NOVA_CELLS: '*' stands at the end of '${entry}'`);
    return { uuid, prefix, isExact: rest.length === 0 };
  });
  return (host) => cells.find(({ prefix, isExact }) => (isExact ? host === prefix : host.startsWith(prefix)))?.uuid;
}
