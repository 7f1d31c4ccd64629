import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { readPid } from '../../../services/compute-agent/drivers/process/instance-folder';
import { isAlive } from '../../../services/compute-agent/drivers/process/proc';
import { type OwnVirtualHost, ownVirtualHost } from '../../shared-servers';
import { eventually } from '../test-cell';

/* An agent is killed while its instances, processes of this machine, run on. They are evacuated, by hand and by policy. */

const HOSTS = ['host-1', 'host-2'] as const;
const LIMIT = { timeoutMs: 90_000 };
const SPEC = { projectId: 'demo', userId: 'me', resources: { VCPU: 1, MEMORY_MB: 16 } };

let credentials: DeployedCredentials;
let broker: OwnVirtualHost;
let redis: TestServer;
let root: string;
let client: Client;
const children = new Map<string, Child>();

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'berth-evacuation-'));
  credentials = deployedCredentials([...HOSTS.map((host) => `agent.${host}`), 'project.demo']);
  [broker, redis] = await Promise.all([ownVirtualHost(credentials), startRedis()]);
  await Promise.all([launch('scheduler', 'scheduler'), launch('conductor', 'conductor')]);
  await launchAgent('host-1');
  client = await connect({ url: credentials.brokerUrl('operator', broker.port) });
});

afterAll(async () => {
  const uuids = (await client?.instances().catch(() => [])) ?? [];
  await Promise.all(uuids.map(({ uuid }) => client.terminateAndWait(uuid, LIMIT).catch(() => {})));
  await client?.close();
  for (const child of children.values()) child.process.kill('SIGTERM');
  await Promise.all([...children.values()].map(({ exit }) => exit));
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials?.remove();
  if (root) rmSync(root, { recursive: true, force: true });
});

async function launch(service: string, user: string, settings: Readonly<Record<string, string>> = {}): Promise<void> {
  const child = startChild('services/cli/main.ts', [service], {
    BERTH_BUS_URL: credentials.brokerUrl(user, broker.port),
    BERTH_STORE_URL: redis.url,
    BERTH_SCHEDULER_HOST_TIMEOUT_MS: '3000',
    BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '1000',
    BERTH_CONDUCTOR_AUDIT_GRACE_MS: '500',
    BERTH_CONDUCTOR_REBUILD_AFTER_MS: '1000',
    BERTH_CONDUCTOR_POWER_TIMEOUT_MS: '2000',
    ...settings,
  });
  children.set(user, child);
  await child.says('"msg":"running"');
}

function launchAgent(host: string): Promise<void> {
  return launch('compute-agent', `agent.${host}`, {
    BERTH_AGENT_HOST: host,
    BERTH_AGENT_DRIVER: 'process',
    BERTH_AGENT_STATE_DIR: join(root, host),
    BERTH_AGENT_INVENTORY: 'VCPU=8,MEMORY_MB=512',
    BERTH_AGENT_PROVIDERS: '',
    BERTH_AGENT_PROCESS_COMMAND: 'sleep 3600',
    BERTH_AGENT_REPORT_INTERVAL_MS: '500',
    BERTH_AGENT_REPORT_MIN_INTERVAL_MS: '100',
  });
}

async function build(rebuildPolicy: 'never' | 'evacuate'): Promise<string> {
  const [event] = await client.buildAndWait({ spec: { ...SPEC, rebuildPolicy } }, LIMIT);
  expect(event).toMatchObject({ state: 'active' });
  return event?.instanceUuid ?? '';
}

/** The hosts on which a process of an instance runs, by its pid files. */
async function runsOn(uuid: string): Promise<string[]> {
  const hosts = await Promise.all(
    HOSTS.map(async (host) => {
      const path = join(root, host, host, 'instances', uuid);
      const id = await readPid({ path, pidFile: join(path, 'pid'), work: '' });
      return id && (await isAlive(id)) ? [host] : [];
    }),
  );
  return hosts.flat();
}

it('has instances of a killed agent run elsewhere as they were, and only there when it is back', async () => {
  const [byHand, stopped, byPolicy] = [await build('never'), await build('never'), await build('evacuate')];
  await client.operateAndWait(stopped, 'stop', LIMIT);
  await launchAgent('host-2');
  await expect(client.operate(byHand, 'evacuate')).rejects.toMatchObject({ reason: 'host_alive' });

  children.get('agent.host-1')?.process.kill('SIGKILL');
  await children.get('agent.host-1')?.exit;
  await eventually(
    'its policy has it evacuated',
    async () => (await client.instance(byPolicy)).host === 'host-2',
    60_000,
  );
  expect(await client.wait(byPolicy, ['active'], LIMIT)).toMatchObject({ host: 'host-2' });
  await eventually('the others are unknown', async () => (await client.instance(byHand)).state === 'unknown', 60_000);

  await eventually(
    'the host is dead',
    () =>
      client.operate(byHand, 'evacuate').then(
        () => true,
        () => false,
      ),
    60_000,
  );
  expect(await client.wait(byHand, ['active'], LIMIT)).toMatchObject({ host: 'host-2' });
  expect(await client.operateAndWait(stopped, 'evacuate', LIMIT)).toMatchObject({ state: 'stopped', host: 'host-2' });
  // Nobody has switched the machine off.
  expect(await runsOn(byHand)).toEqual(['host-1', 'host-2']);
  expect(await runsOn(stopped)).toEqual([]);
  const { attempts } = await client.instance(stopped);
  expect(attempts.map(({ host, outcome }) => `${host} ${outcome}`)).toEqual(['host-1 evacuated', 'host-2 active']);

  await launchAgent('host-1');
  for (const uuid of [byHand, byPolicy]) {
    await eventually('only the new host has it', async () => String(await runsOn(uuid)) === 'host-2', 60_000);
  }
  expect(await client.operateAndWait(stopped, 'start', LIMIT)).toMatchObject({ state: 'active', host: 'host-2' });
  expect(await client.instances({ host: 'host-2' })).toHaveLength(3);
});

it('shelves an instance and unshelves it, and drains a host, whose agent is then killed, into being deleted', async () => {
  const uuid = await build('never');
  expect(await client.operateAndWait(uuid, 'shelve', LIMIT)).toMatchObject({ state: 'shelved_offloaded', host: '' });
  expect(await runsOn(uuid)).toEqual([]);
  expect(await client.instances({ state: 'shelved_offloaded' })).toHaveLength(1);
  const { host } = await client.operateAndWait(uuid, 'unshelve', LIMIT);
  expect(await runsOn(uuid)).toEqual([host]);

  await expect(client.deleteHost(host)).rejects.toMatchObject({ reason: 'host_has_instances' });
  await client.setHostEnabled(host, false, 'drained');
  const there = await client.instances({ host });
  // An instance without a host yet, because the other has just come back, is requested again.
  const moveAway = async () => {
    const left = await client.instances({ host });
    const idle = left.filter(({ state, migration }) => state === 'active' && migration === undefined);
    for (const one of idle) await client.operate(one.uuid, 'migrate', { confirmAfterMs: 1 });
    return left.length === 0;
  };
  await eventually('the host is empty', moveAway, 60_000);
  await eventually('nothing is kept there', async () => {
    const views = await Promise.all(there.map((one) => client.instance(one.uuid)));
    return views.every(({ state, migration }) => state === 'active' && migration === undefined);
  });
  await expect(client.deleteHost(host)).rejects.toMatchObject({ reason: 'host_alive' });
  const agent = children.get(`agent.${host}`);
  agent?.process.kill('SIGKILL');
  await agent?.exit;
  const isDeleted = () =>
    client.deleteHost(host).then(
      () => true,
      () => false,
    );
  await eventually('the dead host is deleted', isDeleted, 60_000);
  // The schedulers learn of it a moment later.
  await eventually('nobody knows it', async () => (await client.hosts()).every((one) => one.host !== host));

  await launchAgent(host);
  await eventually(
    'its agent is back with it',
    async () => (await client.hosts()).some((one) => one.host === host),
    60_000,
  );
  // Its agent remembers that it was disabled.
  expect(await client.setHostEnabled(host, true)).toMatchObject({ enabled: true });
  const [event] = await client.buildAndWait({ spec: { ...SPEC, forceHosts: [host] } }, LIMIT);
  expect(event?.fault?.message ?? '').toBe('');
  expect(event).toMatchObject({ state: 'active', host });
});
