import type { RuntimeDeps } from '#libs/runtime/service';
import type { HostFacts } from '../host-facts';
import type { EndedBuild, Journal } from '../journal';
import type { KeptMs } from './kept-ms';
import { isCovered, laterOf } from './tombstones';

/**
 * Journals builds that failed, and instances that were lost or destroyed: later runs of the agent refuse a copy of their
 * orders, since the instance runs elsewhere by then, or is in ERROR, or deleted, and a new build would belong to nobody.
 */
export interface EndedBuilds {
  /** Keeps the later of this end and an earlier one of the instance. */
  keep(ended: EndedBuild): Promise<void>;
  /** Those of earlier runs, kept for as long again. */
  recall(): Promise<readonly EndedBuild[]>;
}

export interface EndedBuildsParts extends Pick<RuntimeDeps, 'clock' | 'log'> {
  readonly journal: Journal;
  readonly keptMs: KeptMs;
  readonly drainEnd: AbortSignal;
  readonly facts: Pick<HostFacts, 'name'>;
}

/** Limit per host; the oldest are dropped. */
export const MAX_ENDED = 1_000;

interface KeptEnd {
  readonly ended: EndedBuild;
  readonly endTime: () => void;
}

export function createEndedBuilds({ journal, keptMs, clock, drainEnd, log, facts }: EndedBuildsParts): EndedBuilds {
  /** By instance, oldest first. */
  const kept = new Map<string, KeptEnd>();
  const endTimes = () => kept.forEach(({ endTime }) => endTime());

  async function remember(ended: EndedBuild): Promise<void> {
    const { uuid, deadlineAtMs } = ended;
    kept.get(uuid)?.endTime();
    kept.delete(uuid);
    const endTime = drainEnd.aborted ? () => {} : clock.after(keptMs(deadlineAtMs), () => void forget(uuid));
    kept.set(uuid, { ended, endTime });
    // A pool opens and closes nodes as long as it lives: only what has entries listens.
    drainEnd.addEventListener('abort', endTimes, { once: true });
    const [oldest] = kept.keys();
    if (kept.size > MAX_ENDED && oldest) await forget(oldest);
  }

  async function forget(uuid: string): Promise<void> {
    kept.get(uuid)?.endTime();
    kept.delete(uuid);
    if (kept.size === 0) drainEnd.removeEventListener('abort', endTimes);
    await journal.removeEnded(uuid).catch((error: unknown) => {
      log.warn({ event: 'journal_failed', host: facts.name, instance_uuid: uuid, error }, 'ended build not forgotten');
    });
  }

  return {
    async keep(ended) {
      const next = laterEnd(ended, kept.get(ended.uuid)?.ended);
      await journal.putEnded(next);
      await remember(next);
    },
    async recall() {
      const all = await journal.loadEnded();
      for (const ended of all) await remember(ended);
      return all;
    },
  };
}

/** An end that covers the other says how it ended; else both are covered, without a result. */
function laterEnd(ended: EndedBuild, before: EndedBuild | undefined): EndedBuild {
  if (before === undefined) return ended;
  const deadlineAtMs = Math.max(ended.deadlineAtMs ?? 0, before.deadlineAtMs ?? 0);
  if (isCovered(before, ended)) return { ...ended, deadlineAtMs };
  if (isCovered(ended, before)) return { ...before, deadlineAtMs };
  return { uuid: ended.uuid, ...laterOf(ended, before), deadlineAtMs };
}
