import type { Clock } from '#libs/domain/clock';
import type { Log } from '#libs/runtime/log';
import { createTimerWheel } from '#libs/runtime/timer-wheel';
import { type Host, refreshExternalUsage } from '../host/host';

/** Polls the external usage of hosts. */
export interface UsageWatch {
  add(host: Host): void;
  stop(): void;
}

/**
 * Polls each host's external usage at an interval, from one timer, and reports changes early: until then schedulers
 * send builds that do not fit, and conductors have to try alternates.
 */
export function watchUsage(clock: Clock, log: Log, intervalMs: number): UsageWatch {
  const wheel = createTimerWheel<Host>(clock, Math.min(intervalMs, TICK_MS), (host) => void look(host));

  async function look(host: Host): Promise<void> {
    try {
      await refreshExternalUsage(host);
      host.reportSoon();
    } catch (error) {
      log.warn(
        { event: 'usage_not_read', host: host.facts.name, error },
        'external usage of the host not read, retrying',
      );
    }
    wheel.set(host, clock.elapsed() + intervalMs);
  }

  return { add: (host) => wheel.set(host, clock.elapsed() + intervalMs), stop: () => wheel.stop() };
}

const TICK_MS = 200;
