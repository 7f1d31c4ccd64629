import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import { drainHost } from '#libs/client/drain/drain-host';
import { migrationUuidOf } from '#libs/domain/moves/migration';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { type OwnVirtualHost, ownVirtualHost } from '../shared-servers';
import { eventually } from './test-cell';

/* Resizes and migrations between two agents, on a real broker with the permissions of the deployment, and a real Redis. */

const SPEC = { projectId: 'demo', userId: 'me', resources: { VCPU: 1, MEMORY_MB: 64 } };
const LIMIT = { timeoutMs: 20_000 };

let credentials: DeployedCredentials;
let broker: OwnVirtualHost;
let redis: TestServer;
let placement: PlacementStore;
let tenant: Client & { close(): Promise<void> };
let operator: Client & { close(): Promise<void> };
let conductor: Child;
const children: Child[] = [];

async function launch(name: string, user: string, env: Readonly<Record<string, string>> = {}): Promise<Child> {
  const urls = { BERTH_BUS_URL: credentials.brokerUrl(user, broker.port), BERTH_STORE_URL: redis.url };
  const settings = {
    BERTH_CONDUCTOR_DUE_INTERVAL_MS: '200',
    BERTH_CONDUCTOR_SCHEDULING_TIMEOUT_MS: '2000',
    BERTH_CONDUCTOR_POWER_TIMEOUT_MS: '3000',
    BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '10000',
  };
  const child = startChild('services/cli/main.ts', [name], {
    ...urls,
    ...(name === 'conductor' ? settings : {}),
    ...env,
  });
  children.push(child);
  await child.says('"msg":"running"');
  return child;
}

beforeAll(async () => {
  credentials = deployedCredentials(['agent.host-1', 'agent.host-2', 'project.demo', 'project.other']);
  [broker, redis] = await Promise.all([ownVirtualHost(credentials), startRedis()]);
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  placement = await openPlacementStore(readConfig(placementOptions, { BERTH_STORE_URL: redis.url }), around);
  await launch('scheduler', 'scheduler');
  conductor = await launch('conductor', 'conductor');
  const slow = { BERTH_AGENT_FAKE_LATENCY_MS: '700' };
  // The second host's instances change faster than they are copied.
  await launch('compute-agent', 'agent.host-1', { BERTH_AGENT_HOST: 'host-1', ...slow });
  await launch('compute-agent', 'agent.host-2', {
    BERTH_AGENT_HOST: 'host-2',
    BERTH_AGENT_FAKE_DIRTY_RATE: '1',
    ...slow,
  });
  tenant = await connect({ url: credentials.brokerUrl('project.demo', broker.port), retryForMs: 60_000 });
  operator = await connect({ url: credentials.brokerUrl('operator', broker.port), retryForMs: 60_000 });
});
afterAll(async () => {
  for (const child of children) child.process.kill('SIGKILL');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.allSettled([tenant?.close(), operator?.close(), placement?.close()]);
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials?.remove();
});

async function anInstance(): Promise<string> {
  const [built] = await tenant.buildAndWait({ spec: SPEC }, LIMIT);
  expect(built).toMatchObject({ state: 'active' });
  return built?.instanceUuid ?? '';
}

/** The allocations of an instance and of its migration. */
async function held(uuid: string): Promise<unknown[]> {
  const claims = await placement.consumers([uuid, migrationUuidOf(uuid)]);
  return [uuid, migrationUuidOf(uuid)].map((one) => {
    const [resources] = Object.values(claims.find((claim) => claim.uuid === one)?.allocations ?? {});
    return resources;
  });
}

it('resizes as a tenant: both sizes are held until it is confirmed, and the old one again when it is reverted', async () => {
  const uuid = await anInstance();
  const resizeTo = { resources: { VCPU: 2, MEMORY_MB: 128 } };
  expect(await tenant.operateAndWait(uuid, 'resize', { resizeTo, ...LIMIT })).toMatchObject({ state: 'verify_resize' });
  expect(await held(uuid)).toEqual([resizeTo.resources, SPEC.resources]);
  expect(await tenant.instance(uuid)).toMatchObject({ migration: { kind: 'resize', uuid: migrationUuidOf(uuid) } });
  expect(await tenant.operateAndWait(uuid, 'revert', LIMIT)).toMatchObject({ state: 'active', fault: undefined });
  expect(await held(uuid)).toEqual([SPEC.resources, undefined]);
  await tenant.operateAndWait(uuid, 'resize', { resizeTo, ...LIMIT });
  expect(await tenant.operateAndWait(uuid, 'confirm', LIMIT)).toMatchObject({ state: 'active' });
  await eventually('only the new size is held', async () => (await held(uuid))[1] === undefined);
  expect(await held(uuid)).toEqual([resizeTo.resources, undefined]);
  expect((await tenant.instance(uuid)).requestSpec.resources).toEqual(resizeTo.resources);
  await tenant.terminateAndWait(uuid, LIMIT);
});

it('migrates for operators only, and the conductor may die in the middle of it', async () => {
  const uuid = await anInstance();
  await expect(tenant.operate(uuid, 'migrate')).rejects.toMatchObject({ reason: 'services_only' });
  const { host } = await operator.instance(uuid);
  const other = host === 'host-1' ? 'host-2' : 'host-1';
  await expect(operator.operate(uuid, 'migrate', { targetHost: host })).rejects.toMatchObject({ reason: 'same_host' });
  expect(await operator.operate(uuid, 'migrate', { targetHost: other, confirmAfterMs: 1_000 })).toMatchObject({
    state: 'resize',
  });
  conductor.process.kill('SIGKILL');
  conductor = await launch('conductor', 'conductor');
  // If the order to its source was lost with the conductor, it times out and goes back, with a fault.
  await eventually('it runs on the other host, confirmed by itself; or on its own, with the reason', async () => {
    const now = await operator.instance(uuid);
    const isAsSaid = now.host === (now.fault ? host : other);
    return now.state === 'active' && isAsSaid && now.migration === undefined;
  });
  expect(await held(uuid)).toEqual([SPEC.resources, undefined]);
  await tenant.terminateAndWait(uuid, LIMIT);
});

it('migrates live where what runs changes slowly enough, and else leaves it where it is', async () => {
  const uuid = await anInstance();
  const { host } = await operator.instance(uuid);
  if (host === 'host-2') {
    await operator.operateAndWait(uuid, 'migrate', { targetHost: 'host-1', ...LIMIT });
    await operator.operateAndWait(uuid, 'confirm', LIMIT);
    await eventually('nothing of it is left', async () => (await operator.instance(uuid)).migration === undefined);
  }
  const there = await operator.operateAndWait(uuid, 'live_migrate', LIMIT);
  expect(there).toMatchObject({ state: 'active', host: 'host-2', fault: undefined });
  await eventually('nothing of it is left', async () => (await operator.instance(uuid)).migration === undefined);
  const back = await operator.operateAndWait(uuid, 'live_migrate', LIMIT);
  expect(back).toMatchObject({ state: 'active', host: 'host-2', fault: { reason: 'migration_not_converging' } });
  expect(await held(uuid)).toEqual([SPEC.resources, undefined]);
  await tenant.terminateAndWait(uuid, LIMIT);
});

it('moves what is stopped, which stays so until it is started where it is then', async () => {
  const uuid = await anInstance();
  await tenant.operateAndWait(uuid, 'stop', LIMIT);
  const { host } = await operator.instance(uuid);
  const other = host === 'host-1' ? 'host-2' : 'host-1';
  await expect(operator.operate(uuid, 'live_migrate')).rejects.toMatchObject({ reason: 'instance_state' });
  expect(await operator.operateAndWait(uuid, 'migrate', LIMIT)).toMatchObject({ state: 'verify_resize', host: other });
  expect(await held(uuid)).toEqual([SPEC.resources, SPEC.resources]);
  expect(await tenant.operateAndWait(uuid, 'revert', LIMIT)).toMatchObject({ state: 'stopped', host });
  expect(await held(uuid)).toEqual([SPEC.resources, undefined]);

  const resizeTo = { resources: { VCPU: 2, MEMORY_MB: 128 } };
  expect(await tenant.operateAndWait(uuid, 'resize', { resizeTo, ...LIMIT })).toMatchObject({ state: 'verify_resize' });
  expect(await tenant.operateAndWait(uuid, 'confirm', LIMIT)).toMatchObject({ state: 'stopped', fault: undefined });
  await eventually('only the new size is held', async () => (await held(uuid))[1] === undefined);
  expect(await held(uuid)).toEqual([resizeTo.resources, undefined]);
  expect(await tenant.operateAndWait(uuid, 'start', LIMIT)).toMatchObject({ state: 'active' });
  await tenant.terminateAndWait(uuid, LIMIT);
});

it('drains a host of what runs there and of what is stopped', async () => {
  const all = [await anInstance(), await anInstance(), await anInstance(), await anInstance()];
  const [stopped = ''] = all;
  await tenant.operateAndWait(stopped, 'stop', LIMIT);
  const { host } = await operator.instance(stopped);
  const other = host === 'host-1' ? 'host-2' : 'host-1';
  const signal = new AbortController().signal;
  const parts = { client: operator, clock: systemClock(), signal, onProgress: () => {} };
  const drained = await drainHost(parts, { host, reason: 'disks', parallel: 2, timeoutMs: LIMIT.timeoutMs });
  expect(drained.filter(({ stays }) => stays !== undefined)).toEqual([]);
  await eventually('nothing is left there', async () => (await vcpusClaimedOn(host)) === 0);
  expect(await operator.instance(stopped)).toMatchObject({ state: 'stopped', host: other, migration: undefined });
  expect(await tenant.operateAndWait(stopped, 'start', LIMIT)).toMatchObject({ state: 'active', host: other });
  await operator.setHostEnabled(host, true);
  await Promise.all(all.map((uuid) => tenant.terminateAndWait(uuid, LIMIT)));
});

/** The claimed VCPUs of a host. */
async function vcpusClaimedOn(name: string): Promise<number | undefined> {
  return (await operator.hosts()).find(({ host }) => host === name)?.resources['VCPU']?.used;
}

it('terminates what is being moved on both sides', async () => {
  const uuid = await anInstance();
  await operator.operateAndWait(uuid, 'migrate', LIMIT);
  expect(await tenant.terminateAndWait(uuid, LIMIT)).toMatchObject({ state: 'deleted' });
  await eventually(
    'nothing is held',
    async () => (await placement.consumers([uuid, migrationUuidOf(uuid)])).length === 0,
  );
});
