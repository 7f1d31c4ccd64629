import limitConcurrency from 'p-limit';
import { BerthError } from '#libs/domain/errors';
import { counted } from '#libs/runtime/counted';
import type { CarryingRun, Hosting } from './agent-run';
import { MAX_OPENING_HOSTS, type ManagedHost, openHost } from './carried-hosts';
import type { LossReason } from './holding/host-lease';
import { renewByConductors } from './holding/renew-by-conductors';
import { HostReports } from './host-reports';
import type { Reporter } from './reports/reporter';
import { watchUsage } from './reports/watch-usage';

/** The hosts of this process alone, itself or thousands. It starts once it holds and reports all of them. */
export class OwnHosts implements Hosting {
  readonly begun: Promise<void>;
  readonly #run: CarryingRun;
  readonly #reports: HostReports;
  readonly #usage: ReturnType<typeof watchUsage>;
  readonly #takeTurn = limitConcurrency(MAX_OPENING_HOSTS);
  readonly #renewing = new AbortController();
  #failure: BerthError | undefined;
  #allReported = () => {};

  constructor(run: CarryingRun, reporter: Reporter) {
    this.#run = run;
    this.#usage = watchUsage(run.clock, run.log, run.config.lookIntervalMs);
    this.#reports = new HostReports(reporter, (host) => this.#usage.add(host));
    this.begun = new Promise((resolve) => {
      this.#allReported = resolve;
    });
  }

  get failure(): BerthError | undefined {
    return this.#failure;
  }

  /** Schedulers alone assign a pool's nodes to its agents; leases of other hosts conductors renew, too. */
  begin(): void {
    const leases = this.#run.carried.map(({ lease }) => lease);
    void renewByConductors({ ...this.#run, leases }, this.#renewing.signal);
  }

  async open(granted: readonly ManagedHost[]): Promise<void> {
    const { orders, carried } = this.#run;
    // All settle before the first failure is thrown: nothing opens after the cleanup.
    const results = await Promise.allSettled(granted.map((one) => this.#takeTurn(() => this.#open(one))));
    for (const result of results) if (result.status === 'rejected') this.#fail(result.reason);
    await Promise.all([orders.consume(), ...granted.map((one) => one.host && this.#reports.begin(one, one.host))]);
    if (this.#reports.count === carried.length || this.#failure !== undefined) this.#allReported();
  }

  lose(one: ManagedHost, reason: LossReason): void {
    const { carried, orders } = this.#run;
    if (reason !== 'epoch_superseded') return;
    one.host?.builds.handBack();
    if (!carried.some((other) => other.lease.isHeld)) void orders.cancel();
  }

  whyNotReady(): string | undefined {
    const { carried, orders } = this.#run;
    const heldCount = carried.filter(({ lease }) => lease.isHeld).length;
    if (heldCount < carried.length) return `${heldCount} of ${counted(carried.length, 'host')} held`;
    if (!orders.isConsuming) return 'the order queue is not consumed yet';
    const { count } = this.#reports;
    return count === carried.length ? undefined : `${count} of ${counted(carried.length, 'host')} reported`;
  }

  stop(): void {
    this.#renewing.abort();
    this.#usage.stop();
  }

  async leave(): Promise<void> {}

  async #open(one: ManagedHost): Promise<void> {
    one.host ??= await openHost(one, this.#run, this.#run.lostReports);
  }

  #fail(thrown: unknown): void {
    this.#failure ??= BerthError.from(thrown);
    this.#run.log.error({ event: 'host_not_opened', error: thrown }, 'granted host not opened');
  }
}
