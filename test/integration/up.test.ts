import { randomUUID } from 'node:crypto';
import { type Child, startChild, urlIn } from '#libs/testing/servers/child';
import { freePort, type TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { ownVirtualHost } from '../shared-servers';

/* `berth up` and the commands that talk to it, as people run them: processes on a broker and a store of their own. */

const BERTH = 'services/cli/main.ts';
const SERVICES = ['scheduler-1', 'scheduler-2', 'conductor-1', 'placement-api-1', 'console', 'compute-agent'];
let servers: readonly Pick<TestServer, 'url' | 'stop'>[] = [];
let env: Record<string, string> = {};
let up: Child | undefined;

async function berth(...args: string[]) {
  const child = startChild(BERTH, args, env);
  const { code } = await child.exit;
  return { code, out: child.stdout(), err: child.stderr() };
}

async function berthJson<T>(...args: string[]): Promise<T> {
  const { code, out, err } = await berth(...args, '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as T;
}

async function startUp(): Promise<Child> {
  const child = startChild(BERTH, ['up', '--schedulers', '2', '--conductors', '1', '--hosts', '3'], env);
  await child.says('ready: all 6 processes work\n');
  return child;
}

beforeAll(async () => {
  servers = await Promise.all([ownVirtualHost(), startRedis()]);
  env = {
    BERTH_BUS_URL: servers[0]?.url ?? '',
    BERTH_STORE_URL: servers[1]?.url ?? '',
    BERTH_AGENT_HOST: 'host',
    BERTH_PLACEMENT_PORT: '0',
    BERTH_CONSOLE_PORT: '0',
  };
  up = await startUp();
});

afterAll(async () => {
  up?.process.kill('SIGTERM');
  await up?.exit;
  await Promise.all(servers.map((server) => server.stop()));
});

it('says that it is ready once every service runs', () => {
  for (const name of SERVICES) expect(up?.stdout()).toMatch(new RegExp(`^${name} .*"msg":"running"`, 'm'));
});

it('names a broker and a store that are away, and starts nothing', async () => {
  const [bus, store] = [await freePort(), await freePort()];
  const away = {
    BERTH_BUS_URL: `amqp://guest:secret@127.0.0.1:${bus}`,
    BERTH_STORE_URL: `redis://:secret@127.0.0.1:${store}`,
    BERTH_BUS_CONNECT_TIMEOUT_MS: '500',
  };
  const run = async (changed: Record<string, string>) => {
    const child = startChild(BERTH, ['up'], { ...env, ...changed });
    const { code } = await child.exit;
    return { code, out: child.stdout(), err: child.stderr() };
  };
  const noBroker = new RegExp(`no RabbitMQ at 127.0.0.1:${bus} within 500 ms .*; start it, or set BERTH_BUS_URL`);
  const noStore = new RegExp(`no Redis at redis://:\\*\\*\\*@127.0.0.1:${store} .*; start it, or set BERTH_STORE_URL`);
  const both = await run(away);
  expect(both).toEqual({ code: 3, out: '', err: expect.stringMatching(noBroker) });
  expect(both.err).toMatch(noStore);
  expect(both.err).not.toContain('secret');
  const { BERTH_BUS_URL: _, ...storeAway } = away;
  expect(await run(storeAway)).toEqual({ code: 3, out: '', err: expect.stringMatching(noStore) });
});

it('builds from outside, shows what it built, and gives it back', async () => {
  const request = ['--vcpu', '2', '--memory-mb', '512', '--group', 'web:anti-affinity', '--count', '2'];
  const built = await berthJson<{ uuid: string; state: string; host: string }[]>('build', ...request, '--wait');
  expect(built.map(({ state }) => state)).toEqual(['ACTIVE', 'ACTIVE']);
  expect(new Set(built.map(({ host }) => host)).size).toBe(2);
  const uuid = built[0]?.uuid ?? '';
  expect(await berthJson('instance', 'show', uuid)).toMatchObject({ uuid, state: 'ACTIVE', host: built[0]?.host });
  expect((await berth('terminate', uuid, '--wait')).out).toBe(`${uuid} is deleted\n`);
  expect(await berthJson('instance', 'list', '--state', 'active')).toHaveLength(1);
});

it('ends with 1 and says why when an instance cannot be placed', async () => {
  const { code, out } = await berth('build', '--vcpu', '1000', '--wait');
  expect(out).toMatch(/ERROR +no_valid_host: the largest host has \d+ VCPU: 1000 can never fit. 0 of 3 hosts fit/);
  expect(code).toBe(1);
  const explained = await berth('explain', '--vcpu', '1000', '--host', 'host-1');
  expect(explained).toMatchObject({ code: 1, out: expect.stringMatching(/host-1 +no .*VCPU/) });
});

it('shows hosts and builds at a glance', async () => {
  const { code, out } = await berth('top', '--once', '--sort', 'name');
  expect(out).toMatch(/^hosts 3: 3 up\n/);
  expect(out).toMatch(/\nhost-1 +up +\S+ +\d.*\nhost-2 /);
  expect(code).toBe(0);
});

it('lists hosts as names, as YAML, and with amounts', async () => {
  expect(await berth('host', 'list', '-o', 'name')).toMatchObject({ code: 0, out: 'host-1\nhost-2\nhost-3\n' });
  expect((await berth('host', 'list', '--output', 'yaml')).out).toMatch(/^- host: host-1\n/);
  expect((await berth('host', 'list', '-o', 'wide')).out).toMatch(/\nhost-1 .* \d+ of [\d,]+ /);
});

it('takes a host out of service and back', async () => {
  expect((await berth('host', 'disable', 'host-2', '--reason', 'new disk')).out).toBe('host-2 is disabled\n');
  const hosts = await berthJson<{ host: string; enabled: boolean }[]>('host', 'list');
  expect(hosts.map(({ host, enabled }) => `${host} ${enabled}`)).toEqual([
    'host-1 true',
    'host-2 false',
    'host-3 true',
  ]);
  expect((await berth('build', '--vcpu', '1', '--host', 'host-2', '--wait')).out).toContain('host_disabled');
  expect((await berth('host', 'enable', 'host-2')).out).toBe('host-2 is up\n');
  expect(await berth('host', 'show', 'host-9')).toMatchObject({ code: 4 });
});

it('shows what is in doubt, and takes no word of an operator on anything else', async () => {
  expect((await berth('audit')).out).toBe('nothing is in doubt\n');
  const audit = await berthJson<{ doubts: unknown[]; storeBornAtMs: number; storeJumpsAtMs: unknown[] }>('audit');
  expect(audit).toMatchObject({ doubts: [], storeJumpsAtMs: [] });
  expect(audit.storeBornAtMs).toBeGreaterThan(0);
  for (const action of ['adopt', 'destroy']) {
    const { code, err } = await berth('instance', action, randomUUID(), '--host', 'host-1');
    expect([code, err]).toEqual([4, expect.stringContaining('no report of host-1 has instance')]);
  }
});

it('shows through its placement API what the instances hold', async () => {
  const url = urlIn(up, 'api_listening', 'placement-api-1 ');
  const ask = (...args: string[]) => berth(...args, '--placement-url', url);
  const [built] = await berthJson<{ uuid: string; host: string }[]>('build', '--vcpu', '1', '--wait');
  const held = await ask('allocation', 'show', built?.uuid ?? '');
  expect(held).toMatchObject({ code: 0, out: expect.stringMatching(new RegExp(`${built?.host} .* VCPU +1\\n`)) });
  expect((await ask('provider', 'show', built?.host ?? '')).out).toContain(`\n${built?.uuid}  VCPU 1\n`);
  expect((await ask('candidates', '--resources', 'VCPU:1')).out).toMatch(/#1 +host-\d /);
});

it('serves its console', async () => {
  const url = urlIn(up, 'console_listening', 'console ');
  const session = await fetch(`${url}/api/session`);
  expect(await session.json()).toMatchObject({ userId: 'admin', mayAct: true });
  const explained = await fetch(`${url}/api/explain?resources=VCPU:1000`);
  expect(await explained.json()).toMatchObject({ considered: 3, passed: 0 });
});

it('stops an instance and starts it again', async () => {
  const [built] = await berthJson<{ uuid: string }[]>('build', '--vcpu', '1', '--wait');
  const uuid = built?.uuid ?? '';
  expect(await berth('instance', 'stop', uuid, '--wait')).toMatchObject({ code: 0, out: `${uuid} is STOPPED\n` });
  expect((await berth('instance', 'list', '--state', 'stopped')).out).toContain(uuid);
  expect(await berth('instance', 'start', uuid, '--wait')).toMatchObject({ code: 0, out: `${uuid} is ACTIVE\n` });
  expect(await berth('instance', 'evacuate', uuid)).toMatchObject({ err: expect.stringContaining('host_alive') });
});

it('follows events until it has as many as asked for', async () => {
  const events = startChild(BERTH, ['events', '--state', 'ACTIVE', '--count', '1', '--json'], env);
  await events.says('listening');
  const [built] = await berthJson<{ uuid: string }[]>('build', '--vcpu', '1', '--wait');
  expect(await events.exit).toEqual({ code: 0, signal: null });
  expect(JSON.parse(events.stdout())).toMatchObject({ uuid: built?.uuid, state: 'ACTIVE' });
});

it('stops every service cleanly on Ctrl-C, and the others when one of them dies', async () => {
  up?.process.kill('SIGINT');
  expect(await up?.exit).toEqual({ code: 0, signal: null });
  for (const name of SERVICES) expect(up?.stdout()).toMatch(new RegExp(`^${name} .*"outcome":"clean"`, 'm'));

  up = await startUp();
  const pid = /^conductor-1 .*"pid":(\d+)/m.exec(up.stdout())?.[1];
  process.kill(Number(pid), 'SIGKILL');
  expect(await up.exit).toEqual({ code: 1, signal: null });
  expect(up.stderr()).toContain('conductor-1 ended by itself (SIGKILL)');
});
