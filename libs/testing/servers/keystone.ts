import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { BerthError } from '../../domain/errors';
import { environment } from '../../runtime/system';
import { type Binary, findBinary, findPython } from './find-binary';
import { freePort, serverFolder, startServer, type TestServer } from './server-process';

/** A private Keystone: `http://127.0.0.1:<port>`. Its user `admin` has all rights; `KeystoneAdmin` makes others. */
export interface KeystoneServer extends TestServer {
  readonly adminPassword: string;
}

// The Python package contains the programs; the package `keystone` would add a system service.
const KEYSTONE: Binary = {
  name: 'keystone-wsgi-public',
  folders: ['/usr/bin'],
  debianPackage: 'python3-keystone',
};
const ADMIN_PASSWORD = 'admin-of-tests';
const USE_WRITE_AHEAD_LOG = 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("PRAGMA journal_mode=WAL")';

/** Its first request loads half of Keystone, which later processes would each do again. */
const SERVE_BY_PROCESSES = `
import io, json, socketserver, sys, wsgiref.simple_server as simple, wsgiref.util
from keystone.server.wsgi import initialize_public_application
class Server(socketserver.ForkingMixIn, simple.WSGIServer):
    request_queue_size = 128
port = int(sys.argv.pop())
app = initialize_public_application()
user = {'name': 'admin', 'domain': {'id': 'default'}, 'password': '${ADMIN_PASSWORD}'}
identity = {'methods': ['password'], 'password': {'user': user}}
body = json.dumps({'auth': {'identity': identity}}).encode()
first = {'REQUEST_METHOD': 'POST', 'PATH_INFO': '/v3/auth/tokens', 'CONTENT_TYPE': 'application/json',
         'CONTENT_LENGTH': str(len(body)), 'wsgi.input': io.BytesIO(body)}
wsgiref.util.setup_testing_defaults(first)
list(app(first, lambda *_: None))
simple.make_server('127.0.0.1', port, app, Server).serve_forever()
`;

/**
 * Starts a private Keystone (22 or later) on SQLite, with the domain `Default`, the project `admin` and Keystone's own
 * roles. Takes ten seconds, and half a minute more if it must be installed. Its own program serves one request at a time;
 * with `forks` it has a process for each, so that many clients do not wait for each other, and is in its own catalog, as
 * OpenStack's services want it.
 *
 * @throws BerthError of `findBinary` and `startServer`.
 */
export async function startKeystone({ forks = false } = {}): Promise<KeystoneServer> {
  const command = findBinary(KEYSTONE);
  const port = await freePort();
  const folder = serverFolder('keystone');
  const url = `http://127.0.0.1:${port}`;
  const env = { PATH: environment()['PATH'], HOME: folder, OS_KEYSTONE_CONFIG_DIR: folder };
  try {
    await prepare(command, folder, env, forks ? ['--bootstrap-internal-url', `${url}/v3`] : []);
  } catch (thrown) {
    rmSync(folder, { recursive: true, force: true });
    const lines = (thrown as Error).message.trimEnd().split('\n').slice(-20).join('\n');
    throw new BerthError('unavailable', 'server_did_not_start', `Keystone could not be set up:\n${lines}`);
  }
  const [program, args] = forks
    ? [findPython({ keystone: KEYSTONE.debianPackage }), ['-c', SERVE_BY_PROCESSES, String(port)]]
    : [command, ['--host', '127.0.0.1', '--port', String(port)]];
  const probe = { send: 'GET /v3 HTTP/1.0\r\n\r\n', expect: 'HTTP/1.0 200' };
  const server = await startServer({ name: 'Keystone', url, port, folder, command: program, args, env, probe });
  return Object.assign(server, { adminPassword: ADMIN_PASSWORD });
}

/** The database, the keys of tokens, and the first user. @param catalog  arguments that put Keystone itself into the catalog */
async function prepare(
  command: string,
  folder: string,
  env: NodeJS.ProcessEnv,
  catalog: readonly string[],
): Promise<void> {
  const config = join(folder, 'keystone.conf');
  const keys = join(folder, 'keys');
  mkdirSync(keys, { mode: 0o700 });
  const database = join(folder, 'keystone.db');
  writeFileSync(
    config,
    [
      `[database]\nconnection = sqlite:///${database}`,
      `[fernet_tokens]\nkey_repository = ${keys}`,
      // Strong password hashes would take half of each test's time.
      '[identity]\npassword_hash_rounds = 4',
      // A cached token would outlive its revocation.
      '[cache]\nenabled = false',
      '',
    ].join('\n'),
  );
  const run = promisify(execFile);
  const manage = (...args: string[]) =>
    run(join(dirname(command), 'keystone-manage'), ['--config-file', config, ...args], { env });
  const owner = [process.getuid?.(), process.getgid?.()].map(String);
  // Keystone reads on one connection while it writes on another; without a write-ahead log they lock each other out.
  await run('python3', ['-c', USE_WRITE_AHEAD_LOG, database], { env });
  await Promise.all([
    manage('db_sync'),
    manage('fernet_setup', '--keystone-user', owner[0] ?? '', '--keystone-group', owner[1] ?? ''),
  ]);
  await manage('bootstrap', '--bootstrap-password', ADMIN_PASSWORD, ...catalog);
}
