import { randomUUID } from 'node:crypto';
import { type Inventories, inventory } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import { aDevice, aDeviceRequest, nestedDevices } from '#libs/testing/placement/hosts/devices';
import { aWrite, mustCommit } from '#libs/testing/placement/placement';
import { aWorld, hostsOf, uuidOfHost, type World } from '../testing/world';

/* A host of two NUMA nodes with a GPU below the second, a device below each, and devices below none. */

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const NODE: Inventories = { VCPU: inventory(4), MEMORY_MB: inventory(4_096) };
const uuidOf = (host: string, name: string) => nestedProviderUuid(uuidOfHost(host), name);

/** @param gpu  the GPU's place, '' for the root */
async function numaHost(host: string, gpu: string) {
  const path = (name: string) => (gpu === '' ? name : `${gpu}/${name}`);
  const providers = {
    numa0: NODE,
    numa1: NODE,
    [path('gpu')]: { PGPU: inventory(1) },
    [path('card')]: aDevice({ model: 'H100' }),
  };
  const nested = nestedDevices(host, uuidOfHost(host), providers).map((one) =>
    one.name.endsWith('numa0') || one.name.endsWith('numa1') ? { ...one, traits: ['HW_NUMA_ROOT'] } : one,
  );
  await world.report(host, { inventories: { DISK_GB: inventory(100) }, nested });
}

const near = (policy: string, vcpus = 1, more: Partial<RequestSpec> = {}): Partial<RequestSpec> => ({
  resources: { VCPU: vcpus, MEMORY_MB: 64, PGPU: 1 },
  extraSpecs: { 'hw:numa_nodes': '1', 'hw:pci_numa_affinity_policy': policy },
  ...more,
});
const CARD = {
  resources: { VCPU: 1, MEMORY_MB: 64 },
  deviceRequests: [aDeviceRequest('gpu', { selectors: ['device.attributes.model == "H100"'] })],
};

async function claimOf(uuid: string) {
  return (await world.placement.consumers([uuid]))[0]?.mappings;
}

/** Takes all processors of a host's node. */
async function fill(host: string, name: string) {
  const consumers = [aWrite({ [uuidOf(host, name)]: { VCPU: 4 } }, { owner: 'api' })];
  await mustCommit(world.placement, { kind: 'write_allocations', consumers });
}

it('takes processors of the node that the GPU is below, by requests of classes and of attributes', async () => {
  await numaHost('one', 'numa1');
  const scheduler = await world.scheduler();
  for (const [spec, device] of [
    [near('required'), 'gpu'],
    [near('required', 1, CARD), 'card'],
  ] as const) {
    const uuid = randomUUID();
    expect(hostsOf(await scheduler.select(spec, [uuid]))).toEqual(['one']);
    const claim = await claimOf(uuid);
    expect(claim?.['_numa0']).toEqual([uuidOf('one', 'numa1')]);
    expect(claim?.['_pci0'] ?? claim?.['device:gpu']).toEqual([uuidOf('one', device)]);
  }
});

it.each(['gpu', 'card'])(
  'refuses the %s of another node where it must be near, and says by which extra spec',
  async (device) => {
    await numaHost('one', 'numa1');
    await fill('one', 'numa1');
    const scheduler = await world.scheduler();
    const asked = (policy: string) => near(policy, 1, device === 'card' ? CARD : {});
    for (const policy of ['required', 'legacy']) {
      expect(scheduler.explain(asked(policy), 'one').hosts[0]?.refusals).toEqual([
        `candidates: ${device === 'card' ? '' : 'no providers of the host give all groups what they ask: '}devices are not near to its NUMA nodes (extra spec hw:pci_numa_affinity_policy) (${policy})`,
      ]);
    }
    const { response } = await scheduler.select(asked('required'));
    expect(response.noValidHost?.summary).toContain('hw:pci_numa_affinity_policy');
    expect(hostsOf(await scheduler.select(asked('preferred')))).toEqual(['one']);
  },
);

it.each(['gpu', 'card'])(
  'gives a %s that is below no node by the policy legacy, and not where it is required',
  async (device) => {
    await numaHost('one', '');
    const scheduler = await world.scheduler();
    const asked = (policy: string) => near(policy, 1, device === 'card' ? CARD : {});
    expect(hostsOf(await scheduler.select(asked('required')))).toEqual([]);
    expect(hostsOf(await scheduler.select(asked('legacy')))).toEqual(['one']);
  },
);

it('takes a GPU near any of several nodes', async () => {
  await numaHost('one', 'numa1');
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  const extraSpecs = { 'hw:numa_nodes': '2', 'hw:pci_numa_affinity_policy': 'required' };
  const resources = { VCPU: 2, MEMORY_MB: 64, PGPU: 1 };
  expect(hostsOf(await scheduler.select({ resources, extraSpecs }, [uuid]))).toEqual(['one']);
  expect((await claimOf(uuid))?.['_pci0']).toEqual([uuidOf('one', 'gpu')]);
});
