import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { Log } from '#libs/runtime/log';

/** Leases that are ended in one commit. */
const AT_ONCE = 500;
const INTERVAL_MS = 10_000;

export interface SweepLeasesDeps {
  readonly placement: Pick<PlacementStore, 'commit'>;
  readonly mirror: Pick<Mirror, 'apply' | 'leases'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Takes leases away whose time is over, until the signal aborts. They count for nothing before that; only their rows go. */
export async function sweepLeases(deps: SweepLeasesDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, log } = deps;
  while (!signal.aborted) {
    await sleep(clock, INTERVAL_MS * (0.75 + random.next() / 2), signal);
    if (signal.aborted) return;
    await endExpired(deps).catch((thrown: unknown) => {
      const { reason } = BerthError.from(thrown);
      log.info({ event: 'lease_sweep_failed', reason }, 'expired leases not removed, retrying later');
    });
  }
}

async function endExpired({ placement, mirror, clock }: SweepLeasesDeps): Promise<void> {
  const nowMs = clock.now();
  const expired: string[] = [];
  for (const { consumerUuid, untilMs } of mirror.leases()) if (untilMs <= nowMs) expired.push(consumerUuid);
  for (let from = 0; from < expired.length; from += AT_ONCE) {
    const consumerUuids = expired.slice(from, from + AT_ONCE);
    const result = await placement.commit({ kind: 'end_leases', atMs: nowMs, consumerUuids, expiredAtMs: nowMs });
    if (result.kind === 'committed') mirror.apply(result.change);
  }
}
