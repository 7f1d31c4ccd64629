import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connect } from '#libs/client/index';
import { environment } from '#libs/runtime/system';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import { findBinary, findPython } from '#libs/testing/servers/find-binary';
import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';

/* The client libraries, as tenants of a deployed broker use them: that of Node, and that of Python. */

const ROOT = join(__dirname, '../..');
const SPEC = { projectId: 'demo', userId: 'me', resources: { VCPU: 1, MEMORY_MB: 64 } };

let credentials: DeployedCredentials;
let broker: RabbitmqServer;
let redis: TestServer;
const children: Child[] = [];
const urlOf = (user: string) => credentials.brokerUrl(user, broker.port);

async function launch(name: string, user: string, host = 'host-1'): Promise<void> {
  const env = { BERTH_BUS_URL: urlOf(user), BERTH_STORE_URL: redis.url, BERTH_AGENT_HOST: host };
  const child = startChild('services/cli/main.ts', [name], env);
  children.push(child);
  await child.says('"msg":"running"');
}

beforeAll(async () => {
  credentials = deployedCredentials(['agent.host-1', 'agent.host-2', 'project.demo', 'project.other']);
  const config = { load_definitions: credentials.definitionsFile };
  [broker, redis] = await Promise.all([startRabbitmq({ config }), startRedis()]);
  for (const [name, user] of Object.entries({
    scheduler: 'scheduler',
    conductor: 'conductor',
    'compute-agent': 'agent.host-1',
  })) {
    await launch(name, user);
  }
});
afterAll(async () => {
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials?.remove();
});

it('builds, waits, lists, listens and terminates as a tenant', async () => {
  const [client, listener] = [
    await connect({ url: urlOf('project.demo') }),
    await connect({ url: urlOf('project.demo') }),
  ];
  const states: string[] = [];
  let listening = () => {};
  const isListening = new Promise<void>((resolve) => {
    listening = resolve;
  });
  const reading = (async () => {
    for await (const { state } of listener.events({ onListening: listening })) states.push(state);
  })();
  await isListening;
  const [event] = await client.buildAndWait({ spec: SPEC, name: 'web' }, { timeoutMs: 60_000 });
  expect(event).toMatchObject({ state: 'ACTIVE', host: 'host-1', name: 'web' });
  const uuid = event?.instanceUuid ?? '';
  expect(await listener.wait(uuid)).toMatchObject({ state: 'ACTIVE' });
  expect(await client.instance(uuid)).toMatchObject({ uuid, projectId: 'demo' });
  expect(await client.terminateAndWait(uuid, { timeoutMs: 60_000 })).toMatchObject({ state: 'DELETED' });
  await listener.wait(uuid, ['DELETED'], { timeoutMs: 60_000 });
  const unknown = client.terminateAndWait(randomUUID(), { timeoutMs: 60_000 });
  await expect(unknown).rejects.toMatchObject({ code: 'not_found', reason: 'no_such_instance' });
  await listener.close();
  await reading;
  expect(states).toEqual(expect.arrayContaining(['SCHEDULING', 'BUILDING', 'ACTIVE', 'DELETING']));
  const foreign = client.buildAndWait({ spec: { ...SPEC, projectId: 'other' } }, { timeoutMs: 60_000 });
  await expect(foreign).rejects.toMatchObject({ code: 'permission_denied', reason: 'wrong_project' });
  await client.close();
});

it('stops an instance and starts it again as a tenant; only an operator evacuates, and no host that is alive', async () => {
  const client = await connect({ url: urlOf('project.demo') });
  const operator = await connect({ url: urlOf('operator') });
  const limit = { timeoutMs: 60_000 };
  const [built] = await client.buildAndWait({ spec: SPEC }, limit);
  const uuid = built?.instanceUuid ?? '';
  expect(await client.operateAndWait(uuid, 'stop', limit)).toMatchObject({ state: 'STOPPED', host: 'host-1' });
  await expect(client.operate(uuid, 'evacuate')).rejects.toMatchObject({ reason: 'services_only' });
  await expect(operator.operate(uuid, 'evacuate')).rejects.toMatchObject({ reason: 'host_alive' });
  expect(await client.operateAndWait(uuid, 'start', limit)).toMatchObject({ state: 'ACTIVE', host: 'host-1' });
  await expect(operator.operate(uuid, 'evacuate')).rejects.toMatchObject({ reason: 'host_alive' });
  const other = await connect({ url: urlOf('project.other') });
  await expect(other.operate(uuid, 'stop')).rejects.toMatchObject({ reason: 'no_such_instance' });
  await client.terminateAndWait(uuid, limit);
  await Promise.all([client, operator, other].map((one) => one.close()));
});

it('sends a request until a broker that was killed is back, and hears how it ends', async () => {
  const client = await connect({ url: urlOf('project.demo'), retryForMs: 120_000 });
  await client.instances();
  await broker.kill('SIGKILL');
  const built = client.buildAndWait({ spec: SPEC }, { timeoutMs: 150_000 });
  await broker.restart();
  expect(await built).toMatchObject([{ state: 'ACTIVE', host: 'host-1' }]);
  await client.close();
});

it('is what the package exports as berth/client', () => {
  const script = "process.stdout.write(Object.keys(require('berth/client')).sort().join(' '))";
  const names = execFileSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' });
  expect(names).toBe('BerthError INSTANCE_STATES autoscale connect isRetryable');
});

it('has a sibling for Python: a wheel, made from the same schemas', async () => {
  const python = findPython({
    pika: 'python3-pika',
    'google.protobuf': 'python3-protobuf',
    setuptools: 'python3-setuptools',
    wheel: 'python3-wheel',
    pip: 'python3-pip',
  });
  findBinary({ name: 'protoc', folders: [], debianPackage: 'protobuf-compiler' });
  await launch('compute-agent', 'agent.host-2', 'host-2');
  const folder = mkdtempSync(join(tmpdir(), 'berth-python-'));
  const own = { PATH: environment()['PATH'], PYTHON: python };
  try {
    execFileSync(join(ROOT, 'proto/python/build-wheel'), [folder], { env: own, stdio: 'pipe' });
    const wheel = `berth_client-${packageVersion()}-py3-none-any.whl`;
    expect(readdirSync(folder)).toEqual([wheel]);
    const install = ['-m', 'pip', 'install', '--no-index', '--no-deps', '--target', join(folder, 'installed')];
    execFileSync(python, [...install, join(folder, wheel)], { env: own, stdio: 'pipe' });
    const env = {
      ...own,
      PYTHONPATH: join(folder, 'installed'),
      PYTHONDONTWRITEBYTECODE: '1',
      BERTH_TEST_URL: urlOf('project.demo'),
      BERTH_TEST_OTHER_URL: urlOf('project.other'),
      BERTH_TEST_OPERATOR_URL: urlOf('operator'),
    };
    const tests = join(ROOT, 'proto/python/test_berth_client.py');
    const { stderr } = await promisify(execFile)(python, [tests, '-v'], { env });
    expect(stderr).toMatch(/^OK$/m);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function packageVersion(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string }).version;
}
