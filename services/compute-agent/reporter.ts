import { setMaxListeners } from 'node:events';
import type { Bus } from '#libs/bus/port';
import type { UpdateResourceStatsRequest } from '#libs/contracts/messages';
import { callMethod } from '#libs/contracts/rpc';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { agentSender, STATS } from '#libs/contracts/topology';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Surroundings } from '#libs/runtime/service';
import type { AgentMetrics } from './metrics';
import type { AgentConfig } from './options';
import { createSlots } from './slots';
import { createWheel } from './wheel';

/** What a host reports, without what the reporter adds. */
export type Stats = Omit<UpdateResourceStatsRequest, 'host' | 'agentRun' | 'sequence'>;

/** Sends the reports of all hosts of a process. */
export interface Reporter {
  /** Reports for a host from now on, first at once. `ioOps` is what `stats` will say of it. */
  add(host: string, stats: () => Promise<Stats>, ioOps: () => number): HostReporter;
  /** Ends reporting. */
  stop(): void;
}

export interface HostReporter {
  /** Resolves when the first report was tried, whatever became of it. */
  readonly first: Promise<void>;
  /** The host is not as it was: it reports soon, if that is news. */
  changed(): void;
  /** Reports once more, now. Never rejects. */
  last(): Promise<void>;
}

interface Reporting {
  readonly host: string;
  readonly stats: () => Promise<Stats>;
  readonly ioOps: () => number;
  sequence: number;
  sentAtMs: number;
  /** When it reports though there is no news. */
  nextAtMs: number;
  toldIoOps: number;
  failures: number;
  isSending: boolean;
  isChanged: boolean;
}

/** Reports are late by at most this; those of hosts that are due meanwhile travel together. */
const TICK_MS = 200;

/**
 * Reports on change and periodically, from one timer and with a bound on what waits for answers.
 *
 * Changes that come soon after a report wait until `reportMinIntervalMs` have passed, and go together. News is only how
 * much the host is at work: what instances it carries, their claims say, and the next report confirms. A report that
 * nobody could take is tried again with growing pauses; one that was rejected is a fault for people to see, and the host
 * goes on reporting, because the next report may be right. Each try has a sequence of its own: an answer that got lost
 * does not make the next report stale.
 */
export function createReporter(bus: Bus, config: AgentConfig, metrics: AgentMetrics, around: Surroundings): Reporter {
  const { clock, random, log } = around;
  const agentRun = random.uuid();
  const slots = createSlots(config.reportsInFlight);
  const stopping = new AbortController();
  // All hosts may wait for a slot, each with a listener.
  setMaxListeners(0, stopping.signal);
  /** Whether a report could not be delivered and none was since: said once, not for each host. */
  let isAway = false;
  const wheel = createWheel<Reporting>(clock, TICK_MS, (host) => due(host));

  const jittered = (ms: number) => ms * (1 + config.reportJitter * (2 * random.next() - 1));

  function due(host: Reporting): void {
    const hasNews = host.ioOps() !== host.toldIoOps;
    if (hasNews || clock.now() >= host.nextAtMs) void report(host);
    else wheel.set(host, host.nextAtMs);
  }

  async function report(host: Reporting): Promise<void> {
    if (host.isSending) return;
    host.isSending = true;
    const release = await slots.take(stopping.signal);
    if (release) {
      host.isChanged = false;
      const delayMs = await send(host).finally(release);
      host.isSending = false;
      host.nextAtMs = clock.now() + delayMs;
      if (!stopping.signal.aborted) wheel.set(host, host.nextAtMs);
      if (host.isChanged) soon(host);
    }
  }

  /** Sends one report and answers with the pause until the next. */
  async function send(host: Reporting): Promise<number> {
    host.sentAtMs = clock.now();
    host.sequence++;
    const isFirst = host.sequence === 1;
    try {
      const stats = await host.stats();
      const request = { ...stats, host: host.host, agentRun, sequence: host.sequence };
      const timeoutMs = config.reportTimeoutMs;
      const options = { timeoutMs, sender: agentSender(host.host) };
      await callMethod(bus, STATS.name, updateResourceStatsMethod, request, options);
      host.failures = 0;
      host.toldIoOps = stats.ioOps;
      if (isAway) log.info({}, 'stats are taken again');
      isAway = false;
      metrics.reports.inc({ result: 'accepted' });
      // Hosts that started together spread over the interval.
      return isFirst ? config.reportIntervalMs * random.next() : jittered(config.reportIntervalMs);
    } catch (thrown) {
      return isForNow(BerthError.from(thrown)) ? postponed(host, thrown) : rejected(host, thrown);
    }
  }

  function postponed(host: Reporting, error: unknown): number {
    metrics.reports.inc({ result: 'unavailable' });
    if (!isAway) log.warn({ host: host.host, error }, 'stats can not be delivered; hosts try again until they can');
    isAway = true;
    const pauseMs = Math.min(config.retryMaxMs, 100 * 2 ** Math.min(host.failures++, 16));
    return jittered(pauseMs);
  }

  function rejected(host: Reporting, error: unknown): number {
    metrics.reports.inc({ result: 'rejected' });
    log.warn({ host: host.host, sequence: host.sequence, error }, 'stats were not taken; the host goes on reporting');
    return jittered(config.reportIntervalMs);
  }

  function soon(host: Reporting): void {
    host.isChanged = true;
    if (!host.isSending && host.failures === 0) wheel.setBy(host, host.sentAtMs + config.reportMinIntervalMs);
  }

  return {
    add(name, stats, ioOps) {
      const unsent = { sequence: 0, sentAtMs: 0, nextAtMs: 0, toldIoOps: 0, failures: 0 };
      const host: Reporting = { host: name, stats, ioOps, ...unsent, isSending: false, isChanged: false };
      return {
        first: report(host),
        changed: () => soon(host),
        last: async () => {
          const release = await slots.take();
          await send(host).finally(release);
        },
      };
    },
    stop() {
      stopping.abort();
      wheel.stop();
    },
  };
}

/** Whether a later report can succeed though nothing about the host changes. */
function isForNow(error: BerthError): boolean {
  return isRetryable(error) || error.code === 'resource_exhausted';
}
