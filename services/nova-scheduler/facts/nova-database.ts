import { BerthError, invalidArgument } from '#libs/domain/errors';
import { installPeers } from '#libs/runtime/manifest';
import type { RuntimeDeps } from '#libs/runtime/service';
import { CellHardware } from './cell-hardware';
import { InstanceImages } from './instance-images';
import type { DatabaseAddress, ReadDatabase } from './mysql';
import type { DatabaseSource } from './nova-facts';

const QUERY_TIMEOUT_MS = 10_000;
const PAGE = 1_000;
/** More hosts than any Nova has. */
const MAX_PAGES = 200;
/** Cell0 has no hosts. */
const CELL0 = '00000000-0000-0000-0000-000000000000';

/**
 * Nova's databases as a source of facts, read with SELECT only: cells and their hosts from that of its API, hardware of nodes from those of
 * the cells. Cells are read with the user of the setting, not with the one that Nova's own connections name.
 *
 * @param deps  `describesHosts`: also read what only JsonFilter asks for, some kilobytes for each node that changed
 * @param url  `mysql://user:password@host:3306/nova_api`
 * @throws BerthError `failed_precondition / no_mysql2` when the driver is not installed
 */
export async function openNovaDatabase(
  url: string,
  deps: Pick<RuntimeDeps, 'clock' | 'log'> & { readonly describesHosts: boolean },
): Promise<DatabaseSource & { close(): Promise<void> }> {
  const { openDatabase } = await import('#services/nova-scheduler/facts/mysql').catch(notInstalled);
  const address = addressOf(url);
  const api = openDatabase(address, QUERY_TIMEOUT_MS);
  const databases = new Map<string, OpenCell>();

  const cellAt = (uuid: string, connection: string) => {
    const known = databases.get(connection);
    if (known !== undefined) return known;
    const database = openDatabase(cellAddress(uuid, connection, address), QUERY_TIMEOUT_MS);
    const { clock, describesHosts } = deps;
    const opened = {
      database,
      hardware: new CellHardware(database, clock, describesHosts),
      images: new InstanceImages(database, clock),
    };
    databases.set(connection, opened);
    return opened;
  };
  /** Answers of all cells but those whose database is away. */
  const ofCells = async <T>(read: (cell: OpenCell) => Promise<ReadonlyMap<string, T>>) => {
    const cells = await api.rows('select uuid, database_connection from cell_mappings where disabled = 0');
    const others = cells.filter(({ uuid }) => uuid !== CELL0);
    const answers = await Promise.allSettled(
      others.map(async ({ uuid, database_connection: at }) => read(cellAt(String(uuid), String(at)))),
    );
    const all = new Map<string, T>();
    for (const [i, one] of answers.entries()) {
      if (one.status === 'fulfilled') for (const [key, value] of one.value) all.set(key, value);
      else if (answers.every(({ status }) => status === 'rejected')) throw one.reason;
      else warnOfCell(String(others[i]?.['uuid']), one.reason, deps);
    }
    return all;
  };
  return {
    async cells() {
      const cellOf = new Map<string, string>();
      const sql = `select m.id, m.host, c.uuid from host_mappings m join cell_mappings c on c.id = m.cell_id
        where m.id > ? order by m.id limit ${PAGE}`;
      let last = 0;
      for (let page = 0; page < MAX_PAGES; page++) {
        const rows = await api.rows(sql, [last]);
        for (const { host, uuid } of rows) cellOf.set(String(host), String(uuid));
        if (rows.length < PAGE) return cellOf;
        last = Number(rows.at(-1)?.['id']);
      }
      throw new BerthError('resource_exhausted', 'too_many_nodes', `Nova has more than ${MAX_PAGES * PAGE} hosts`);
    },
    hardware: () => ofCells(({ hardware }) => hardware.read()),
    images: () => ofCells(({ images }) => images.read()),
    async close() {
      await Promise.all([api, ...[...databases.values()].map(({ database }) => database)].map((one) => one.close()));
    },
  };
}

interface OpenCell {
  readonly database: ReadDatabase;
  readonly hardware: CellHardware;
  readonly images: InstanceImages;
}

/** Hosts of a cell that is away get no instances that need hardware, as with a stock scheduler. */
function warnOfCell(uuid: string, thrown: unknown, { log }: Pick<RuntimeDeps, 'log'>): void {
  const error = BerthError.from(thrown).message;
  log.warn({ event: 'nova_cell_away', cell: uuid, error }, `the database of cell ${uuid} can not be read`);
}

/** The driver is an optional peer of the package: few need NUMA nodes or PCI devices. */
function notInstalled(thrown: unknown): never {
  if ((thrown as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw thrown;
  const message = `BERTH_NOVA_DATABASE_URL needs mysql2, which is not installed: ${installPeers('mysql2')}`;
  throw new BerthError('failed_precondition', 'no_mysql2', message, { cause: thrown });
}

const DEFAULT_PORT = 3_306;

function addressOf(url: string): DatabaseAddress {
  const { hostname: host, port, username, password, pathname } = new URL(url);
  return {
    host: withoutBrackets(host),
    port: Number(port || DEFAULT_PORT),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
  };
}

/** Scheme, user and password are passed over; `{hostname}` and `{port}` are those of the API's database. */
const CONNECTION = /^[^:]+:\/\/(?:[^@/]*@)?(\{hostname\}|\[[^\]]+\]|[^:/?@]+)(?::(\d+|\{port\}))?\/([^?{}/]+)/;

function cellAddress(uuid: string, connection: string, api: DatabaseAddress): DatabaseAddress {
  const [, host, port = String(DEFAULT_PORT), database] = CONNECTION.exec(connection) ?? [];
  if (host === undefined || database === undefined)
    throw invalidArgument('bad_cell_database', `the database_connection of cell ${uuid} names no host and database`);
  return {
    ...api,
    host: host === '{hostname}' ? api.host : withoutBrackets(host),
    port: port === '{port}' ? api.port : Number(port),
    database,
  };
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
