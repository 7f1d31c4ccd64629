import { sleep } from '../domain/clock';
import type { Log } from '../runtime/log';
import type { Metrics } from '../runtime/metrics';
import type { GoOn } from './port/command';
import { fateOf, type StoreHealth, type StoreIdentity } from './port/store-identity';
import type { StoreClock } from './store-clock';

/** Interval at which a process checks which store it works on. */
const INTERVAL_MS = 5_000;
/** While the store is away little is seen. */
const MOST_UNJUDGED = 64;

export interface WatchedStore {
  identify(): Promise<StoreIdentity>;
  /** Not of a store without a server. */
  health?(): Promise<StoreHealth>;
  /** The revisions that the store told this process and that it must still have; each but the highest once. */
  takeSeen(): readonly number[];
  commit(command: { readonly atMs: number } & GoOn): Promise<unknown>;
}

export interface WatchDeps {
  readonly clock: StoreClock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** True for a process that writes nothing. */
  readonly onlyReads?: boolean;
}

/**
 * Notices that a store is not the one that it was: that it is a new one, or went back in time (a crash that lost its last
 * writes, a replica that took over without them, an older snapshot that was put back). Says so once, as an error in the log
 * (`store_new`, `store_went_back`) and in metrics; mirrors take a new snapshot by themselves, and what hosts run is claimed
 * again from their reports. Each look also sets the clock by the store's, and shows its server's memory and file as metrics. Ends when the signal aborts.
 */
export async function watchStore(
  store: WatchedStore,
  { clock, log, metrics, onlyReads = false }: WatchDeps,
  signal: AbortSignal,
): Promise<void> {
  const losses = metrics.counter('berth_store_losses_total', 'How often the store was found new or older.', ['fate']);
  const born = metrics.gauge('berth_store_born_timestamp_seconds', 'When the store was empty and first written to.');
  const memory = metrics.gauge('berth_store_memory_bytes', 'Memory of the store.');
  const memoryLimit = metrics.gauge('berth_store_memory_limit_bytes', 'At this the store refuses writes; 0: no limit.');
  const fileFailing = metrics.gauge('berth_store_file_failing', '1 while the store can not write its file.');
  for (const fate of ['new', 'went_back']) losses.inc({ fate }, 0);
  let knownId: string | undefined;
  let toldUpTo = 0;
  let unjudged: readonly number[] = [];
  while (!signal.aborted) {
    const askedAtMs = clock.elapsed();
    // A revision seen while the answer is under way may be later than it, and is no loss.
    unjudged = [...unjudged, ...store.takeSeen()].slice(-MOST_UNJUDGED);
    // While the store is away nothing is known.
    const identity = await store.identify().catch(() => undefined);
    if (identity) {
      if (identity.nowMs !== undefined) clock.set(identity.nowMs, askedAtMs);
      const seen = unjudged.filter((revision) => revision > toldUpTo);
      unjudged = [];
      const fate = fateOf(knownId ?? identity.birthId, seen, identity);
      if (fate !== 'same') {
        losses.inc({ fate });
        const { birthId, revision } = identity;
        const fields = { event: `store_${fate}`, known_birth: knownId, birth: birthId, seen_revisions: seen, revision };
        log.error(
          fields,
          fate === 'new' ? 'the store is a new one: its data is gone' : 'the store lost acknowledged writes',
        );
        toldUpTo = Math.max(toldUpTo, ...seen);
      }
      // Otherwise an idle cell waits for ever: all of before may be lost up to now, and nothing is begun.
      if (identity.isUnwritten && !onlyReads) {
        await store.commit({ kind: 'go_on', atMs: clock.now() }).catch(() => undefined);
      }
      knownId = identity.birthId;
      if (identity.bornAtMs > 0) born.set(identity.bornAtMs / 1_000);
      const health = await store.health?.().catch(() => undefined);
      if (health) {
        memory.set(health.memoryBytes);
        memoryLimit.set(health.memoryLimitBytes);
        fileFailing.set(health.isFileFailing ? 1 : 0);
      }
    }
    await sleep(clock, INTERVAL_MS, signal);
  }
}
