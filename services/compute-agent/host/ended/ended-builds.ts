import type { RuntimeDeps } from '#libs/runtime/service';
import type { HostFacts } from '../host-facts';
import type { EndedBuild, Journal } from '../journal';
import { TOMBSTONE_KEPT_MS } from './tombstones';

/**
 * Journals builds that failed or were lost, once that is reported: later runs of the agent refuse a copy of their orders, since
 * the instance runs elsewhere by then, or is in ERROR, and a new build would belong to nobody.
 */
export interface EndedBuilds {
  keep(ended: EndedBuild): Promise<void>;
  /** Those of earlier runs, kept for as long again. */
  recall(): Promise<readonly EndedBuild[]>;
}

export interface EndedBuildsParts extends Pick<RuntimeDeps, 'clock' | 'log'> {
  readonly journal: Journal;
  readonly drainEnd: AbortSignal;
  readonly facts: Pick<HostFacts, 'name'>;
}

/** Limit per host; the oldest are dropped. */
export const MAX_ENDED = 1_000;

export function createEndedBuilds({ journal, clock, drainEnd, log, facts }: EndedBuildsParts): EndedBuilds {
  /** By instance, oldest first: what ends its time. */
  const kept = new Map<string, () => void>();
  const endTimes = () => kept.forEach((endTime) => endTime());

  async function remember(uuid: string): Promise<void> {
    kept.get(uuid)?.();
    kept.delete(uuid);
    kept.set(uuid, drainEnd.aborted ? () => {} : clock.after(TOMBSTONE_KEPT_MS, () => void forget(uuid)));
    // A pool opens and closes nodes as long as it lives: only what has entries listens.
    drainEnd.addEventListener('abort', endTimes, { once: true });
    const [oldest] = kept.keys();
    if (kept.size > MAX_ENDED && oldest) await forget(oldest);
  }

  async function forget(uuid: string): Promise<void> {
    kept.get(uuid)?.();
    kept.delete(uuid);
    if (kept.size === 0) drainEnd.removeEventListener('abort', endTimes);
    await journal.removeEnded(uuid).catch((error: unknown) => {
      log.warn({ event: 'journal_failed', host: facts.name, instance_uuid: uuid, error }, 'ended build not forgotten');
    });
  }

  return {
    async keep(ended) {
      await journal.putEnded(ended);
      await remember(ended.uuid);
    },
    async recall() {
      const all = await journal.loadEnded();
      for (const { uuid } of all) await remember(uuid);
      return all;
    },
  };
}
