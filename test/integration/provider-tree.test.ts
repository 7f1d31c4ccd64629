import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { contentsOf } from '#libs/testing/placement/placement';
import { violationsOf } from '#libs/testing/placement/placement-invariants';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { type OwnVirtualHost, ownVirtualHost } from '../shared-servers';
import { eventually } from './test-cell';

/* A host with NUMA nodes and a GPU, from its agent's report to what is claimed, under the permissions of a deployment. */

let credentials: DeployedCredentials;
let broker: OwnVirtualHost;
let redis: TestServer;
let store: PlacementStore;
let operator: Client;
let stateDir: string;
const children: Child[] = [];
const urlOf = (user: string) => credentials.brokerUrl(user, broker.port);

async function start(name: string, env: Readonly<Record<string, string>>): Promise<Child> {
  const child = startChild('services/cli/main.ts', [name], env);
  children.push(child);
  await child.says('"msg":"running"');
  return child;
}

const NODES = 'numa0 VCPU=4,MEMORY_MB=2048,HW_NUMA_ROOT; numa1 VCPU=4,MEMORY_MB=2048,HW_NUMA_ROOT';

function startAgent(providers: string): Promise<Child> {
  return start('compute-agent', {
    BERTH_BUS_URL: urlOf('agent.host-1'),
    BERTH_AGENT_HOST: 'host-1',
    BERTH_AGENT_STATE_DIR: stateDir,
    BERTH_AGENT_INVENTORY: 'DISK_GB=100',
    BERTH_AGENT_PROVIDERS: providers,
    BERTH_AGENT_REPORT_INTERVAL_MS: '500',
    BERTH_AGENT_REPORT_MIN_INTERVAL_MS: '100',
  });
}

let agent: Child;

beforeAll(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'berth-provider-tree-'));
  credentials = deployedCredentials(['agent.host-1']);
  [broker, redis] = await Promise.all([
    ownVirtualHost(credentials),
    startRedis({
      shipped: { configFile: join(__dirname, '../../deploy/redis/redis.conf'), aclFile: credentials.aclFile },
    }),
  ]);
  const storeUrlOf = (user: string) => redis.url.replace('//', `//${user}:${credentials.passwordOf(user)}@`);
  for (const name of ['scheduler', 'conductor']) {
    await start(name, { BERTH_BUS_URL: urlOf(name), BERTH_STORE_URL: storeUrlOf(name) });
  }
  agent = await startAgent(`${NODES}; numa1/gpu VGPU=2`);
  operator = await connect({ url: urlOf('operator') });
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const config = readConfig(placementOptions, { BERTH_STORE_URL: storeUrlOf('scheduler') });
  store = await openPlacementStore(config, around);
});
afterAll(async () => {
  await Promise.allSettled([operator?.close(), store?.close()]);
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials?.remove();
  rmSync(stateDir, { recursive: true, force: true });
});

async function uuidOf(name: string): Promise<string> {
  const [host] = await store.hosts(['host-1']);
  return name === '' ? (host?.providerUuid ?? '') : nestedProviderUuid(host?.providerUuid ?? '', name);
}

const providerNames = async () => (await contentsOf(store)).providers.map(({ name }) => name).sort();
const WHO = { projectId: 'demo', userId: 'me' };

it('is claimed node by node, and a device that goes is kept until what runs on it ends', async () => {
  expect(await providerNames()).toEqual(['host-1', 'host-1:gpu', 'host-1:numa0', 'host-1:numa1']);
  const spec = {
    ...WHO,
    resources: { VCPU: 4, MEMORY_MB: 2_048, DISK_GB: 1 },
    preferredResources: { VGPU: 1 },
    extraSpecs: { 'hw:numa_nodes': '2' },
  };
  const [active] = await operator.buildAndWait({ spec }, { timeoutMs: 60_000 });
  expect(active).toMatchObject({ state: 'active', host: 'host-1' });
  const uuid = active?.instanceUuid ?? randomUUID();
  const [claim] = await store.consumers([uuid]);
  const half = { VCPU: 2, MEMORY_MB: 1_024 };
  expect(claim?.allocations).toEqual({
    [await uuidOf('')]: { DISK_GB: 1 },
    [await uuidOf('numa0')]: half,
    [await uuidOf('numa1')]: half,
    [await uuidOf('gpu')]: { VGPU: 1 },
  });

  agent.process.kill('SIGTERM');
  await agent.exit;
  await startAgent(NODES);
  await eventually('what is gone is shown', async () => (await operator.overAllocated()).length > 0);
  expect(await operator.overAllocated()).toMatchObject([
    { providerName: 'host-1:gpu', host: 'host-1', resourceClass: 'VGPU', used: 1, capacity: 0 },
  ]);
  const wantsGpu = { ...WHO, resources: { VCPU: 1, VGPU: 1 } };
  expect((await operator.explain(wantsGpu)).diagnosis.hostsPassed).toBe(0);
  expect(await store.consumers([uuid])).toEqual([claim]);

  await operator.terminate(uuid);
  await eventually('the device goes', async () => !(await providerNames()).includes('host-1:gpu'));
  expect(await providerNames()).toEqual(['host-1', 'host-1:numa0', 'host-1:numa1']);
  expect(violationsOf(await contentsOf(store))).toEqual([]);
});
