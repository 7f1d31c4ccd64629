import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '#libs/domain/clock';
import { systemClock } from '#libs/runtime/system';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { runLine } from '../../../services/cli/testing/run-line';
import { RedfishSimulator } from '../../../services/compute-agent/testing/redfish-simulator';

/* `berth agent enrol` and `berth project credentials` on a broker with the deployed users, and what these can do then. */

const BERTH = 'services/cli/main.ts';

let credentials: DeployedCredentials;
let broker: RabbitmqServer;
let redis: TestServer;
const children: Child[] = [];
const ended: (() => Promise<void>)[] = [];
const clock = systemClock();

beforeAll(async () => {
  credentials = deployedCredentials();
  const config = { load_definitions: credentials.definitionsFile };
  [broker, redis] = await Promise.all([startRabbitmq({ hasManagement: true, config }), startRedis()]);
  for (const name of ['scheduler', 'conductor']) {
    const env = { BERTH_BUS_URL: urlOf(name), BERTH_STORE_URL: redis.url };
    await running(startChild(BERTH, [name], env));
  }
});
afterAll(async () => {
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  for (const end of ended) await end();
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials.remove();
});

const urlOf = (user: string) => credentials.brokerUrl(user, broker.port);

async function running(child: Child): Promise<void> {
  children.push(child);
  await child.says('"msg":"running"');
}

async function berth(busUrl: string, ...args: string[]) {
  const env = { BERTH_BUS_URL: busUrl, BERTH_BROKER_MANAGEMENT_URL: broker.managementUrl ?? '' };
  const { code, out, err } = await runLine([...args, '--json'].join(' '), env);
  return { code, err, json: out === '' ? undefined : (JSON.parse(out) as unknown) };
}

async function issued(...args: string[]): Promise<string> {
  const { code, err, json } = await berth(urlOf('operator'), ...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return (json as { busUrl: string }).busUrl;
}

it('enrols a host and a project, which then do all that is theirs and nothing else', async () => {
  const agentUrl = await issued('agent', 'enrol', 'host-1');
  await running(startChild(BERTH, ['compute-agent'], { BERTH_BUS_URL: agentUrl, BERTH_AGENT_HOST: 'host-1' }));
  const demo = await issued('project', 'credentials', 'demo');
  const other = await issued('project', 'credentials', 'other');

  const build = ['build', '--vcpu', '1', '--memory-mb', '64', '--wait'];
  const built = await berth(demo, ...build);
  expect(built).toMatchObject({ code: 0, json: [{ state: 'ACTIVE', host: 'host-1', projectId: 'demo' }] });
  const uuid = (built.json as { uuid: string }[])[0]?.uuid ?? '';
  expect(await berth(demo, 'instance', 'show', uuid)).toMatchObject({ code: 0, json: { uuid } });
  expect(await berth(demo, 'explain', '--vcpu', '1')).toMatchObject({ code: 0 });

  expect(await berth(other, 'instance', 'list')).toMatchObject({ code: 0, json: [] });
  expect(await berth(other, 'instance', 'list', '--project', 'demo')).toMatchObject({ code: 4 });
  const unseen = await berth(other, 'terminate', uuid);
  expect(unseen).toMatchObject({ code: 4, err: expect.stringContaining('no_such_instance') });
  const refused = await berth(other, ...build, '--project', 'demo', '--timeout', '20');
  expect(refused).toMatchObject({ code: 4 });
  expect(refused.err).toContain('wrong_project');
  for (const args of [
    ['host', 'list'],
    ['host', 'disable', 'host-1'],
    ['explain', '--vcpu', '1', '--project', 'demo'],
  ])
    expect(await berth(other, ...args)).toMatchObject({ code: 4 });
  expect(await berth(urlOf('operator'), 'host', 'list')).toMatchObject({
    code: 0,
    json: [{ host: 'host-1', up: true }],
  });

  expect(await berth(demo, 'terminate', uuid, '--wait')).toMatchObject({ code: 0 });
});

it('enrols agents of a pool, which hand nodes with their instances on, and touch nothing else', async () => {
  const pool = await startRack();
  const started = async (host: string) => {
    const busUrl = await issued('agent', 'enrol', host, '--pool', 'metal');
    expect(new URL(busUrl).username).toBe(`pool-metal.${host}`);
    const child = startChild(BERTH, ['compute-agent'], {
      ...pool.settings,
      BERTH_BUS_URL: busUrl,
      BERTH_AGENT_HOST: host,
    });
    await running(child);
    return child;
  };
  const first = await started('metal-a');
  const built = await berth(urlOf('operator'), 'build', '--resource', 'CUSTOM_BAREMETAL_GOLD=1', '--wait');
  expect(built).toMatchObject({ code: 0, json: [{ state: 'ACTIVE', host: expect.stringMatching(/^node-/) }] });
  const { uuid, host } = (built.json as { uuid: string; host: string }[])[0] ?? { uuid: '', host: '' };

  await started('metal-b');
  first.process.kill('SIGKILL');
  await first.exit;
  await eventually(async () => {
    const { json } = await berth(urlOf('operator'), 'node', 'list');
    const managers = (json as { serviceHost?: string }[]).map(({ serviceHost }) => serviceHost);
    return managers.length === 2 && managers.every((manager) => manager === 'metal-b');
  });
  expect(await berth(urlOf('operator'), 'terminate', uuid, '--wait')).toMatchObject({ code: 0 });
  expect(pool.simulator.system(host).boots[0]).toBe('Pxe');

  const dead = await issued('agent', 'enrol', 'metal-a', '--pool', 'metal');
  // The broker closes a channel after a forbidden publication.
  for (const args of [
    ['host', 'list'],
    ['node', 'list'],
    ['node', 'power', host, 'off'],
    ['instance', 'list'],
  ])
    expect(await berth(dead, ...args)).toMatchObject({ code: 3, json: undefined });
  expect((await berth(urlOf('operator'), 'agent', 'enrol', 'metal-a')).err).toContain('host_enrolled');
  expect((await berth(urlOf('operator'), 'agent', 'enrol', 'metal-b', '--pool', 'rack.7')).code).toBe(2);
});

/** Two nodes, with the agents' settings for them. */
async function startRack() {
  const nodes = ['node-1', 'node-2'];
  const simulator = await RedfishSimulator.start({ nodes, bootMs: 200 });
  const folder = mkdtempSync(join(tmpdir(), 'berth-enrol-'));
  const file = nodes.map((name) => ({ name, class: 'GOLD', redfish: simulator.systemUrl(name) }));
  writeFileSync(join(folder, 'nodes.json'), JSON.stringify(file));
  ended.push(async () => {
    await simulator.stop();
    rmSync(folder, { recursive: true });
  });
  const settings = {
    BERTH_AGENT_DRIVER: 'baremetal',
    BERTH_AGENT_POOL: 'metal',
    BERTH_AGENT_NODES: join(folder, 'nodes.json'),
    BERTH_AGENT_NODE_START: 'available',
    BERTH_AGENT_NODE_POLL_MS: '50',
    BERTH_AGENT_REDFISH_PASSWORD: 'secret',
    BERTH_AGENT_REPORT_INTERVAL_MS: '2000',
    BERTH_AGENT_REPORT_MIN_INTERVAL_MS: '100',
  };
  return { simulator, settings };
}

async function eventually(isTrue: () => Promise<boolean>): Promise<void> {
  const untilMs = clock.elapsed() + 60_000;
  while (!(await isTrue())) {
    if (clock.elapsed() > untilMs) throw new Error('it did not come to this');
    await sleep(clock, 200);
  }
}

it('renews a password, and revokes a user with its connections', async () => {
  const first = await issued('project', 'credentials', 'short-lived');
  const second = await issued('project', 'credentials', 'short-lived');
  expect((await berth(first, 'instance', 'list')).err).toContain('broker_refused');
  expect(await berth(second, 'instance', 'list')).toMatchObject({ code: 0 });
  const listening = startChild(BERTH, ['events'], { BERTH_BUS_URL: second });
  await listening.says('listening');
  const revoked = await berth(urlOf('operator'), 'project', 'credentials', 'short-lived', '--revoke');
  expect(revoked).toMatchObject({ code: 0, json: { user: 'project.short-lived', revoked: true } });
  expect((await berth(second, 'instance', 'list')).err).toContain('broker_refused');
  const connections = await broker.eval('rabbit_networking:connection_info_all([user])');
  expect(connections).not.toContain('short-lived');
  listening.process.kill('SIGINT');
  await listening.exit;
});

it('gives no second user to a host', async () => {
  await issued('agent', 'enrol', 'rack', '--carries');
  expect((await berth(urlOf('operator'), 'agent', 'enrol', 'rack-3')).err).toContain('host_enrolled');
  expect((await berth(urlOf('operator'), 'agent', 'enrol', 'rack')).err).toContain('host_enrolled');
  await issued('agent', 'enrol', 'shelf-3');
  expect((await berth(urlOf('operator'), 'agent', 'enrol', 'shelf', '--carries')).err).toContain('host_enrolled');
  expect((await berth(urlOf('operator'), 'agent', 'enrol', 'no/host')).code).toBe(2);
});

it('needs an administrator of the broker', async () => {
  const { code, err } = await berth(urlOf('scheduler'), 'project', 'credentials', 'mine');
  expect(code).toBe(4);
  expect(err).toContain('permission_denied');
});
