import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import { freePort, type TestServer } from '#libs/testing/servers/server-process';
import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { startTlsGroup } from '../../redis-groups';

/* The TLS settings of deploy/, with certificates of deploy/certificates.sh, on Debian's servers. */

const BERTH = 'services/cli/main.ts';
const DEPLOY = join(__dirname, '../../../deploy');

let folder: string;
let credentials: DeployedCredentials;
let servers: readonly TestServer[] = [];
let env: Record<string, string>;
const children: Child[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-tls-'));
  execFileSync('sh', [join(DEPLOY, 'certificates.sh'), folder], { stdio: 'pipe' });
  credentials = deployedCredentials(['agent.host-1']);
  const [brokerPort, storePort] = await Promise.all([freePort(), freePort()]);
  // Both also have a port without TLS, for the test's readiness probe.
  const broker = settingsOf('rabbitmq/tls.conf', ' = ', ['listeners.tcp']);
  const listener = { 'listeners.ssl.default': `127.0.0.1:${brokerPort}` };
  const store = settingsOf('redis/tls.conf', ' ', ['include', 'port']);
  servers = await Promise.all([
    startRabbitmq({ config: { ...broker, ...listener, load_definitions: credentials.definitionsFile } }),
    startRedis({ settings: { ...store, 'tls-port': String(storePort) } }),
  ]);
  env = {
    BERTH_BUS_URL: credentials.brokerUrl('conductor', brokerPort).replace('amqp:', 'amqps:'),
    BERTH_STORE_URL: `rediss://127.0.0.1:${storePort}`,
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.crt'),
  };
});
afterAll(async () => {
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all(servers.map((server) => server.stop()));
  credentials?.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** The settings of a file in deploy/ without some, with the test's certificates. */
function settingsOf(file: string, separator: string, without: readonly string[]): Record<string, string> {
  const lines = readFileSync(join(DEPLOY, file), 'utf8').replaceAll('/etc/berth-tls', folder).split('\n');
  const pairs = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split(separator));
  const kept = pairs.filter(([name = '']) => !without.includes(name));
  return Object.fromEntries(kept.map(([name = '', ...value]) => [name, value.join(separator)]));
}

function start(args: readonly string[], more: Readonly<Record<string, string>> = {}): Child {
  const child = startChild(BERTH, args, { ...env, ...more });
  children.push(child);
  return child;
}

it('connects processes to the broker and to the store', async () => {
  const conductor = start(['conductor']);
  await conductor.says('"msg":"running"');
  expect(conductor.process.exitCode).toBeNull();
});

it.each(['sentinel', 'cluster'] as const)('connects processes to a store that is a %s', async (kind) => {
  const group = await startTlsGroup(kind, settingsOf('redis/tls.conf', ' ', ['include', 'port', 'tls-port']));
  try {
    const store = { BERTH_STORE_URL: group.url, BERTH_PLACEMENT_PORT: '0' };
    const api = start(['placement-api'], store);
    await api.says('"msg":"running"');
    api.process.kill('SIGTERM');
    await api.exit;
    const stranger = start(['placement-api'], { ...store, NODE_EXTRA_CA_CERTS: '' });
    await stranger.says('"event":"store_unavailable"');
    expect(stranger.stdout()).not.toContain('"msg":"running"');
    stranger.process.kill('SIGTERM');
    await stranger.exit;
  } finally {
    await group.stop();
  }
});

it.each([
  ['broker', 'conductor', { BERTH_STORE_URL: 'memory:', BERTH_BUS_CONNECT_TIMEOUT_MS: '2000' }],
  ['store', 'placement-api', { BERTH_PLACEMENT_PORT: '0' }],
])('does not trust a %s whose authority it does not know', async (_, service, more) => {
  const child = start([service], { ...more, NODE_EXTRA_CA_CERTS: '' });
  await child.says(/certificate/);
  expect(child.stdout()).not.toContain('"msg":"running"');
});

it('serves the placement API over HTTPS', async () => {
  const port = String(await freePort());
  const files = { cert: 'BERTH_PLACEMENT_TLS_CERT_FILE', key: 'BERTH_PLACEMENT_TLS_KEY_FILE' };
  const tls = { [files.cert]: join(folder, 'placement-api.crt'), [files.key]: join(folder, 'placement-api.key') };
  await start(['placement-api'], { BERTH_STORE_URL: 'memory:', BERTH_PLACEMENT_PORT: port, ...tls }).says(
    '"msg":"running"',
  );
  const url = { BERTH_PLACEMENT_URL: `https://127.0.0.1:${port}` };
  const list = start(['provider', 'list', '--json'], url);
  expect((await list.exit).code).toBe(0);
  expect(JSON.parse(list.stdout())).toMatchObject({ found: 0 });
  const stranger = start(['provider', 'list'], { ...url, NODE_EXTRA_CA_CERTS: '' });
  expect((await stranger.exit).code).toBe(3);
  const wrong = start(['placement-api'], {
    BERTH_STORE_URL: 'memory:',
    ...tls,
    [files.key]: join(folder, 'redis.key'),
  });
  expect((await wrong.exit).code).toBe(2);
});
