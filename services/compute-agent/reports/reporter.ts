import limitConcurrency from 'p-limit';
import type { Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { agentSender, STATS } from '#libs/contracts/queues';
import { type HostDisabled, updateResourceStatsMethod } from '#libs/contracts/stats';
import { BerthError, isRetryable } from '#libs/domain/errors';
import { backoffMs } from '#libs/runtime/backoff';
import type { RuntimeDeps } from '#libs/runtime/service';
import { createTimerWheel, type TimerWheel } from '#libs/runtime/timer-wheel';
import { type HostLease, isLoss, type LossReason } from '../holding/host-lease';
import type { Stats } from '../host/stats';
import type { AgentMetrics } from '../metrics';
import type { AgentConfig } from '../options';

export interface ReporterDeps extends RuntimeDeps {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly counters: AgentMetrics;
  readonly agentRun: string;
}

/** Sends the stats of all hosts of a process. */
export interface Reporter {
  /** Reports for a host from now on, first at once, while it is held. */
  add(lease: HostLease, stats: CollectStats, volatile: DescribeVolatile, disabled: RememberedDisabled): HostReporter;
  /** Ends reporting. */
  stop(): void;
  /** Reports once more for all hosts, now. Never rejects. */
  reportAll(): Promise<void>;
}

/** The remembered disabling of a host by an operator, and the function that stores a change. */
export interface RememberedDisabled {
  readonly disabled: HostDisabled | undefined;
  readonly remember: (disabled: HostDisabled | undefined) => Promise<void>;
}

export interface HostReporter {
  /** Resolves when the first report was answered, or failed. */
  readonly firstSent: Promise<void>;
  /** Reports early if the volatile state differs from the last report. */
  reportSoon(): void;
  /** Reports at once, and again if a report in flight lacks the change. */
  reportNow(): void;
  /** Reports again: the host was lost and is held again. */
  resume(): void;
  /** Reports no more. */
  end(): void;
}

/** Returns the content of a host's report, on request with its instances' allocation requests. */
export type CollectStats = (hasAllocationRequests: boolean) => Promise<Stats>;

/** The state of a host that is reported as soon as it changes, as a text to compare. */
export type DescribeVolatile = () => string;

interface Reporting {
  readonly lease: HostLease;
  readonly stats: CollectStats;
  readonly volatile: DescribeVolatile;
  sequence: number;
  sentAtMs: number;
  /** When it reports without a change. */
  nextAtMs: number;
  /** From the last report. */
  sentVolatile: string;
  /** An operator's disabling in the last answer: a wiped store learns it from here. */
  disabled: HostDisabled | undefined;
  readonly remember: RememberedDisabled['remember'];
  /**
   * True when the last answer requested them, and for the first report of an epoch if orders were taken until the loss
   * before. Otherwise instances in the first report may be destroyed by waiting orders, and must not count as running.
   */
  hasAllocationRequests: boolean;
  /** The store's time of the last answer; 0 before the first. */
  answeredAtMs: number;
  /** Consecutive failures, of those that are retried with backoff. */
  failures: number;
  isSending: boolean;
  /** True when a change is missing in the report in flight. */
  isUrgent: boolean;
  isEnded: boolean;
}

/** Reports are late by at most this; hosts due within it report together, in fewer messages. */
const TICK_MS = 200;
/** The first pause of the backoff. */
const FIRST_PAUSE_MS = 100;

/**
 * Reports periodically and on change, from one timer, with at most `reportsInFlight` reports awaiting their answers.
 *
 * Builds in progress and external usage count as changes: the claims show a host's instances, and the next periodic
 * report confirms them. Changes within `reportMinIntervalMs` of a report share one report. A report that can't be
 * delivered is retried with backoff. A rejected one is logged for operators, and the host continues at its interval,
 * because the next may be accepted. Each try has a sequence number of its own, so that a lost answer does not make the
 * next report stale. When another run holds the host, its reports end until it is held again.
 */
export function createReporter(deps: ReporterDeps): Reporter {
  return new ReportsOfHosts(deps);
}

class ReportsOfHosts implements Reporter {
  readonly #deps: ReporterDeps;
  readonly #all = new Set<Reporting>();
  /** Last sequences of hosts no longer reported: should they come back, their reports continue from there. */
  readonly #sequences = new Map<string, number>();
  readonly #takeTurn: ReturnType<typeof limitConcurrency>;
  readonly #wheel: TimerWheel<Reporting>;
  #isStopped = false;
  /** True when the last report could not be delivered: logged once, not per host. */
  #isUnavailable = false;

  constructor(deps: ReporterDeps) {
    this.#deps = deps;
    this.#takeTurn = limitConcurrency(deps.config.reportsInFlight);
    this.#wheel = createTimerWheel<Reporting>(deps.clock, TICK_MS, (host) => this.#reportIfDue(host));
  }

  add(lease: HostLease, stats: CollectStats, volatile: DescribeVolatile, remembered: RememberedDisabled): HostReporter {
    const host: Reporting = {
      lease,
      stats,
      volatile,
      hasAllocationRequests: false,
      ...remembered,
      sequence: this.#sequences.get(lease.host) ?? 0,
      sentAtMs: 0,
      nextAtMs: 0,
      sentVolatile: '',
      answeredAtMs: 0,
      failures: 0,
      isSending: false,
      isUrgent: false,
      isEnded: false,
    };
    this.#all.add(host);
    return {
      firstSent: this.#report(host),
      reportSoon: () => this.#reportSoon(host),
      reportNow: () => {
        host.isUrgent = true;
        void this.#report(host);
      },
      end: () => {
        host.isEnded = true;
        this.#all.delete(host);
        this.#sequences.set(lease.host, host.sequence);
      },
      resume: () => {
        host.hasAllocationRequests = lease.wasCertain;
        host.failures = 0;
        void this.#report(host);
      },
    };
  }

  stop(): void {
    this.#isStopped = true;
    this.#wheel.stop();
  }

  async reportAll(): Promise<void> {
    const held = [...this.#all].filter(({ lease }) => lease.isHeld);
    await Promise.all(held.map((host) => this.#takeTurn(() => this.#send(host))));
  }

  #isChanged(host: Reporting): boolean {
    return host.volatile() !== host.sentVolatile;
  }

  #jittered(ms: number): number {
    const { config, random } = this.#deps;
    return ms * (1 + config.reportJitter * (2 * random.next() - 1));
  }

  #reportIfDue(host: Reporting): void {
    if (host.isEnded) return;
    if (this.#isChanged(host) || this.#deps.clock.elapsed() >= host.nextAtMs) void this.#report(host);
    else this.#wheel.set(host, host.nextAtMs);
  }

  async #report(host: Reporting): Promise<void> {
    if (host.isSending || host.isEnded || !host.lease.isHeld) return;
    host.isSending = true;
    const pauseMs = await this.#takeTurn(() => (this.#isStopped || host.isEnded ? 0 : this.#send(host)));
    if (this.#isStopped || host.isEnded) return;
    host.isSending = false;
    host.nextAtMs = this.#deps.clock.elapsed() + pauseMs;
    if (!host.lease.isHeld) return;
    this.#wheel.set(host, host.nextAtMs);
    if (host.isUrgent) void this.#report(host);
    else if (this.#isChanged(host)) this.#reportSoon(host);
  }

  /** Sends one report and resolves to the pause until the next. */
  async #send(host: Reporting): Promise<number> {
    const { bus, agentRun, config, clock, random, counters, log } = this.#deps;
    host.sentAtMs = clock.elapsed();
    host.sequence++;
    host.isUrgent = false;
    const isFirst = host.sequence === 1;
    try {
      const stats = await host.stats(host.hasAllocationRequests);
      host.sentVolatile = host.volatile();
      const { sequence, disabled, answeredAtMs } = host;
      const name = host.lease.host;
      const request = { ...stats, host: name, agentRun, sequence, disabled, answeredAtMs };
      const options = { timeoutMs: config.reportTimeoutMs, sender: agentSender(name) };
      const response = await callMethod({ bus, queue: STATS }, updateResourceStatsMethod, request, options);
      const { wantsAllocationRequests } = response;
      host.answeredAtMs = response.atMs ?? 0;
      if (response.atMs) host.lease.hearStoreTime(response.atMs);
      await this.#rememberDisabled(host, response.disabled);
      host.lease.renew(host.sentAtMs);
      host.failures = 0;
      const isAskedAgain = wantsAllocationRequests && !host.hasAllocationRequests;
      host.hasAllocationRequests = wantsAllocationRequests;
      if (this.#isUnavailable) log.info({ event: 'stats_available' }, 'stats are delivered again');
      this.#isUnavailable = false;
      counters.reports.inc({ result: 'accepted' });
      if (isAskedAgain) return Math.min(config.reportMinIntervalMs, config.reportIntervalMs);
      // Hosts that started together spread over the interval.
      return isFirst ? config.reportIntervalMs * random.next() : this.#jittered(config.reportIntervalMs);
    } catch (thrown) {
      const error = BerthError.from(thrown);
      if (isLoss(error.reason)) return this.#lose(host, error.reason);
      const mayComeThrough = isRetryable(error) || error.code === 'resource_exhausted';
      return mayComeThrough ? this.#postpone(host, error) : this.#reject(host, error);
    }
  }

  /** A failed write is retried at the next answer. */
  async #rememberDisabled(host: Reporting, disabled: HostDisabled | undefined): Promise<void> {
    if (disabled?.reason === host.disabled?.reason) return;
    try {
      await host.remember(disabled);
      host.disabled = disabled;
    } catch (error) {
      const fields = { event: 'disabled_not_remembered', host: host.lease.host, error };
      this.#deps.log.error(fields, 'operator state of the host not stored');
    }
  }

  /** Ends the reports until the host is held again. */
  #lose(host: Reporting, reason: LossReason): number {
    this.#deps.counters.reports.inc({ result: reason });
    host.lease.lose(reason);
    return 0;
  }

  #postpone(host: Reporting, error: BerthError): number {
    const { config, counters, log, random } = this.#deps;
    counters.reports.inc({ result: 'unavailable' });
    if (!this.#isUnavailable) {
      log.warn({ event: 'stats_unavailable', host: host.lease.host, error }, 'stats not delivered, all hosts retry');
    }
    this.#isUnavailable = true;
    host.failures++;
    return backoffMs(host.failures, { firstMs: FIRST_PAUSE_MS, maxMs: config.retryMaxMs }, random);
  }

  #reject({ lease, sequence }: Reporting, error: BerthError): number {
    const { config, counters, log } = this.#deps;
    counters.reports.inc({ result: 'rejected' });
    log.warn({ event: 'stats_rejected', host: lease.host, sequence, error }, 'stats rejected, reporting continues');
    return this.#jittered(config.reportIntervalMs);
  }

  #reportSoon(host: Reporting): void {
    if (!host.isSending && !host.isEnded && host.failures === 0)
      this.#wheel.setBy(host, host.sentAtMs + this.#deps.config.reportMinIntervalMs);
  }
}
