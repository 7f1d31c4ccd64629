import { inventory } from '#libs/domain/inventory';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import type { Command } from '#libs/placement/port/placement-store';
import { aReport, aWrite, mustCommit } from '#libs/testing/placement/placement';
import { couldHelp, ReliefWatch } from './relief';

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

/** Whether what was seen since could help one that these symbols refused. */
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
