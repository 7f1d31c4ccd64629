import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import type { Mirror } from '#libs/placement/mirror';
import type { PlacementStore } from '#libs/placement/store';
import type { Log } from '#libs/runtime/log';

export interface SweepDeps {
  readonly placement: PlacementStore;
  readonly mirror: Pick<Mirror, 'apply'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly hostTimeoutMs: number;
  /** Whether reports could be heard just now. */
  readonly isListening: () => boolean;
}

/**
 * Takes hosts as down that did not report for the timeout. Every scheduler does it, each at its own pace; one commit takes
 * each host once, whoever comes first.
 *
 * Silence counts only while somebody listened: after a start or a break of bus or store the whole timeout must pass
 * first, else a fleet would go down because nobody heard it. Ends when the signal aborts.
 */
export async function sweepHosts(deps: SweepDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, hostTimeoutMs, isListening } = deps;
  let listeningSinceMs = clock.now();
  while (!signal.aborted) {
    await sleep(clock, (hostTimeoutMs / SWEEPS_PER_TIMEOUT) * (0.75 + random.next() / 2), signal);
    const nowMs = clock.now();
    if (!isListening()) listeningSinceMs = nowMs;
    if (signal.aborted || nowMs - listeningSinceMs < hostTimeoutMs) continue;
    if (!(await sweepOnce(deps, nowMs))) listeningSinceMs = clock.now();
  }
}

/** Sweeps are this much more frequent than the timeout, so that a host is down at most a quarter late. */
const SWEEPS_PER_TIMEOUT = 4;

const HOSTS_AT_ONCE = 1_000;

/** False when the store was away. */
async function sweepOnce({ placement, mirror, log, hostTimeoutMs }: SweepDeps, nowMs: number): Promise<boolean> {
  try {
    for (;;) {
      const result = await placement.commit({
        kind: 'sweep_hosts',
        atMs: nowMs,
        silentSinceMs: nowMs - hostTimeoutMs,
        limit: HOSTS_AT_ONCE,
      });
      if (result.kind !== 'committed') return true;
      mirror.apply(result.change);
      const hosts = (result.change.hosts ?? []).map((host) => host.name);
      if (hosts.length > 0)
        log.warn({ hosts: hosts.slice(0, 20), host_count: hosts.length }, 'hosts fell silent: down');
      if (hosts.length < HOSTS_AT_ONCE) return true;
    }
  } catch (thrown) {
    const error = BerthError.from(thrown);
    log.warn({ code: error.code, reason: error.reason }, `could not look for silent hosts: ${error.message}`);
    return false;
  }
}
