import type { Reason } from '../filters/filter';

/** That a filter refuses a host, and why. */
export interface Refusal {
  readonly filter: string;
  readonly reason: Reason;
}

/** The verdict of a host that no filter refuses. */
export const PASSES = 0;

/**
 * Verdicts as small numbers: each stands for one set of refusals, and hosts with the same set have the same number. A
 * fleet knows few sets, so that counting hosts per verdict is the whole diagnosis, kept up to date by adding and
 * subtracting one: refusing costs no more than placing.
 */
export class Verdicts {
  private readonly refusals: (readonly Refusal[])[] = [[]];
  private readonly extended: Map<Reason, number>[] = [new Map()];
  private readonly counts: number[] = [0];

  /** The verdict with one more refusal. Refusals come in the order of the checks, so a set has one number. */
  extend(verdict: number, filter: string, reason: Reason): number {
    const known = this.extended[verdict]?.get(reason);
    if (known !== undefined) return known;
    const next = this.refusals.length;
    this.refusals.push([...this.of(verdict), { filter, reason }]);
    this.extended.push(new Map());
    this.counts.push(0);
    this.extended[verdict]?.set(reason, next);
    return next;
  }

  of(verdict: number): readonly Refusal[] {
    return this.refusals[verdict] ?? [];
  }

  /** One host more or less has the verdict. */
  count(verdict: number, by: 1 | -1): void {
    this.counts[verdict] = this.countOf(verdict) + by;
  }

  countOf(verdict: number): number {
    return this.counts[verdict] ?? 0;
  }

  /** Every verdict that hosts have, with their number. */
  *[Symbol.iterator](): Generator<{ readonly refusals: readonly Refusal[]; readonly hostCount: number }> {
    for (const [verdict, hostCount] of this.counts.entries()) {
      if (hostCount > 0) yield { refusals: this.of(verdict), hostCount };
    }
  }
}
