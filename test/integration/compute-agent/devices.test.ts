import { join } from 'node:path';
import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import type { DeviceRequest } from '#libs/domain/devices/device-request';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aDeviceRequest } from '#libs/testing/placement/hosts/devices';
import { contentsOf } from '#libs/testing/placement/placement';
import { violationsOf } from '#libs/testing/placement/placement-invariants';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { type OwnVirtualHost, ownVirtualHost } from '../../shared-servers';
import { eventually } from '../test-cell';

/* Hosts with devices, from their agents' reports to what is claimed and refused, under the permissions of a deployment. */

let credentials: DeployedCredentials;
let broker: OwnVirtualHost;
let redis: TestServer;
let store: PlacementStore;
let operator: Client;
const children: Child[] = [];
const urlOf = (user: string) => credentials.brokerUrl(user, broker.port);

async function start(name: string, env: Readonly<Record<string, string>>): Promise<Child> {
  const child = startChild('services/cli/main.ts', [name], env);
  children.push(child);
  await child.says('"msg":"running"');
  return child;
}

function startAgent(host: string, devices: string): Promise<Child> {
  return start('compute-agent', {
    BERTH_BUS_URL: urlOf(`agent.${host}`),
    BERTH_AGENT_HOST: host,
    BERTH_AGENT_PROVIDERS: 'card CUSTOM_SLICE=2',
    BERTH_AGENT_DEVICES: devices,
    BERTH_AGENT_REPORT_INTERVAL_MS: '500',
    BERTH_AGENT_REPORT_MIN_INTERVAL_MS: '100',
  });
}

beforeAll(async () => {
  credentials = deployedCredentials(['agent.host-1', 'agent.host-2']);
  [broker, redis] = await Promise.all([
    ownVirtualHost(credentials),
    startRedis({
      shipped: { configFile: join(__dirname, '../../../deploy/redis/redis.conf'), aclFile: credentials.aclFile },
    }),
  ]);
  const storeUrlOf = (user: string) => redis.url.replace('//', `//${user}:${credentials.passwordOf(user)}@`);
  for (const name of ['scheduler', 'conductor']) {
    await start(name, { BERTH_BUS_URL: urlOf(name), BERTH_STORE_URL: storeUrlOf(name) });
  }
  await startAgent('host-1', 'gpu0 model=H100 driver=v535.1.0 capacity:memory=80Gi');
  await startAgent(
    'host-2',
    'card/half0 model=A100 consumes:CUSTOM_SLICE=1; card/half1 model=A100 consumes:CUSTOM_SLICE=1',
  );
  operator = await connect({ url: urlOf('operator') });
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const config = readConfig(placementOptions, { BERTH_STORE_URL: storeUrlOf('scheduler') });
  store = await openPlacementStore(config, around);
  await eventually('both hosts are there', async () => (await operator.hosts()).length === 2);
});
afterAll(async () => {
  await Promise.allSettled([operator?.close(), store?.close()]);
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials?.remove();
});

const MODEL = 'device.attributes["model"]';
const specWith = (...deviceRequests: readonly DeviceRequest[]) => {
  return { projectId: 'demo', userId: 'me', resources: { VCPU: 1 }, deviceRequests };
};
const EITHER = specWith(
  aDeviceRequest(
    'gpu',
    { selectors: [`${MODEL} == "H100" && device.attributes.driver >= semver("535.0.0")`] },
    { selectors: [`${MODEL} == "A100"`], count: 2 },
  ),
);

async function deviceUuids(host: string, ...names: readonly string[]): Promise<readonly string[]> {
  const [row] = await store.hosts([host]);
  return names.map((name) => nestedProviderUuid(row?.providerUuid ?? '', name));
}

it('gives an H100, else two A100, and says of the third request what is in use', async () => {
  const claims: unknown[] = [];
  for (const host of ['host-1', 'host-2']) {
    const [active] = await operator.buildAndWait({ spec: EITHER }, { timeoutMs: 60_000 });
    expect(active).toMatchObject({ state: 'active', host });
    claims.push((await store.consumers([active?.instanceUuid ?? '']))[0]?.mappings);
  }
  expect(claims).toMatchObject([
    { 'device:gpu/choice-1': await deviceUuids('host-1', 'gpu0') },
    { 'device:gpu/choice-2': await deviceUuids('host-2', 'half0', 'half1') },
  ]);
  const { diagnosis } = await operator.explain(EITHER);
  expect(diagnosis.summary).toContain('2 have all devices for gpu in use (device_taken_gpu)');
  expect(violationsOf(await contentsOf(store))).toEqual([]);
});

it('refuses an expression that can not be read, with its place', async () => {
  const spec = specWith(aDeviceRequest('gpu', { selectors: ['device.model =='] }));
  await expect(operator.explain(spec)).rejects.toMatchObject({
    reason: 'bad_selector',
    details: { field: 'request_spec.device_requests[0].first_available[0].selectors[0]' },
  });
  const [failed] = await operator.buildAndWait({ spec }, { timeoutMs: 60_000 });
  expect(failed?.fault?.message).toContain("selectors[0] can't be read");
});
