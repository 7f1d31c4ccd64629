import type { Reason } from '../filters/filter';
import type { Refusal } from './judgement';

/** Hosts that a filter refuses, by reason. */
export interface FilterRefusals {
  hostCount: number;
  readonly reasons: Map<string, { readonly phrase: string; hostCount: number }>;
}

/**
 * Counts of refused hosts, by filter and symbol of the reason: the whole diagnosis, kept current by adding and removing one
 * host's refusals, so that refusing costs no more than placing. It holds current counts, and of each reason only its symbol
 * and phrase.
 */
export class RefusalCounts {
  readonly byFilter = new Map<string, FilterRefusals>();

  /** Counts the refusals of one host, in the order of the filters. */
  add(refusals: readonly Refusal[]): void {
    this.countEach(refusals, 1);
  }

  /** Takes away the refusals of one host that were counted. */
  remove(refusals: readonly Refusal[]): void {
    this.countEach(refusals, -1);
  }

  /** Counts hosts that a filter refuses for one reason. */
  addHosts(filter: string, reason: Reason, hostCount: number): void {
    if (hostCount > 0) this.count(filter, reason, hostCount, hostCount);
  }

  copy(): RefusalCounts {
    const copy = new RefusalCounts();
    for (const [filter, { hostCount, reasons }] of this.byFilter) {
      copy.byFilter.set(filter, { hostCount, reasons: new Map([...reasons].map(([key, one]) => [key, { ...one }])) });
    }
    return copy;
  }

  private countEach(refusals: readonly Refusal[], by: 1 | -1): void {
    for (const [i, { filter, reason }] of refusals.entries()) {
      const isFirst = refusals[i - 1]?.filter !== filter;
      this.count(filter, reason, isFirst ? by : 0, by);
    }
  }

  private count(filter: string, { symbol, phrase }: Reason, hosts: number, hostsWithReason: number): void {
    let counted = this.byFilter.get(filter);
    if (!counted) {
      counted = { hostCount: 0, reasons: new Map() };
      this.byFilter.set(filter, counted);
    }
    counted.hostCount += hosts;
    const reason = counted.reasons.get(symbol);
    if (!reason) {
      counted.reasons.set(symbol, { phrase, hostCount: hostsWithReason });
      return;
    }
    reason.hostCount += hostsWithReason;
    if (reason.hostCount > 0) return;
    counted.reasons.delete(symbol);
    if (counted.reasons.size === 0) this.byFilter.delete(filter);
  }
}
