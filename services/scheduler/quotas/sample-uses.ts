import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { Log } from '#libs/runtime/log';
import { readRecentUses, type ShareDeps } from './fair-shares';

export interface SampleDeps extends ShareDeps {
  readonly placement: ShareDeps['placement'] & Pick<PlacementStore, 'commit'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly config: { readonly usageIntervalMs: number };
}

/** Samples in a half-life: so a unit is aged by a hundredth of a half-life too much or too little at most. */
const SAMPLES = 64;
const LEAST_INTERVAL_MS = 100;

/**
 * Samples what projects held lately, until the signal aborts. Every scheduler does it at its own pace, and writes over the
 * samples of others: each is right by itself. Only projects whose use has changed since are written.
 */
export async function keepUsesSampled(deps: SampleDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, log, halfLifeMs, config } = deps;
  if (halfLifeMs === 0) return;
  const intervalMs = Math.max(LEAST_INTERVAL_MS, Math.min(config.usageIntervalMs, halfLifeMs / SAMPLES));
  while (!signal.aborted) {
    await sleep(clock, intervalMs * (0.75 + random.next() / 2), signal);
    if (signal.aborted) return;
    try {
      await sampleUses(deps);
    } catch (thrown) {
      const { code, reason, message } = BerthError.from(thrown);
      log.warn({ event: 'recent_use_not_sampled', code, reason }, `recent use of projects not sampled: ${message}`);
    }
  }
}

/** @throws BerthError as `PlacementStore.commit`. */
export async function sampleUses(deps: SampleDeps): Promise<void> {
  const atMs = deps.clock.now();
  const { changed, forgotten } = await readRecentUses(deps, atMs);
  if (changed.length + forgotten.length === 0) return;
  await deps.placement.commit({ kind: 'note_recent_use', samples: changed, forgotten, atMs });
}
