import { join } from 'node:path';
import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
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
import { runLine } from '../../services/cli/testing/run-line';
import { type OwnVirtualHost, ownVirtualHost } from '../shared-servers';

/* Flavors from the operator who makes them to the claim of what was built, under the permissions of a deployment. */

let credentials: DeployedCredentials;
let broker: OwnVirtualHost;
let redis: TestServer;
let store: PlacementStore;
let operator: Client;
let tenant: Client;
const children: Child[] = [];
const urlOf = (user: string) => credentials.brokerUrl(user, broker.port);

beforeAll(async () => {
  credentials = deployedCredentials(['agent.host-1', 'project.demo']);
  [broker, redis] = await Promise.all([
    ownVirtualHost(credentials),
    startRedis({
      shipped: { configFile: join(__dirname, '../../deploy/redis/redis.conf'), aclFile: credentials.aclFile },
    }),
  ]);
  const storeUrlOf = (user: string) => redis.url.replace('//', `//${user}:${credentials.passwordOf(user)}@`);
  for (const [name, user] of Object.entries({
    scheduler: 'scheduler',
    conductor: 'conductor',
    'compute-agent': 'agent.host-1',
  })) {
    const isAgent = name === 'compute-agent';
    const env = {
      BERTH_BUS_URL: urlOf(user),
      ...(isAgent ? AGENT : { BERTH_STORE_URL: storeUrlOf(user) }),
    };
    const child = startChild('services/cli/main.ts', [name], env);
    children.push(child);
    await child.says('"msg":"running"');
  }
  [operator, tenant] = await Promise.all(
    ['operator', 'project.demo'].map((user) => connect({ url: urlOf(user) })) as [Promise<Client>, Promise<Client>],
  );
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const config = readConfig(placementOptions, { BERTH_STORE_URL: storeUrlOf('scheduler') });
  store = await openPlacementStore(config, around);
});
afterAll(async () => {
  await Promise.allSettled([operator?.close(), tenant?.close(), store?.close()]);
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials?.remove();
});

const AGENT = {
  BERTH_AGENT_HOST: 'host-1',
  BERTH_AGENT_INVENTORY: 'VCPU=8,PCPU=8,MEMORY_MB=16384,VGPU=1',
  BERTH_AGENT_DEVICES: 'gpu0 class:CUSTOM_GPU model=H100; gpu1 class:CUSTOM_GPU model=H100',
};
const WHO = { projectId: 'demo', userId: 'me' };
const PINNED = {
  name: 'cpu.pinned',
  description: '',
  resources: { VCPU: 2, MEMORY_MB: 512 },
  extraSpecs: { 'hw:cpu_policy': 'dedicated', 'preferred_resources:VGPU': '1' },
};

it('builds from a flavor as it was then, and claims what it asks for and what it prefers', async () => {
  const { version } = await operator.createFlavor(PINNED);
  const spec = { ...WHO, flavor: { name: PINNED.name, version: 0 } };
  const events = await tenant.buildAndWait({ spec, count: 2 }, { timeoutMs: 60_000 });
  expect(events.map(({ state, host, fault }) => [state, host, fault])).toEqual([
    ['active', 'host-1', undefined],
    ['active', 'host-1', undefined],
  ]);
  await operator.updateFlavor(PINNED.name, { unsetExtraSpecs: ['hw:cpu_policy'] });
  await operator.deleteFlavor(PINNED.name);
  const uuids = events.map(({ instanceUuid }) => instanceUuid);
  for (const uuid of uuids) {
    const { requestSpec } = await tenant.instance(uuid);
    expect(requestSpec).toMatchObject({
      ...spec,
      flavor: { name: PINNED.name, version },
      extraSpecs: PINNED.extraSpecs,
    });
  }
  const claims = (await store.consumers(uuids)).flatMap(({ allocations }) => Object.values(allocations));
  expect(claims.sort((a, b) => Object.keys(b).length - Object.keys(a).length)).toEqual([
    { PCPU: 2, MEMORY_MB: 512, VGPU: 1 },
    { PCPU: 2, MEMORY_MB: 512 },
  ]);
  await expect(tenant.buildAndWait({ spec }, { timeoutMs: 60_000 })).rejects.toMatchObject({
    reason: 'no_such_flavor',
  });
});

it('builds with the devices of a flavor, within the quota on their kind', async () => {
  const extraSpecs = { 'device:gpu': 'class=CUSTOM_GPU,select=device.attributes.model == "H100"' };
  const flavor = { name: 'gpu.h100', description: '', resources: { VCPU: 1 }, extraSpecs };
  await expect(
    operator.createFlavor({ ...flavor, extraSpecs: { 'device:gpu': 'select=device.model ==' } }),
  ).rejects.toMatchObject({ reason: 'bad_selector', details: { field: 'flavor.extra_specs.device:gpu' } });
  await operator.createFlavor(flavor);
  await operator.setQuota('demo', { limits: { CUSTOM_GPU: 1 } });
  const spec = { ...WHO, flavor: { name: flavor.name, version: 0 } };
  const [active] = await tenant.buildAndWait({ spec }, { timeoutMs: 60_000 });
  expect(active).toMatchObject({ state: 'active', host: 'host-1' });
  const [claim] = await store.consumers([active?.instanceUuid ?? '']);
  expect(Object.values(claim?.allocations ?? {})).toContainEqual({ CUSTOM_GPU: 1 });
  expect(claim?.mappings).toHaveProperty(['device:gpu']);
  const [refused] = await tenant.buildAndWait({ spec }, { timeoutMs: 60_000 });
  expect(refused).toMatchObject({ state: 'error', fault: { reason: 'quota_exceeded' } });
  expect(refused?.fault?.message).toContain('CUSTOM_GPU: 1 used, 1 asked, limit 1');
});

it('explains a flavor, and names the extra spec that refuses', async () => {
  await operator.createFlavor({ ...PINNED, name: 'big', resources: { VCPU: 64 } });
  const { hosts } = await tenant.explain({ ...WHO, flavor: { name: 'big', version: 0 } }, { host: 'host-1' });
  expect(hosts[0]?.refusals[0]).toContain('wants 64 PCPU (extra spec hw:cpu_policy)');
});

it('is all there on the command line', async () => {
  const env = { BERTH_BUS_URL: urlOf('operator'), BERTH_CLIENT_TIMEOUT_MS: '30000' };
  const berth = async (line: string) => {
    const { code, out, err } = await runLine(line, env);
    return { code, text: (out + err).replace(/\s+/g, ' ') };
  };
  const made = await berth('flavor create tiny --vcpu 1 --memory-mb 64 --extra-spec trait:HW_GPU=preferred');
  expect(made).toMatchObject({ code: 2, text: expect.stringContaining("extra spec 'trait:HW_GPU' names no trait") });
  expect((await berth('flavor create tiny --vcpu 1 --memory-mb 64')).text).toContain('resources VCPU=1 MEMORY_MB=64');
  expect((await berth('flavor set tiny --extra-spec preferred_resources:CUSTOM_A=1 --description x')).text).toContain(
    'description x',
  );
  expect((await berth('flavor unset tiny --extra-spec preferred_resources:CUSTOM_A')).text).toContain('extra specs -');
  expect((await berth('flavor list')).text).toMatch(/FLAVOR RESOURCES .* tiny VCPU=1 MEMORY_MB=64 - .* x/);
  expect(await berth('build --flavor tiny --project demo --wait')).toMatchObject({
    code: 0,
    text: expect.stringContaining('host-1'),
  });
  expect((await berth('explain --flavor tiny')).code).toBe(0);
  expect((await berth('flavor delete tiny')).text).toContain('tiny is deleted');
  expect(await berth('flavor show tiny')).toMatchObject({ text: expect.stringContaining("no flavor 'tiny'") });
});

it('lets tenants list flavors, not change them', async () => {
  const names = (await tenant.flavors()).map(({ name }) => name);
  expect(names).toEqual((await operator.flavors()).map(({ name }) => name));
  for (const work of [() => tenant.createFlavor({ ...PINNED, name: 'mine' }), () => tenant.deleteFlavor('big')]) {
    await expect(work()).rejects.toMatchObject({ code: 'permission_denied', reason: 'services_only' });
  }
});

it('refuses an extra spec that is not understood by its name, at each door', async () => {
  const extraSpecs = { 'hw:cpu_sockets': '2' };
  const refusal = { code: 'invalid_argument', reason: 'unknown_extra_spec' };
  const spec = { ...WHO, resources: { VCPU: 1 }, extraSpecs };
  for (const work of [
    () => operator.createFlavor({ ...PINNED, name: 'odd', extraSpecs }),
    () => tenant.buildAndWait({ spec }, { timeoutMs: 60_000 }),
    () => tenant.explain(spec),
  ]) {
    const error = await work().then(
      () => undefined,
      (thrown: { readonly details: Readonly<Record<string, string>> }) => thrown,
    );
    expect(error).toMatchObject(refusal);
    expect(error?.details['field']).toMatch(/\.extra_specs\.hw:cpu_sockets$/);
  }
});
