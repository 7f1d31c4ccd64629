import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { MirrorState } from '#libs/placement/mirror/mirror-state';
import { mustCommit } from '#libs/testing/placement/placement';
import { aStatsReport } from '../testing/stats';
import { updateResourceStats } from './update-resource-stats';

const TRAITS = ['HW_CPU_X86_AVX2'];

/** What a mirror shows that stopped following now. */
async function stoppedMirror(store: MemoryPlacementStore) {
  const state = new MirrorState();
  await store.snapshot((rows) => state.applyRows(rows));
  return {
    host: (name: string) => state.hosts.get(name),
    provider: (uuid: string) => state.providers.get(uuid),
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
