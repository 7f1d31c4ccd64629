import { inventory } from '#libs/domain/inventory';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import type { Command } from '#libs/placement/port/placement-store';
import { aReport, aWrite, mustCommit } from '#libs/testing/placement/placement';
import { couldHelp, peerOfGroup, ReliefWatch } from './relief';

const PROVIDER = 'a0000000-0000-4000-8000-000000000001';
const NEITHER = ['not_forced', 'capacity_memory_mb', 'no_such_thing'];
let store: MemoryPlacementStore;
let watch: ReliefWatch;
let reports = 0;

beforeEach(async () => {
  store = new MemoryPlacementStore();
  watch = new ReliefWatch();
  reports = 0;
  await report({});
});

async function report(fields: Parameters<typeof aReport>[0]): Promise<void> {
  const inventories = { VCPU: inventory(8), MEMORY_MB: inventory(1_024) };
  const result = await store.reportHost(aReport({ inventories, sequence: ++reports, ...fields }));
  if (result.kind === 'committed') watch.see(result.change);
}

async function commit(command: Command): Promise<void> {
  watch.see(await mustCommit(store, command));
}

const claims = (vcpus: number, uuid: string) =>
  commit({
    kind: 'write_allocations',
    atMs: 0,
    consumers: [aWrite(vcpus === 0 ? {} : { [PROVIDER]: { VCPU: vcpus } }, { uuid })],
  });
const ONE = 'c0000000-0000-4000-8000-000000000001';
const TWO = 'c0000000-0000-4000-8000-000000000002';

/** True if the changes seen could help a request refused for these symbols. */
function helps(...symbols: string[]): boolean {
  const relief = watch.take();
  return relief === 'all' || (relief !== undefined && couldHelp(relief, symbols));
}

it('begins with all that may have been missed', () => {
  expect(watch.take()).toBe('all');
  expect(watch.take()).toBeUndefined();
  watch.missed(7);
  expect(watch.take()).toBe('all');
  expect(watch.revision).toBe(7);
});

it('is woken by what is given back, and by nothing that is taken', async () => {
  await claims(2, ONE);
  watch.take();
  await claims(2, TWO);
  expect(helps('capacity_vcpu')).toBe(false);
  await claims(0, TWO);
  expect(helps('capacity_vcpu')).toBe(true);
  await claims(1, ONE);
  expect(helps('capacity_memory_mb')).toBe(false);
});

it('does not miss what is given back whole on a provider that it has not seen', async () => {
  await claims(2, ONE);
  watch = new ReliefWatch();
  watch.take();
  await claims(0, ONE);
  expect(helps('capacity_vcpu')).toBe(true);
});

it('is woken by a raised inventory of the class, not by a report that says the same', async () => {
  watch.take();
  await report({ inventories: { VCPU: inventory(8), MEMORY_MB: inventory(1_024) }, ioOps: 3 });
  expect(helps('capacity_vcpu', ...NEITHER)).toBe(false);
  await report({ inventories: { VCPU: inventory(9), MEMORY_MB: inventory(1_024) } });
  expect(helps('capacity_vcpu')).toBe(true);
  await report({ inventories: { VCPU: inventory(9), MEMORY_MB: inventory(2_048) } });
  expect(helps('capacity_vcpu')).toBe(false);
});

it('is woken by a new host, and by one that is enabled, for what is not about amounts', async () => {
  watch.take();
  await report({ host: 'host-2', providerUuid: 'a0000000-0000-4000-8000-000000000002' });
  expect(helps('no_hosts')).toBe(true);
  await commit({ kind: 'set_host_enabled', atMs: 0, host: 'host-1', enabled: false, reason: 'disks' });
  watch.take();
  await commit({ kind: 'set_host_enabled', atMs: 0, host: 'host-1', enabled: true, reason: '' });
  expect(helps('host_disabled')).toBe(true);
});

it('is woken by a trait that a host gets', async () => {
  watch.take();
  await report({ traits: ['STORAGE_DISK_SSD'] });
  expect(helps('missing_trait_storage_disk_ssd')).toBe(true);
});

it('is woken by a quota, and by what somebody gives back, when a quota or a group refuses', async () => {
  await claims(2, ONE);
  watch.take();
  const quota = { kind: 'write_quota', projectId: 'p', version: 0, borrowLimits: {}, cohort: undefined } as const;
  await commit({ ...quota, atMs: 0, limits: { VCPU: 4 }, unset: [] });
  expect(helps('quota_exceeded')).toBe(true);
  await claims(0, ONE);
  expect(helps('group_is_here')).toBe(true);
});

const OTHER_PROVIDER = 'a0000000-0000-4000-8000-000000000002';
const AGGREGATE = 'b0000000-0000-4000-8000-000000000001';
const GROUP = peerOfGroup('project-1', 'g');
const inGroup = { group: { group: { id: 'g', policy: 'anti-affinity', maxPerHost: 1 }, host: 'host-1' } } as const;
const holding = (uuid: string, provider = PROVIDER, fields: Partial<Parameters<typeof aWrite>[1]> = {}) =>
  commit({
    kind: 'write_allocations',
    atMs: 0,
    consumers: [aWrite({ [provider]: { VCPU: 1 } }, { uuid, ...fields })],
  });
const otherHost = (fields: Parameters<typeof aReport>[0] = {}) =>
  report({ host: 'host-2', providerUuid: OTHER_PROVIDER, ...fields });
const enable = (enabled: boolean) => commit({ kind: 'set_host_enabled', atMs: 0, host: 'host-1', enabled, reason: '' });
const quota = (limits: Readonly<Record<string, number>>) =>
  commit({
    kind: 'write_quota',
    projectId: 'project-1',
    version: 0,
    borrowLimits: {},
    cohort: undefined,
    atMs: 0,
    limits,
    unset: [],
  });
const nothing = async () => {};
const maxUnit = (most: number) =>
  report({ inventories: { VCPU: { ...inventory(8), maxUnit: most }, MEMORY_MB: inventory(1_024) } });

/** Each kind of wait, what is there before, and the changes that help it: whoever waits for it has its turn by each of them. */
const WAITS: readonly (readonly [
  symbol: string,
  change: string,
  before: () => Promise<void>,
  helping: () => Promise<void>,
])[] = [
  ['not_same_host', 'the peer comes', nothing, () => holding(ONE)],
  ['not_same_host', 'the peer moves', () => otherHost().then(() => holding(ONE)), () => holding(ONE, OTHER_PROVIDER)],
  [
    'same_host_as_other',
    'the peer moves',
    () => otherHost().then(() => holding(ONE)),
    () => holding(ONE, OTHER_PROVIDER),
  ],
  ['same_host_as_other', 'the peer leaves', () => holding(ONE), () => claims(0, ONE)],
  ['group_is_uneven', 'a member comes where there are fewest', nothing, () => holding(TWO, PROVIDER, inGroup)],
  [
    'group_is_elsewhere',
    'a member moves',
    () => holding(TWO, PROVIDER, inGroup),
    () => holding(TWO, PROVIDER, inGroup),
  ],
  ['group_is_here', 'a member leaves', () => holding(TWO, PROVIDER, inGroup), () => claims(0, TWO)],
  ['node_taken', 'the node is given back', () => holding(TWO), () => claims(0, TWO)],
  ['too_many_builds', 'a build is done', () => report({ ioOps: 3 }), () => report({ ioOps: 2 })],
  [
    'too_many_instances',
    'one of another owner ends',
    () => report({ externalInstances: 3 }),
    () => report({ externalInstances: 2 }),
  ],
  ['host_disabled', 'the host is enabled', () => enable(false), () => enable(true)],
  ['no_hosts', 'a host comes', nothing, () => otherHost()],
  ['not_forced', 'the host that is named comes', nothing, () => otherHost()],
  ['other_availability_zone', 'an aggregate gets another zone', nothing, () => otherHost()],
  ['missing_trait_storage_disk_ssd', 'a host gets the trait', nothing, () => report({ traits: ['STORAGE_DISK_SSD'] })],
  [
    'image_hw_architecture',
    'a host can do more',
    nothing,
    () => report({ capabilities: { hw_architecture: ['x86_64', 'riscv64'] } }),
  ],
  ['capacity_vcpu', 'there is more of it', nothing, () => report({ inventories: { VCPU: inventory(9) } })],
  ['max_unit_vcpu', 'one may take more of it', () => maxUnit(2), () => maxUnit(4)],
  ['min_unit_vcpu', 'its units are others', () => maxUnit(2), () => maxUnit(3)],
  ['quota_exceeded', 'the quota is raised', () => quota({ VCPU: 1 }), () => quota({ VCPU: 4 })],
  ['quota_exceeded', 'one of the project ends', () => holding(TWO), () => claims(0, TWO)],
];

it.each(WAITS)('has who waits for %s woken when %s', async (symbol, _change, before, helping) => {
  await before();
  watch.take();
  await helping();
  const relief = watch.take();
  const peers = new Set([ONE, GROUP]);
  expect(relief === 'all' || (relief !== undefined && couldHelp(relief, [symbol], peers))).toBe(true);
});

it('is not woken by those that it has nothing to do with', async () => {
  await holding('c0000000-0000-4000-8000-000000000009');
  watch.take();
  await holding(TWO, PROVIDER, inGroup);
  const relief = watch.take();
  const couldHelpPeers = (...peers: string[]) =>
    relief !== 'all' && relief !== undefined && couldHelp(relief, ['not_same_host', 'group_is_uneven'], new Set(peers));
  expect([couldHelpPeers(ONE), couldHelpPeers(peerOfGroup('project-2', 'g')), couldHelpPeers(GROUP)]).toEqual([
    false,
    false,
    true,
  ]);
});

it('is woken when a provider begins to share what it has with others', async () => {
  await commit({
    kind: 'put_provider',
    atMs: 0,
    uuid: OTHER_PROVIDER,
    name: 'disks',
    parentUuid: undefined,
    mode: 'create',
  });
  watch.take();
  const aggregates = [AGGREGATE];
  await commit({ kind: 'write_aggregates', atMs: 0, providerUuid: OTHER_PROVIDER, generation: undefined, aggregates });
  expect(helps('no_inventory_disk_gb')).toBe(true);
});

it('takes a reservation that opens, moves or ends for what could help anybody', async () => {
  watch.take();
  const about = { name: 'night', projectId: 'p', fromMs: 1, untilMs: 2, requestSpec: '', units: [], reason: '' };
  await commit({ kind: 'write_reservation', atMs: 0, reservation: about, replaces: undefined });
  expect(helps('reservation_not_open')).toBe(true);
  expect(helps('reservation_not_open')).toBe(false);
  await commit({ kind: 'delete_reservation', atMs: 0, name: 'night' });
  expect(helps('capacity_vcpu')).toBe(true);
});
