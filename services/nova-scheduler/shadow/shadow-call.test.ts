import { setImmediate as othersTurn } from 'node:timers/promises';
import { inventory } from '#libs/domain/inventory';
import { createMetrics } from '#libs/runtime/metrics';
import { writeObject } from '../objects/versioned-object';
import { aNovaSpec, type SpecFields } from '../testing/nova-spec';
import { aWorld, instance, type NodeFields, uuidOf } from '../testing/world';
import { ReportKeeper } from './keep-report';
import { shadowCall } from './shadow-call';

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.close());

const NODES: readonly NodeFields[] = [
  {},
  {},
  { inventories: { VCPU: inventory(8), MEMORY_MB: inventory(4_096), DISK_GB: inventory(100) } },
  { isUp: false },
];

async function aShadow(settings: Readonly<Record<string, string>> = {}, nodes = NODES) {
  world = await aWorld(nodes, settings);
  const report = new ReportKeeper(world.clock, createMetrics({}), 3);
  const call = shadowCall({ ...world.deps, report }, new AbortController().signal);
  return {
    report: () => report.report(),
    /** Gives the shadow a call; hosts are those that the other scheduler claims, instance by instance. */
    async call(hosts: readonly (number | undefined)[], asked: SpecFields = {}) {
      const uuids = hosts.map((_, i) => instance(i + 1));
      const args = { spec_obj: aNovaSpec(asked), instance_uuids: uuids, return_objects: true };
      const request = {
        method: 'select_destinations',
        version: '4.5',
        context: { request_id: 'req-1' },
        namespace: undefined,
      };
      const done = call(args, { ...request, args, uniqueId: undefined, replyTo: undefined });
      // It has decided, and waits for the other's claims.
      await othersTurn();
      for (const [i, host] of hosts.entries()) if (host !== undefined) await claim(instance(i + 1), host);
      if (hosts.includes(undefined)) await world.clock.advance(31_000);
      await done;
    },
  };
}

async function claim(uuid: string, host: number): Promise<void> {
  const of = { uuid, projectId: 'p', userId: 'u', consumerType: undefined, owner: 'api', mappings: {} };
  const allocations = { [uuidOf(host)]: { MEMORY_MB: 256 } };
  await world.commit({ kind: 'write_allocations', consumers: [{ ...of, allocations, expect: { kind: 'any' } }] });
}

it('claims nothing, and reports no difference where both choose the same host', async () => {
  const shadow = await aShadow();
  await shadow.call([1]);
  expect(shadow.report()).toMatchObject({ outcomes: { same: 1, different: 0 }, causes: {}, differences: [] });
  expect(shadow.report().novaTimes?.count).toBe(1);
  expect((await world.held(instance(1)))?.allocations).toEqual({ [uuidOf(1)]: { MEMORY_MB: 256 } });
  expect(world.deps.inFlight.isEmpty).toBe(true);
});

it.each([
  [2, 'alternate', 'equal_weight', 'h1 and h2 weigh the same: either is right'],
  [3, 'alternate', 'less_weight', 'h3 weighs less than h1: CPUWeigher 0.25 and not 1, RAMWeigher 0.5 and not 1'],
  [4, 'different', 'ComputeFilter', 'ComputeFilter refuses h4: its nova-compute is down'],
  [
    undefined,
    'only_berth',
    'nova_claimed_nothing',
    'Nova claimed nothing in 30 s: it found no host, or failed, or was slower',
  ],
])('explains the difference when Nova chooses host %s', async (host, outcome, cause, why) => {
  const shadow = await aShadow();
  await shadow.call([host]);
  const { differences, causes } = shadow.report();
  expect(causes).toEqual({ [cause]: 1 });
  expect(differences).toEqual([
    expect.objectContaining({ outcome, cause, why, requestId: 'req-1', instanceUuid: instance(1) }),
  ]);
  expect(differences[0]?.berth).toMatchObject({ hosts: ['h1', 'h2', 'h3'], weight: 3 });
});

it('names what placement refuses on the host that Nova chose', async () => {
  const shadow = await aShadow({}, [{}, { inventories: { VCPU: inventory(8), MEMORY_MB: inventory(4_096) } }]);
  await shadow.call([2]);
  expect(shadow.report().differences[0]).toMatchObject({
    cause: 'placement',
    why: 'placement refuses h2: it has no DISK_GB',
  });
});

it('counts agreement where neither finds a host, and names the reason where only Nova does', async () => {
  const shadow = await aShadow();
  await shadow.call([undefined], { vcpus: 1_000 });
  expect(shadow.report().outcomes.neither).toBe(1);
  await shadow.call([1], { vcpus: 1_000 });
  expect(shadow.report().differences[0]).toMatchObject({
    outcome: 'only_nova',
    cause: 'placement',
    why: 'placement refuses h1: too little VCPU is free',
  });
});

it("names the filter that needs Nova's database", async () => {
  const shadow = await aShadow({ BERTH_NOVA_FILTERS: 'ComputeFilter,PciPassthroughFilter' });
  const requests = {
    'nova_object.name': 'InstancePCIRequests',
    'nova_object.namespace': 'nova',
    'nova_object.version': '1.1',
    'nova_object.data': { requests: [writeObject('InstancePCIRequest', '1.4', { count: 1, spec: [{}] })] },
  };
  await shadow.call([1], { more: { pci_requests: requests } });
  expect(shadow.report().differences[0]?.why).toContain(
    "needs PciPassthroughFilter, for which Nova's database is not read: Berth refuses it",
  );
});

it('compares the hosts of one request as a whole, since its instances are alike', async () => {
  const shadow = await aShadow();
  await shadow.call([2, 1]);
  expect(shadow.report().outcomes).toMatchObject({ same: 2, different: 0 });
});

it('counts claims that were there before the call, and rebuilds, as unseen', async () => {
  const shadow = await aShadow();
  await claim(instance(1), 2);
  await shadow.call([undefined]);
  expect(shadow.report().outcomes).toMatchObject({ unseen: 1, only_berth: 0 });
  await shadow.call([undefined], { more: { scheduler_hints: { _nova_check_type: ['rebuild'] } } });
  expect(shadow.report().outcomes.unseen).toBe(2);
});

it('keeps the last differences only, the newest first', async () => {
  const shadow = await aShadow();
  for (let n = 0; n < 5; n++) await shadow.call([undefined]);
  expect(shadow.report().causes).toEqual({ nova_claimed_nothing: 5 });
  expect(shadow.report().differences).toHaveLength(3);
});
