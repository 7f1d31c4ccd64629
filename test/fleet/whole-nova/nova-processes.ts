import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environment } from '#libs/runtime/system';
import { findPython } from '#libs/testing/servers/find-binary';
import type { MariadbServer } from '#libs/testing/servers/mariadb';
import { type ServerPlan, serverFolder, startServer, type TestServer } from '#libs/testing/servers/server-process';
import { API_PASTE, iniText, type NovaAddresses, novaConf, type Settings } from './nova-conf';

const PACKAGES = { nova: 'python3-nova', oslo_messaging: 'python3-oslo.messaging', pymysql: 'python3-pymysql' };
const DATABASES = ['nova_api', 'nova_cell0', 'nova_cell1'] as const;
const NIL = '00000000-0000-0000-0000-000000000000';

/** Debian's Python with Nova, which is installed where it is missing. @throws BerthError of `findPython` */
export const findNova = () => findPython(PACKAGES);

/** Services of a stock Nova as processes, each with a folder of its own, on databases of one MariaDB. */
export class NovaProcesses {
  readonly #processes = new Map<string, TestServer>();

  constructor(
    private readonly python: string,
    private readonly addresses: NovaAddresses,
    private readonly further: Settings = {},
  ) {}

  /**
   * Creates the databases of an empty cloud with one cell; resolves to the cell's uuid. Cells are written as nova-manage does, which takes
   * seconds to start.
   */
  async createDatabases(mariadb: MariadbServer): Promise<string> {
    await mariadb.sql(DATABASES.map((name) => `create database ${name};`).join(''));
    await this.#manage('api_db', 'sync');
    const uuid = randomUUID();
    const cell = (id: string, name: string, transport: string) =>
      `('${id}', '${name}', '${transport}', '${this.addresses.database}/nova_${name}?charset=utf8', 0)`;
    const cells = [cell(NIL, 'cell0', 'none:///'), cell(uuid, 'cell1', this.addresses.transportUrl)];
    const columns = 'uuid, name, transport_url, database_connection, disabled';
    await mariadb.sql(`insert into nova_api.cell_mappings (${columns}) values ${cells.join(', ')}`);
    await this.#manage('db', 'sync');
    return uuid;
  }

  /** Maps hosts to the cell, as `nova-manage cell_v2 discover_hosts` does. */
  async mapHosts(mariadb: MariadbServer, cellUuid: string, hosts: readonly string[]): Promise<void> {
    const cell = `(select id from nova_api.cell_mappings where uuid = '${cellUuid}')`;
    const rows = hosts.map((host) => `(${cell}, '${host}', utc_timestamp())`).join(', ');
    await mariadb.sql(`insert into nova_api.host_mappings (cell_id, host, created_at) values ${rows};
      update nova_cell1.compute_nodes set mapped = 1`);
  }

  /** Starts a service such as `conductor` under a name of a host; resolves at once without a probe. */
  async launch(
    service: string,
    host: string,
    settings: Readonly<Record<string, string>> = {},
    probe?: ServerPlan['probe'],
  ): Promise<TestServer> {
    const { folder, args } = this.#configure(`nova.cmd.${service}`, host, settings);
    const plan = { name: `nova-${service}`, url: '', port: this.addresses.apiPort, folder, command: this.python, args };
    const server = await startServer({ ...plan, env: environmentIn(folder), ...(probe && { probe }) });
    this.#processes.set(`${service} of ${host}`, server);
    return server;
  }

  /** Runs `nova-manage`. */
  async #manage(...args: readonly string[]): Promise<void> {
    const { folder, args: program } = this.#configure('nova.cmd.manage', 'ctl', {});
    await promisify(execFile)(this.python, [...program, ...args], { cwd: folder, env: environmentIn(folder) });
    rmSync(folder, { recursive: true });
  }

  /** The last lines of each process, for the message of a failure. */
  lastWords(): string {
    return [...this.#processes]
      .map(([name, { folder }]) => {
        const lines = readFileSync(join(folder, 'output'), 'utf8').trimEnd().split('\n');
        return `--- ${name}\n${lines.slice(-8).join('\n')}`;
      })
      .join('\n');
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#processes.values()].map((server) => server.stop()));
  }

  /** A folder with a configuration, and the arguments with which Python runs a program of Nova's on it. */
  #configure(module: string, host: string, settings: Readonly<Record<string, string>>) {
    const folder = serverFolder('nova');
    mkdirSync(join(folder, 'instances'));
    const conf = novaConf(this.addresses, module.endsWith('compute'));
    for (const [section, more] of Object.entries(this.further)) conf[section] = { ...conf[section], ...more };
    conf['DEFAULT'] = { ...conf['DEFAULT'], host, state_path: folder, ...settings };
    const file = join(folder, 'nova.conf');
    writeFileSync(file, iniText(conf));
    writeFileSync(join(folder, 'api-paste.ini'), API_PASTE);
    return { folder, args: ['-c', `import sys; from ${module} import main; sys.exit(main())`, '--config-file', file] };
  }
}

function environmentIn(folder: string): NodeJS.ProcessEnv {
  return { PATH: environment()['PATH'], HOME: folder, LANG: 'C.UTF-8', PYTHONWARNINGS: 'ignore' };
}
