import { backlogOf } from '#libs/bus/backlog';
import type { Bus } from '#libs/bus/port';
import { STATS } from '#libs/contracts/queues';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { Log } from '#libs/runtime/log';

export interface SweepDeps {
  readonly bus: Pick<Bus, 'isConnected' | 'depth' | 'taken'>;
  readonly placement: PlacementStore;
  readonly mirror: Pick<Mirror, 'apply' | 'readiness'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly hostTimeoutMs: number;
  readonly heard: Readonly<ReportsHeard>;
}

/** Reports that this scheduler could not take. */
export interface ReportsHeard {
  /** The reading of `clock.elapsed` when the store last refused one. */
  lastRefusalMs: number;
}

/**
 * Marks hosts as down that have not reported for the timeout. Every scheduler sweeps, at its own pace; a host goes down
 * with one commit, whichever scheduler makes it.
 *
 * Silence counts only while this scheduler listened: after a start, a break of bus or store, a report that the
 * store refused (at its limit of memory, say), or a backlog of reports, the whole timeout must pass first, or a fleet would
 * go down because its schedulers or its store did, or because one agent floods the queue of all. Ends when the signal aborts.
 */
export async function sweepHosts(deps: SweepDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, hostTimeoutMs, heard } = deps;
  const isListening = listening(deps);
  let listeningSinceMs = clock.elapsed();
  while (!signal.aborted) {
    await sleep(clock, (hostTimeoutMs / SWEEPS_PER_TIMEOUT) * (0.75 + random.next() / 2), signal);
    listeningSinceMs = (await isListening()) ? Math.max(listeningSinceMs, heard.lastRefusalMs) : clock.elapsed();
    if (signal.aborted || clock.elapsed() - listeningSinceMs < hostTimeoutMs) continue;
    if (!(await sweepOnce(deps, clock.now()))) listeningSinceMs = clock.elapsed();
  }
}

/** Sweeps are this much more frequent than the timeout, so that a host is down at most a quarter late. */
const SWEEPS_PER_TIMEOUT = 4;

/** Answers whether reports arrive in time: not while the bus or the mirror is away, nor while they wait. */
function listening({ bus, mirror, clock, log }: SweepDeps): () => Promise<boolean> {
  const backlog = backlogOf(bus, STATS.name, clock);
  return async () => {
    const behind = await backlog();
    if (!bus.isConnected() || !mirror.readiness().ready) return false;
    if (behind === undefined) return true;
    const fields = { event: 'reports_behind', waiting: behind.waiting, taken_per_second: behind.takenPerSecond };
    log.warn(fields, 'host reports wait in the queue: no host is marked down until they are read');
    return false;
  };
}

const HOSTS_AT_ONCE = 1_000;

/** False when the store was unavailable. */
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
        log.warn(
          { event: 'hosts_down', hosts: hosts.slice(0, 20), host_count: hosts.length },
          'silent hosts marked down',
        );
      if (hosts.length < HOSTS_AT_ONCE) return true;
    }
  } catch (thrown) {
    const error = BerthError.from(thrown);
    const fields = { event: 'host_sweep_failed', code: error.code, reason: error.reason };
    log.warn(fields, `sweep of silent hosts failed: ${error.message}`);
    return false;
  }
}
