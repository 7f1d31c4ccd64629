import type { ManagedHost } from './carried-hosts';
import { collectStats, type Host } from './host/host';
import { describeVolatile } from './host/stats';
import type { Reporter } from './reports/reporter';

/** Reports of hosts, from when they are open. */
export class HostReports {
  readonly #reporter: Reporter;
  readonly #onBegun: (host: Host) => void;
  #count = 0;

  constructor(reporter: Reporter, onBegun: (host: Host) => void = () => {}) {
    this.#reporter = reporter;
    this.#onBegun = onBegun;
  }

  /** The hosts whose first report was answered. */
  get count(): number {
    return this.#count;
  }

  /** Reports for a host from now on, or again; resolves when the first report was answered, or failed. */
  async begin(one: ManagedHost, host: Host): Promise<void> {
    if (one.reports) return one.reports.resume();
    const stats = (hasAllocationRequests: boolean) => collectStats(host, hasAllocationRequests);
    const disabled = await host.journal.loadDisabled();
    const remember = (next: typeof disabled) => host.journal.putDisabled(next);
    const reports = this.#reporter.add(one.lease, stats, () => describeVolatile(host), { disabled, remember });
    one.reports = reports;
    host.reportSoon = () => reports.reportSoon();
    host.reportNow = () => reports.reportNow();
    this.#onBegun(host);
    await reports.firstSent;
    this.#count++;
  }
}
