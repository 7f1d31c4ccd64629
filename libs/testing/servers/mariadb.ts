import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environment } from '../../runtime/system';
import { type Binary, findBinary } from './find-binary';
import { freePort, serverFolder, startServer, type TestServer } from './server-process';

/** A private MariaDB, `mysql://root@127.0.0.1:<port>`, which lets everybody do everything and survives no crash. */
export interface MariadbServer extends TestServer {
  /** Runs statements; resolves to the rows, tab-separated lines without a heading. */
  sql(statements: string): Promise<string>;
}

const debianPackage = 'mariadb-server';
const SERVER: Binary = { name: 'mariadbd', folders: ['/usr/sbin'], debianPackage };
const INSTALL: Binary = { name: 'mariadb-install-db', folders: ['/usr/bin'], debianPackage };
const CLIENT: Binary = { name: 'mariadb', folders: ['/usr/bin'], debianPackage };

/**
 * Starts a private MariaDB (10.11 or later), empty. Takes a few seconds.
 *
 * @throws BerthError of `findBinary` and `startServer`.
 */
export async function startMariadb(): Promise<MariadbServer> {
  const [command, install, client] = [SERVER, INSTALL, CLIENT].map(findBinary) as [string, string, string];
  const port = await freePort();
  const folder = serverFolder('mariadb');
  const socket = join(folder, 'socket');
  const datadir = join(folder, 'data');
  const user = process.getuid?.() === 0 ? 'root' : '';
  const run = promisify(execFile);
  try {
    await run(install, flags({ datadir, user, 'skip-test-db': '' }));
  } catch (thrown) {
    rmSync(folder, { recursive: true, force: true });
    throw thrown;
  }
  const args = flags({
    datadir,
    user,
    socket,
    port: String(port),
    'bind-address': '127.0.0.1',
    'skip-name-resolve': 'on',
    'skip-grant-tables': 'on',
    'skip-log-bin': 'on',
    'innodb-flush-log-at-trx-commit': '0',
    'innodb-doublewrite': 'off',
    'max-connections': '500',
    'character-set-server': 'utf8mb3',
  });
  const url = `mysql://root@127.0.0.1:${port}`;
  // It greets whoever connects.
  const probe = { send: '', expect: '' };
  const server = await startServer({ name: 'MariaDB', url, port, folder, command, args, env: environment(), probe });
  return Object.assign(server, {
    async sql(statements: string) {
      const running = run(client, ['--no-defaults', `--socket=${socket}`, '-N', '-B']);
      // An argument could not be as long as thousands of rows.
      running.child.stdin?.end(statements);
      return (await running).stdout;
    },
  });
}

function flags(settings: Readonly<Record<string, string>>): string[] {
  return [
    '--no-defaults',
    ...Object.entries(settings).map(([name, value]) => (value ? `--${name}=${value}` : `--${name}`)),
  ];
}
