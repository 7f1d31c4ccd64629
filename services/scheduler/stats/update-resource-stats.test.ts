import { agentSender } from '#libs/contracts/topology';
import type { Host } from '#libs/domain/host';
import type { Provider } from '#libs/domain/provider';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import type { Revised } from '#libs/placement/store';
import { mustCommit } from '#libs/testing/placement';
import { aStatsReport } from '../testing/stats';
import { updateResourceStats } from './update-resource-stats';

const TRAITS = ['HW_CPU_X86_AVX2'];

/** What a mirror shows that stopped following now. */
async function stoppedMirror(store: MemoryPlacementStore) {
  const hosts = new Map<string, Revised<Host>>();
  const providers = new Map<string, Revised<Provider>>();
  await store.snapshot((rows) => {
    for (const host of rows.hosts ?? []) hosts.set(host.name, host);
    for (const provider of rows.providers ?? []) providers.set(provider.uuid, provider);
  });
  return {
    host: (name: string) => hosts.get(name),
    provider: (uuid: string) => providers.get(uuid),
    apply: () => {},
  };
}

it('makes a provider what its agent says again when a mirror that is behind sees no difference', async () => {
  const store = new MemoryPlacementStore();
  const report = async (sequence: number, mirror: Awaited<ReturnType<typeof stoppedMirror>>) => {
    const stats = aStatsReport({ traits: TRAITS, sequence });
    const deps = { placement: store, mirror, nowMs: sequence, maxInstances: 10 };
    await updateResourceStats(stats, agentSender(stats.host), deps);
    return stats;
  };
  const { providerUuid } = await report(1, await stoppedMirror(store));
  const behind = await stoppedMirror(store);
  await mustCommit(store, { kind: 'write_traits', providerUuid, generation: undefined, traits: [] });
  await report(2, behind);
  expect((await stoppedMirror(store)).provider(providerUuid)).toMatchObject({ traits: TRAITS });
});
