import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BerthError } from '../../domain/errors';
import { environment } from '../../runtime/system';
import { findPython } from '../servers/find-binary';
import { freePort, serverFolder, startServer, type TestServer } from '../servers/server-process';

export interface IronicOptions {
  /** Duration of each step of a deployment, and of its end. */
  readonly stepS?: number;
  /** Default: noauth. */
  readonly auth?: IronicAuth;
}

/** `http_basic` for the user `berth` with the password `secret`, or tokens of a Keystone, whose `admin` may do everything. */
export type IronicAuth =
  | { readonly kind: 'http_basic' }
  | { readonly kind: 'keystone'; readonly url: string; readonly adminPassword: string };

const INTERFACES = ['bios', 'boot', 'console', 'deploy', 'inspect', 'management', 'power', 'raid', 'rescue'];
/** Bcrypt's. */
const HASH_OF_SECRET = '$2b$04$xTjBQnFPFmwyJNLnbfh0EOx25AJz1fV30H0xwHOzMBOF2NFkIZBI6';
const run = promisify(execFile);

/**
 * Starts a private Ironic (Debian's, 21.4) on SQLite: API and conductor in one process, hardware that is fake. Takes
 * twenty seconds, and a minute more if it must be installed.
 *
 * @throws BerthError of `findPython` and `startServer`; `unavailable / server_did_not_start`
 */
export async function startIronic({ stepS = 0, auth }: IronicOptions = {}): Promise<TestServer> {
  // The Python package contains the programs; the package `ironic-api` would add a system service.
  const python = findPython({ ironic: 'python3-ironic', bcrypt: 'python3-bcrypt' });
  const port = await freePort();
  const folder = serverFolder('ironic');
  const config = join(folder, 'ironic.conf');
  writeFileSync(join(folder, 'htpasswd'), `berth:${HASH_OF_SECRET}\n`);
  writeFileSync(config, configOf({ folder, port, stepS, auth }));
  const env = { PATH: environment()['PATH'], HOME: folder };
  const program = (name: string) => ['-c', `from ironic.cmd.${name} import main; main()`, '--config-file', config];
  try {
    await run(python, [...program('dbsync'), 'create_schema'], { env });
  } catch (thrown) {
    rmSync(folder, { recursive: true, force: true });
    const lines = (thrown as Error).message.trimEnd().split('\n').slice(-20).join('\n');
    throw new BerthError('unavailable', 'server_did_not_start', `Ironic's database could not be set up:\n${lines}`);
  }
  const url = `http://127.0.0.1:${port}`;
  const probe = { send: 'GET / HTTP/1.0\r\n\r\n', expect: 'HTTP/1.1 200' };
  return startServer({
    name: 'Ironic',
    url,
    port,
    folder,
    command: python,
    args: program('singleprocess'),
    env,
    probe,
  });
}

interface Settings {
  readonly folder: string;
  readonly port: number;
  readonly stepS: number;
  readonly auth: IronicAuth | undefined;
}

function configOf({ folder, port, stepS, auth }: Settings): string {
  return [
    '[DEFAULT]',
    `auth_strategy = ${auth?.kind ?? 'noauth'}`,
    `http_basic_auth_user_file = ${join(folder, 'htpasswd')}`,
    'host = ironic-of-tests',
    'my_ip = 127.0.0.1',
    'rpc_transport = none',
    `state_path = ${folder}`,
    'enabled_hardware_types = fake-hardware',
    ...INTERFACES.map((name) => `enabled_${name}_interfaces = fake`),
    ...['network', 'storage'].map((name) => `enabled_${name}_interfaces = noop`),
    'enabled_vendor_interfaces = no-vendor',
    `[database]\nconnection = sqlite:///${join(folder, 'ironic.db')}`,
    `[oslo_concurrency]\nlock_path = ${folder}`,
    `[api]\nhost_ip = 127.0.0.1\nport = ${port}`,
    '[dhcp]\ndhcp_provider = none',
    `[fake]\ndeploy_delay = ${stepS}`,
    ...(auth?.kind === 'keystone' ? keystoneOf(auth) : []),
    '',
  ].join('\n');
}

function keystoneOf({ url, adminPassword }: IronicAuth & { readonly kind: 'keystone' }): string[] {
  return [
    '[keystone_authtoken]',
    'auth_type = password',
    `auth_url = ${url}/v3`,
    `www_authenticate_uri = ${url}`,
    'interface = internal',
    'username = admin',
    `password = ${adminPassword}`,
    'project_name = admin',
    'user_domain_name = Default',
    'project_domain_name = Default',
    // An admin of a project suffices, as in clouds that were not moved to scopes.
    '[oslo_policy]\nenforce_scope = false\nenforce_new_defaults = false',
  ];
}
