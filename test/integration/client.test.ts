import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connect } from '#libs/client/connect';
import { environment } from '#libs/runtime/system';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import { findBinary, findPython } from '#libs/testing/servers/find-binary';
import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';

/* The client libraries, as tenants of a deployed broker use them: that of Node, and that of Python. */

jest.setTimeout(180_000);

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
  expect(event).toMatchObject({ state: 'active', host: 'host-1', name: 'web' });
  const uuid = event?.instanceUuid ?? '';
  expect(await listener.wait(uuid)).toMatchObject({ state: 'active' });
  expect(await client.instance(uuid)).toMatchObject({ uuid, projectId: 'demo' });
  expect(await client.terminateAndWait(uuid, { timeoutMs: 60_000 })).toMatchObject({ state: 'deleted' });
  await listener.wait(uuid, ['deleted'], { timeoutMs: 60_000 });
  const unknown = client.terminateAndWait(randomUUID(), { timeoutMs: 60_000 });
  await expect(unknown).rejects.toMatchObject({ code: 'not_found', reason: 'no_such_instance' });
  await listener.close();
  await reading;
  expect(states).toEqual(expect.arrayContaining(['scheduling', 'building', 'active', 'deleting']));
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
  expect(await client.operateAndWait(uuid, 'stop', limit)).toMatchObject({ state: 'stopped', host: 'host-1' });
  await expect(client.operate(uuid, 'evacuate')).rejects.toMatchObject({ reason: 'services_only' });
  await expect(operator.operate(uuid, 'evacuate')).rejects.toMatchObject({ reason: 'host_alive' });
  expect(await client.operateAndWait(uuid, 'start', limit)).toMatchObject({ state: 'active', host: 'host-1' });
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
  expect(await built).toMatchObject([{ state: 'active', host: 'host-1' }]);
  await client.close();
});

it('is what the package exports as berth/client', () => {
  const script = "process.stdout.write(Object.keys(require('berth/client')).sort().join(' '))";
  const names = execFileSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' });
  expect(names).toBe('BerthError Client INSTANCE_STATES connect isRetryable');
});

it('has a sibling for Python, made from the same schemas', async () => {
  const python = findPython({ pika: 'python3-pika', 'google.protobuf': 'python3-protobuf' });
  const protoc = findBinary({ name: 'protoc', folders: [], debianPackage: 'protobuf-compiler' });
  const proto = join(ROOT, 'proto');
  await launch('compute-agent', 'agent.host-2', 'host-2');
  const generated = mkdtempSync(join(tmpdir(), 'berth-python-'));
  try {
    const schemas = readdirSync(proto, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.proto'));
    execFileSync(protoc, [`--proto_path=${proto}`, `--python_out=${generated}`, ...schemas], { cwd: proto });
    const env = {
      PATH: environment()['PATH'],
      PYTHONPATH: [generated, join(proto, 'python')].join(':'),
      PYTHONDONTWRITEBYTECODE: '1',
      BERTH_TEST_URL: urlOf('project.demo'),
      BERTH_TEST_OTHER_URL: urlOf('project.other'),
      BERTH_TEST_OPERATOR_URL: urlOf('operator'),
    };
    const { stderr } = await promisify(execFile)(python, ['-m', 'unittest', '-v', 'test_berth_client'], { env });
    expect(stderr).toMatch(/^OK$/m);
  } finally {
    rmSync(generated, { recursive: true, force: true });
  }
});
