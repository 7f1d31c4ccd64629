import type { Clock } from '../domain/clock';
import { BerthError } from '../domain/errors';
import type { Metrics } from '../runtime/metrics';
import { inSpan } from '../runtime/tracing';
import type { PlacementStore } from './port/placement-store';

/**
 * `commit` of a store, timed and traced: how long the store took to answer, by how the commit ended (an error's reason among
 * them).
 */
export function measureCommits(
  store: PlacementStore,
  { clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics },
): PlacementStore['commit'] {
  const commit = store.commit.bind(store);
  const seconds = metrics.histogram('berth_store_commit_seconds', 'From a commit to the answer of the store.', [
    'outcome',
  ]);
  return async (command) => {
    const startedMs = clock.elapsed();
    const note = (outcome: string) => seconds.observe({ outcome }, (clock.elapsed() - startedMs) / 1_000);
    try {
      const result = await inSpan(
        { name: `commit ${command.kind}`, kind: 'client', attributes: { 'db.system.name': 'redis' } },
        () => commit(command),
      );
      note(result.kind);
      return result;
    } catch (thrown) {
      note(BerthError.from(thrown).reason);
      throw thrown;
    }
  };
}
