import { randomUUID } from 'node:crypto';
import type { RunningInstance } from '#libs/contracts/stats';
import { inventory } from '#libs/domain/inventory';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { MirrorState } from '#libs/placement/mirror/mirror-state';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import { mustCommit } from '#libs/testing/placement/placement';
import { aStatsReport, running } from '../testing/stats';
import { updateResourceStats } from './update-resource-stats';

const TRAITS = ['HW_CPU_X86_AVX2'];

/** A mirror that stopped following the store. */
async function stoppedMirror(store: MemoryPlacementStore) {
  const state = new MirrorState();
  await store.snapshot((rows) => state.applyRows(rows));
  return {
    host: (name: string) => state.hosts.get(name),
    provider: (uuid: string) => state.providers.get(uuid),
    providerByName: () => undefined,
    hostOfRoot: () => undefined,
    apply: () => {},
  };
}

it('makes a provider what its agent says again when a mirror that is behind sees no difference', async () => {
  const store = new MemoryPlacementStore();
  const report = async (sequence: number, mirror: Awaited<ReturnType<typeof stoppedMirror>>) => {
    const stats = aStatsReport({ traits: TRAITS, sequence });
    const deps = { placement: store, mirror, nowMs: sequence, unclaimed: [] };
    await updateResourceStats(stats, deps);
    return stats;
  };
  const { providerUuid } = await report(1, await stoppedMirror(store));
  const behind = await stoppedMirror(store);
  await mustCommit(store, { kind: 'write_traits', providerUuid, generation: undefined, traits: [] });
  await report(2, behind);
  expect((await stoppedMirror(store)).provider(providerUuid)).toMatchObject({ traits: TRAITS });
});

it('gives a store that was wiped the host as operators disabled it, from what its agent was told', async () => {
  const report = async (store: MemoryPlacementStore, sequence: number, disabled?: { reason: string }) => {
    const stats = aStatsReport({ sequence, disabled });
    const deps = { placement: store, mirror: await stoppedMirror(store), nowMs: sequence, unclaimed: [] };
    return (await updateResourceStats(stats, deps)).disabled;
  };
  const before = new MemoryPlacementStore();
  expect(await report(before, 1)).toBeUndefined();
  const { host } = aStatsReport();
  await mustCommit(before, { kind: 'set_host_enabled', host, enabled: false, reason: 'broken fan' });
  const told = await report(before, 2);
  const wiped = new MemoryPlacementStore();
  expect(await report(wiped, 3, told)).toEqual(told);
  expect(await wiped.hosts([host])).toMatchObject([{ enabled: false, disabledReason: 'broken fan' }]);
  await mustCommit(wiped, { kind: 'set_host_enabled', host, enabled: true, reason: '' });
  expect(await report(wiped, 4, told)).toBeUndefined();
  expect(await wiped.hosts([host])).toMatchObject([{ enabled: true }]);
});

it('may bring no more classes and traits than one agent has a share of, whichever of its hosts has them', async () => {
  const store = new MemoryPlacementStore();
  const deps = { placement: store, mirror: await stoppedMirror(store), nowMs: 1, unclaimed: [], reporter: 'rack' };
  const names = (from: number, count: number) => Array.from({ length: count }, (_, n) => `CUSTOM_${from + n}`);
  const tells = (sequence: number, traits: readonly string[]) =>
    updateResourceStats(aStatsReport({ sequence, traits: [...traits] }), deps);
  await tells(1, names(0, 1_024));
  await tells(2, names(1_024, 1_024));
  await expect(tells(3, names(2_048, 1))).rejects.toMatchObject({
    code: 'failed_precondition',
    reason: 'too_many_names',
    message: expect.stringContaining('the agent rack has brought 2048'),
  });
  await expect(tells(4, names(7, 9))).resolves.toMatchObject({ sequence: 4 });
});

describe('a host with nested providers', () => {
  const nestedProviders = ['numa0', 'numa1'].map((name) => ({
    name,
    parent: '',
    inventories: { VCPU: inventory(4, { allocationRatio: 2 }) },
    traits: [],
    externalUsage: name === 'numa1' ? { VCPU: 1 } : {},
  }));
  const stats = (sequence: number) =>
    aStatsReport({ inventories: { MEMORY_MB: inventory(8) }, nestedProviders, sequence });
  const on = (name: string) => nestedProviderUuid(stats(1).providerUuid, name);

  async function reserved(unclaimed: readonly RunningInstance[]): Promise<readonly (number | undefined)[]> {
    const store = new MemoryPlacementStore();
    const deps = { placement: store, mirror: await stoppedMirror(store), nowMs: 1, unclaimed };
    await updateResourceStats(stats(1), deps);
    const { provider } = await stoppedMirror(store);
    return ['numa0', 'numa1'].map((name) => provider(on(name))?.inventories['VCPU']?.reserved);
  }

  it('is reported whole: names of its own, parents, and what others use of each', async () => {
    const store = new MemoryPlacementStore();
    const nested = [
      ...nestedProviders,
      { name: 'gpu', parent: 'numa0', inventories: {}, traits: [], externalUsage: {} },
    ];
    const deps = { placement: store, mirror: await stoppedMirror(store), nowMs: 1, unclaimed: [] };
    await updateResourceStats({ ...stats(1), nestedProviders: nested }, deps);
    const { provider } = await stoppedMirror(store);
    const rootUuid = stats(1).providerUuid;
    expect(provider(on('gpu'))).toMatchObject({ name: 'host-1:gpu', parentUuid: on('numa0'), rootUuid });
    expect(provider(on('numa1'))).toMatchObject({ name: 'host-1:numa1', parentUuid: rootUuid, rootUuid });
    expect(await reserved([])).toEqual([0, 1]);
  });

  it('keeps free what an unclaimed instance uses where it says that it uses it', async () => {
    const here = running(randomUUID(), { resources: { VCPU: 3 }, allocations: { [on('numa1')]: { VCPU: 3 } } });
    const elsewhere = { [randomUUID()]: { VCPU: 3 } };
    expect(await reserved([here])).toEqual([0, 3]);
    expect(await reserved([here, running(randomUUID(), { allocations: elsewhere })])).toEqual([0, 3]);
  });

  it('keeps it free wherever there is room when the instance does not say where', async () => {
    expect(await reserved([running(randomUUID(), { resources: { VCPU: 10 } })])).toEqual([4, 2]);
    expect(await reserved([running(randomUUID(), { resources: { VCPU: 100 } })])).toEqual([4, 4]);
  });
});
