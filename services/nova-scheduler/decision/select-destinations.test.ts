import { inventory } from '#libs/domain/inventory';
import type { SpecFields } from '../testing/nova-spec';
import { recordedCall } from '../testing/recorded';
import { aWorld, CELL, instance, type NodeFields, uuidOf } from '../testing/world';

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.close());

const three: readonly NodeFields[] = [{}, {}, {}];
const memory = (total: number): NodeFields => ({
  inventories: { VCPU: inventory(8, { allocationRatio: 4 }), MEMORY_MB: inventory(total), DISK_GB: inventory(100) },
});
const one = { instance_uuids: [instance(1)] };

it('selects the host with most free, claims it for Nova, and names alternates', async () => {
  world = await aWorld([memory(1_000), memory(3_000), memory(2_000), memory(100)]);
  const [[selected, ...alternates] = []] = (await world.select()) as Exclude<
    Awaited<ReturnType<typeof world.select>>,
    string
  >;
  expect(selected?.['nova_object.data']).toMatchObject({
    service_host: 'h2',
    nodename: 'h2',
    cell_uuid: CELL,
    compute_node_uuid: uuidOf(2),
    availability_zone: 'nova',
    allocation_request_version: '1.36',
  });
  const claim = {
    allocations: { [uuidOf(2)]: { resources: { VCPU: 1, MEMORY_MB: 256, DISK_GB: 5 } } },
    mappings: { '': [uuidOf(2)] },
  };
  expect(JSON.parse(String(selected?.['nova_object.data']['allocation_request']))).toEqual(claim);
  expect(alternates.map((each) => each['nova_object.data'].service_host)).toEqual(['h3', 'h1']);
  expect(await world.held(instance(1))).toMatchObject({
    owner: 'api',
    projectId: 'project',
    userId: 'user',
    consumerType: undefined,
    allocations: { [uuidOf(2)]: { VCPU: 1, MEMORY_MB: 256, DISK_GB: 5 } },
    mappings: { '': [uuidOf(2)] },
  });
});

it('gives the same host again to a caller that asks again, and claims nothing more', async () => {
  world = await aWorld(three);
  const first = await world.hosts();
  const held = await world.held(instance(1));
  expect(await world.hosts()).toEqual(first);
  expect(await world.held(instance(1))).toEqual(held);
});

it('keeps what an evacuated instance holds on its dead host', async () => {
  world = await aWorld(three);
  const [[dead] = []] = (await world.hosts()) as string[][];
  const [[next] = []] = (await world.hosts({ more: { ignore_hosts: [dead] } })) as string[][];
  expect(next).not.toBe(dead);
  expect(Object.keys((await world.held(instance(1)))?.allocations ?? {})).toHaveLength(2);
  expect(await world.hosts({ more: { ignore_hosts: [dead] } })).toEqual([[next, expect.anything()]]);
  expect(Object.keys((await world.held(instance(1)))?.allocations ?? {})).toHaveLength(2);
});

it('places all instances of a request or none', async () => {
  world = await aWorld([memory(600), memory(600)]);
  const uuids = (count: number) => ({ instance_uuids: Array.from({ length: count }, (_, i) => instance(i + 1)) });
  expect(await world.refusal({}, uuids(5))).toContain('4 of 5 instances found a host; for the next: 2 hosts');
  expect(await world.held(instance(1))).toBeUndefined();
  const hosts = (await world.hosts({}, { ...uuids(4), return_alternates: false })) as string[][];
  expect(hosts.flat().sort()).toEqual(['h1', 'h1', 'h2', 'h2']);
});

it('decides again when another took the host first', async () => {
  world = await aWorld([memory(300), memory(299)]);
  const { mirror } = world;
  const { store } = world;
  const allocations = { [uuidOf(1)]: { MEMORY_MB: 200 } };
  const consumer = {
    uuid: instance(9),
    projectId: 'p',
    userId: 'u',
    consumerType: undefined,
    owner: 'api',
    allocations,
  } as const;
  const consumers = [{ ...consumer, mappings: {}, expect: { kind: 'any' } as const }];
  const before = mirror.usage(uuidOf(1));
  const commit = store.commit.bind(store);
  // The other's claim comes between the decision and the commit.
  store.commit = async (command) => {
    store.commit = commit;
    expect(mirror.usage(uuidOf(1))).toEqual(before);
    await commit({ kind: 'write_allocations', consumers, atMs: 1 });
    return commit(command);
  };
  expect(await world.hosts()).toEqual([['h2']]);
});

it('claims nothing for a rebuild, and for a caller that names no instances', async () => {
  world = await aWorld(three);
  const rebuild = {
    destination: { host: 'h2', node: 'h2' },
    more: { scheduler_hints: { _nova_check_type: ['rebuild'] } },
  };
  const [[selected] = []] = (await world.select(rebuild)) as Exclude<Awaited<ReturnType<typeof world.select>>, string>;
  expect(selected?.['nova_object.data']).toMatchObject({ service_host: 'h2', allocation_request: 'null' });
  expect(await world.hosts({}, { instance_uuids: null })).toEqual([['h1']]);
  expect([...world.mirror.consumers()]).toEqual([]);
});

it('answers callers without objects with dictionaries', async () => {
  world = await aWorld(three);
  const asked = { ...one, return_objects: false };
  expect(await world.select({}, asked)).toEqual([{ host: 'h1', nodename: 'h1', limits: {} }]);
});

it('names alternates of the same cell only', async () => {
  world = await aWorld([memory(3_000), { ...memory(2_000), cellUuid: 'other' }, memory(1_000)]);
  expect(await world.hosts()).toEqual([['h1', 'h3']]);
});

it.each<[string, readonly NodeFields[], SpecFields, string]>([
  ['a host that is down', [{ isUp: false }], {}, 'ComputeFilter refuses 1 (its nova-compute is down: 1)'],
  ['a disabled host', [{ isDisabled: true }], {}, 'its nova-compute is disabled'],
  ['a host with too little', [memory(100)], {}, 'placement refuses 1 (too little MEMORY_MB is free: 1)'],
  ['a missing trait', [{}], { extraSpecs: { 'trait:CUSTOM_X': 'required' } }, 'trait CUSTOM_X is missing'],
  [
    'a forbidden trait',
    [{ traits: ['CUSTOM_X'] }],
    { extraSpecs: { 'trait:CUSTOM_X': 'forbidden' } },
    'trait CUSTOM_X is forbidden',
  ],
  ['an ignored host', [{}], { more: { ignore_hosts: ['H1'] } }, 'the request ignores it'],
  ['another destination', [{}, {}], { destination: { host: 'h3' } }, 'No such host - host: h3 node: None'],
  ['a host of another cell', [{ cellUuid: 'other' }], recordedMove(), 'it is not in the cell'],
  [
    'another hypervisor',
    [{}],
    { image: { img_hv_type: 'xen' } },
    'ImagePropertiesFilter refuses 1 (its hypervisor is QEMU, not xen: 1)',
  ],
  ['an older hypervisor', [{}], { image: { img_hv_requested_version: '>=7' } }, 'version 6002000 is not >=7'],
  [
    'an architecture',
    [{ traits: ['HW_ARCH_AARCH64'] }],
    { image: { hw_architecture: 'x86_64' } },
    'its architecture is not x86_64',
  ],
  [
    'a capability',
    [{ capabilities: { cpu_info: { vendor: 'Intel' } } }],
    { extraSpecs: { 'capabilities:cpu_info:vendor': 'AMD' } },
    'capability cpu_info:vendor is Intel, not AMD',
  ],
  [
    'an unknown capability',
    [{}],
    { extraSpecs: { 'capabilities:stats:x': '1' } },
    "capability stats:x is not known from Nova's API",
  ],
])('refuses %s and says so', async (_, nodes, fields, reason) => {
  world = await aWorld(nodes);
  expect(await world.refusal(fields)).toContain(reason);
});

function recordedMove(): SpecFields {
  const spec = recordedCall('move').args['spec_obj'] as {
    readonly 'nova_object.data': Readonly<Record<string, unknown>>;
  };
  return { more: { requested_destination: spec['nova_object.data']['requested_destination'] } };
}

it('puts members of an anti-affinity group on hosts of their own, whatever holds them', async () => {
  world = await aWorld(three);
  const group = { policy: 'anti-affinity', members: [1, 2, 3, 4].map(instance), hosts: [] };
  expect(await world.hosts({ group }, { ...one, return_alternates: false })).toEqual([['h1']]);
  const two = { instance_uuids: [instance(2), instance(3)], return_alternates: false };
  expect(await world.hosts({ group }, two)).toEqual([['h2'], ['h3']]);
  expect(await world.refusal({ group }, { instance_uuids: [instance(4)] })).toContain(
    '1 of the server group are there: 3',
  );
  const rules = { ...group, _rules: { max_server_per_host: '2' } };
  expect(await world.hosts({ group: rules }, { instance_uuids: [instance(4)], return_alternates: false })).toEqual([
    ['h1'],
  ]);
});

it('puts no two members of an anti-affinity group on one host when they are decided at once', async () => {
  world = await aWorld(three);
  const group = { uuid: 'apart', policy: 'anti-affinity', members: [instance(1), instance(2)], hosts: [] };
  const asked = [1, 2].map((n) => world.hosts({ group }, { instance_uuids: [instance(n)], return_alternates: false }));
  expect(await Promise.all(asked)).toEqual([[['h1']], [['h2']]]);
});

it('begins an affinity group on one host when its members are decided at once', async () => {
  world = await aWorld(three, { BERTH_NOVA_HOST_SUBSET_SIZE: '3' });
  for (let n = 1; n < 40; n += 2) {
    const group = { uuid: `together-${n}`, policy: 'affinity', members: [instance(n), instance(n + 1)], hosts: [] };
    const asked = [n, n + 1].map((i) =>
      world.hosts({ group }, { instance_uuids: [instance(i)], return_alternates: false }),
    );
    const [first, second] = await Promise.all(asked);
    expect(second).toEqual(first);
  }
});

it('lets an affinity group grow on hosts that Nova names, though claims know it elsewhere', async () => {
  world = await aWorld(three);
  const group = { uuid: 'together', policy: 'affinity', members: [1, 2, 3].map(instance), hosts: [] as string[] };
  const ask = (n: number, hosts: readonly string[], ignored: readonly string[] = []) =>
    world.hosts({ group: { ...group, hosts }, more: { ignore_hosts: ignored } }, { instance_uuids: [instance(n)] });
  expect(await ask(1, [])).toMatchObject([['h1', expect.anything(), expect.anything()]]);
  expect(await ask(2, ['h2'], ['h1'])).toEqual([['h2']]);
  expect(await ask(3, [], ['h1', 'h3'])).toEqual([['h2']]);
});

it('counts members that Nova says are on a host, though they hold nothing there', async () => {
  world = await aWorld([memory(3_000), memory(2_000)]);
  world.facts.putInstances('h1', [instance(2)], true);
  const group = { policy: 'anti-affinity', members: [instance(1), instance(2)], hosts: [] };
  expect(await world.hosts({ group })).toEqual([['h2']]);
});

it('keeps an affinity group together, on its hosts or on the first that is chosen', async () => {
  world = await aWorld(three);
  const group = { policy: 'affinity', members: [1, 2, 3].map(instance), hosts: ['h2'] };
  expect(await world.hosts({ group })).toEqual([['h2']]);
  const fresh = { ...group, hosts: [] };
  const both = { instance_uuids: [instance(2), instance(3)], return_alternates: false };
  const [[a] = [], [b] = []] = (await world.hosts({ group: fresh }, both)) as string[][];
  expect(a).toBe(b);
});

it('weighs soft groups, and the multipliers of aggregates', async () => {
  world = await aWorld(three, { BERTH_NOVA_WEIGHT_SOFT_AFFINITY: '10', BERTH_NOVA_WEIGHT_SOFT_ANTI_AFFINITY: '10' });
  world.facts.putInstances('h3', [instance(2)], true);
  const members = [instance(1), instance(2)];
  const group = (policy: string) => ({ group: { policy, members, hosts: ['h3'] } });
  expect(await world.hosts(group('soft-affinity'))).toMatchObject([['h3', expect.anything(), expect.anything()]]);
  const other = { instance_uuids: [instance(5)] };
  expect(await world.hosts(group('soft-anti-affinity'), other)).toMatchObject([
    [expect.not.stringMatching('h3'), expect.anything(), 'h3'],
  ]);
  const metadata = new Map([['ram_weight_multiplier', '50']]);
  world.facts.putAggregates([{ id: 1, uuid: 'a', hosts: new Set(['h2']), metadata }]);
  expect(await world.hosts({}, { instance_uuids: [instance(6)] })).toMatchObject([
    ['h2', expect.anything(), expect.anything()],
  ]);
});

it('a forced host is taken unfiltered, unless Nova asks whether it suits', async () => {
  world = await aWorld([{}, { isUp: false }]);
  const forced = { more: { force_hosts: ['h2'] } };
  expect(await world.hosts(forced)).toEqual([['h2']]);
  const asked = { more: { force_hosts: ['h2'], scheduler_hints: { _nova_check_type: ['live_migrate'] } } };
  expect(await world.refusal(asked, { instance_uuids: [instance(2)] })).toContain('its nova-compute is down');
});

it('claims devices of nested providers one after the other, and maps the groups to them', async () => {
  world = await aWorld([{}]);
  const child = (n: number) =>
    world.addProvider(uuidOf(100 + n), `gpu${n}`, uuidOf(1), { inventories: { VGPU: inventory(1) } });
  await child(1);
  await child(2);
  const fields = { extraSpecs: { 'resources1:VGPU': '1' } };
  const two = { instance_uuids: [instance(1), instance(2)] };
  expect(await world.hosts(fields, two)).toEqual([['h1'], ['h1']]);
  const [a, b] = await Promise.all([world.held(instance(1)), world.held(instance(2))]);
  expect(new Set([a?.mappings['1'], b?.mappings['1']].flat())).toEqual(new Set([uuidOf(101), uuidOf(102)]));
  expect(await world.refusal(fields, { instance_uuids: [instance(3)] })).toContain('too little VGPU is free');
});

it('falls back to VCPU for pinned processors where a host reports no PCPU', async () => {
  world = await aWorld([{}]);
  const fields = { extraSpecs: { 'hw:cpu_policy': 'dedicated' } };
  expect(await world.hosts(fields)).toEqual([['h1']]);
  expect((await world.held(instance(1)))?.allocations[uuidOf(1)]).toMatchObject({ VCPU: 1 });
});

it('asks Nova for its nodes again when placement knows a host that it does not', async () => {
  world = await aWorld([{}]);
  await world.addProvider(uuidOf(7), 'new', undefined, {});
  expect(await world.refusal({ more: { ignore_hosts: ['h1'] } })).toContain('the request ignores it');
  expect(world.refreshed).toEqual(['nodes']);
});

it.each([
  ['pinned, NUMA', 'NUMATopologyFilter'],
  ['PCI', 'PciPassthroughFilter'],
])('hands requests over that only the database can filter: %s', async (name, filter) => {
  const { args } = recordedCall(name);
  const ask = () => world.call(args, recordedCall(name));
  const filters = { BERTH_NOVA_FILTERS: `ComputeFilter,${filter}` };
  world = await aWorld([{}], { ...filters, BERTH_NOVA_FALLBACK_TOPIC: 'stock' });
  expect(await ask()).toEqual({ kind: 'hand_over', topic: 'stock' });
  await world.close();
  world = await aWorld([{}], filters);
  await expect(ask()).rejects.toThrow(`The request needs ${filter}`);
  await world.close();
  // Without the filter a stock scheduler leaves it to the host, too.
  world = await aWorld([{}]);
  expect(await ask()).toMatchObject({ kind: 'result' });
});

it("refuses an instance whose uuid is that of Berth's own", async () => {
  world = await aWorld([{}]);
  const consumer = { uuid: instance(1), projectId: 'p', userId: 'u', consumerType: 'INSTANCE', owner: 'conductor' };
  const allocations = { [uuidOf(1)]: { MEMORY_MB: 1 } };
  const consumers = [{ ...consumer, allocations, mappings: {}, expect: { kind: 'absent' } }];
  await world.commit({ kind: 'write_allocations', consumers });
  await expect(world.select()).rejects.toMatchObject({ className: 'AllocationUpdateFailed', module: 'nova.exception' });
});

it('says in the fault that what it knows of Nova is old', async () => {
  world = await aWorld([{ isUp: false }]);
  expect(await world.refusal()).not.toContain('is away');
  await world.clock.advance(200_000);
  expect(await world.refusal()).toContain(
    "Nova's API is away: services were read 200 s ago, nodes were read 200 s ago.",
  );
});

it.each([
  ['no UUID', { instance_uuids: ['x'] }, {}, 'instance_uuids[0] is not a UUID'],
  ['a UUID of Berth', { instance_uuids: ['11111111-0000-0000-8000-000000000001'] }, {}, 'which Berth keeps for itself'],
  ['too many instances', { instance_uuids: Array.from({ length: 1_001 }, (_, i) => instance(i)) }, {}, 'at most 1000'],
  ['no list', { instance_uuids: 'x' }, {}, 'instance_uuids is not a list'],
  ['a project with too long a name', {}, { more: { project_id: 'x'.repeat(256) } }, 'longer than 255 characters'],
  ['no spec', { spec_obj: null }, {}, 'without spec_obj'],
])('refuses a call with %s, and claims nothing', async (_, args, fields: SpecFields, message) => {
  world = await aWorld(three);
  await expect(world.select(fields, args)).rejects.toThrow(message);
  expect([...world.mirror.consumers()]).toEqual([]);
});

it('claims for a user that the context names when the spec names none', async () => {
  world = await aWorld(three);
  const call = recordedCall('boot');
  const { 'nova_object.data': data } = call.args['spec_obj'] as { 'nova_object.data': Record<string, unknown> };
  delete data['user_id'];
  await world.call(call.args, call);
  const [consumer] = [...world.mirror.consumers()];
  expect(consumer?.userId).toBe(call.context['user_id']);
});

it.each([
  ['the best few', { BERTH_NOVA_HOST_SUBSET_SIZE: '3' }],
  ['those of equal weight', { BERTH_NOVA_SHUFFLE_BEST_SAME_WEIGHED_HOSTS: 'true' }],
])('draws a host among %s, and names all others', async (_, settings) => {
  world = await aWorld([...three, memory(3_000)], settings);
  const drawn: string[][] = [];
  for (let n = 1; n <= 12; n++) {
    const asked = { instance_uuids: [instance(n)], return_objects: true };
    drawn.push(...((await world.hosts({ more: { ignore_hosts: [] } }, asked)) as string[][]));
  }
  expect(new Set(drawn.map(([first]) => first)).size).toBeGreaterThan(1);
  expect(drawn.every((hosts) => new Set(hosts).size === 3)).toBe(true);
});
