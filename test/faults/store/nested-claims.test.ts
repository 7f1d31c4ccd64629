import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec } from '#libs/contracts/conductor';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import type { Consumer } from '#libs/domain/consumer';
import { inventory } from '#libs/domain/inventory';
import { systemClock } from '#libs/runtime/system';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { mustCommit } from '#libs/testing/placement/placement';
import { TestFleet } from '../fleet/test-fleet';

/* An instance that holds resources of its host, of a device below it and of a sharing provider beside it. */

const HOST = 'agent-a-1';
const [DEVICE, SHARE, AGGREGATE] = [randomUUID(), randomUUID(), randomUUID()] as const;

let fleet: TestFleet;
let uuid: string;

beforeEach(async () => {
  fleet = await TestFleet.start({ BERTH_AGENT_FAKE_FAILURE_RATE: '0', BERTH_SCHEDULER_DISCREPANCY_GRACE_MS: '2000' });
  await addProviders();
  uuid = randomUUID();
  const group = { id: 'web', policy: 'affinity', maxPerHost: 0 } as const;
  const device = { suffix: '1', resources: { CUSTOM_DEVICE: 1 } };
  const noConditions = { requiredTraits: [], forbiddenTraits: [], memberOf: [], forbiddenAggregates: [] };
  const requestSpec = anEncodedSpec({
    resources: { VCPU: 1, MEMORY_MB: 256, CUSTOM_SHARED: 2 },
    requestGroups: [{ ...device, ...noConditions, inTree: undefined }],
    group,
  });
  await fleet.eventually('it is ACTIVE', async () => {
    // A scheduler may decide before its mirror shows the providers: then another instance is requested.
    if ((await fleet.instances.get([uuid]))[0]?.state === 'error') uuid = randomUUID();
    const request = { requestId: uuid, requestSpec, count: 1, name: 'web', instanceUuids: [uuid] };
    await castTyped({ bus: fleet.tenant, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: uuid });
    const [instance] = await fleet.instances.get([uuid]);
    return instance?.state === 'active' || instance?.fault?.message;
  });
});
afterEach(() => fleet?.stop());

/** A device of the host, and a provider that shares with it, created as by a client of the placement API. */
async function addProviders(): Promise<void> {
  const { placement } = fleet;
  const { hosts } = await fleet.rows();
  const root = hosts.find(({ name }) => name === HOST)?.providerUuid ?? '';
  for (const name of ['CUSTOM_DEVICE', 'CUSTOM_SHARED']) {
    await mustCommit(placement, { kind: 'create_name', catalogue: 'resource_class', name });
  }
  const providers = [
    { uuid: DEVICE, name: 'device', parentUuid: root, inventories: { CUSTOM_DEVICE: inventory(1) } },
    { uuid: SHARE, name: 'share', parentUuid: undefined, inventories: { CUSTOM_SHARED: inventory(10) } },
  ];
  for (const { inventories, ...provider } of providers) {
    await mustCommit(placement, { kind: 'put_provider', mode: 'create', ...provider });
    const about = { providerUuid: provider.uuid, generation: undefined };
    await mustCommit(placement, { kind: 'write_inventories', ...about, inventories, replace: true });
  }
  const share = { providerUuid: SHARE, generation: undefined };
  await mustCommit(placement, { kind: 'write_traits', ...share, traits: ['MISC_SHARES_VIA_AGGREGATE'] });
  for (const providerUuid of [SHARE, root]) {
    const about = { providerUuid, generation: undefined };
    await mustCommit(placement, { kind: 'write_aggregates', ...about, aggregates: [AGGREGATE] });
  }
}

/** The part of a consumer that must come back. */
async function held() {
  const [consumer] = await fleet.placement.consumers([uuid]);
  return consumer && what(consumer);
}

function what({ allocations, mappings, groupId, groupHost, projectId, owner }: Consumer) {
  return { allocations, mappings, groupId, groupHost, projectId, owner };
}

it('holds all of it again after a client of the placement API deleted its allocations', async () => {
  const before = await held();
  expect(Object.keys(before?.allocations ?? {})).toHaveLength(3);
  expect([before?.groupId, before?.groupHost]).toEqual(['web', HOST]);
  const [consumer] = await fleet.placement.consumers([uuid]);
  const claimToken = consumer?.claimToken ?? 0;
  await fleet.placement.commit({ kind: 'release_claim', atMs: systemClock().now(), consumerUuid: uuid, claimToken });
  expect(await held()).toBeUndefined();
  await fleet.eventually('it holds something', async () => (await held()) !== undefined);
  expect(await held()).toEqual(before);
  expect((await fleet.instances.get([uuid]))[0]).toMatchObject({ state: 'active', host: HOST });
  expect(fleet.runs()).toEqual([`${uuid} ${HOST}`]);
});

it('holds all of it again after the store was wiped, once its providers are there, and a disabled host stays so', async () => {
  const before = await held();
  const disable = { kind: 'set_host_enabled', host: HOST, enabled: false, reason: 'new disks' } as const;
  await mustCommit(fleet.placement, disable);
  await fleet.eventually('its agent knows that it is disabled', async () => fleet.remembersDisabled(HOST));
  const redis = new Redis(fleet.redis.url);
  await redis.flushall();
  await redis.quit();
  await fleet.eventually('the hosts are back', async () => (await fleet.rows()).hosts.length === 10);
  await addProviders();
  await fleet.eventually('it holds something', async () => (await held()) !== undefined);
  expect(await held()).toEqual(before);
  const { hosts } = await fleet.rows();
  expect(hosts.filter(({ enabled }) => !enabled)).toMatchObject([{ name: HOST, disabledReason: 'new disks' }]);
  expect((await fleet.instances.get([uuid]))[0]).toMatchObject({ state: 'active', host: HOST });
  expect(fleet.runs()).toEqual([`${uuid} ${HOST}`]);
});
