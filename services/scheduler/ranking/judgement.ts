import type { Check, ClassFilter, FilterSettings, Reason } from '../filters/filter';
import type { HostState } from '../fleet/host-state';
import type { EquivalenceClass } from '../request/equivalence-class';
import { WEIGHERS, type Weights } from '../weighers/registry';
import { type Measure, normalise } from '../weighers/weigher';

/** What operators set for ranking. */
export interface RankingSettings extends FilterSettings, Weights {
  /** The filters in use, in order. */
  readonly classFilters: readonly ClassFilter[];
}

/** That a filter refuses a host, and why. */
export interface Refusal {
  readonly filter: string;
  readonly reason: Reason;
}

/** The filters and weighers that an equivalence class needs, ready to run on any host. Pure. */
export class Judgement {
  private readonly checks: readonly NamedCheck[];
  private readonly measures: readonly WeightedMeasure[];

  constructor(equivalenceClass: EquivalenceClass, settings: RankingSettings) {
    this.checks = settings.classFilters.flatMap((filter) =>
      filter.prepare(equivalenceClass, settings).map((check) => ({ filter: filter.name, check })),
    );
    this.measures = WEIGHERS.flatMap(([weigher, setting]) => {
      const weight = settings[setting];
      const measure = weigher.kind === 'class' && weight !== 0 ? weigher.prepare(equivalenceClass) : undefined;
      return measure ? [{ weigher: weigher.name, weight, measure }] : [];
    });
  }

  /** Every refusal of a host, in the order of the filters; none when it passes. */
  refusals(host: HostState): readonly Refusal[] {
    let refusals: Refusal[] | undefined;
    for (const { filter, check } of this.checks) {
      const reason = check.refuse(host);
      if (reason === undefined) continue;
      refusals ??= [];
      refusals.push({ filter, reason });
    }
    return refusals ?? NONE;
  }

  /** The same as sentences, with the facts. */
  sentences(host: HostState): readonly string[] {
    return this.checks
      .filter(({ check }) => check.refuse(host) !== undefined)
      .map(({ filter, check }) => `${filter}: ${check.describe(host)}`);
  }

  /** The weight of a host, whether or not it passes; `found` as of {@link Measure.raw}. */
  weight(host: HostState, found?: readonly string[]): number {
    let sum = 0;
    for (const part of this.measures) sum += shareOf(part, host, found);
    return sum;
  }

  /** Each weigher's part in the weight. */
  weights(host: HostState, found?: readonly string[]): Record<string, number> {
    return Object.fromEntries(this.measures.map((part) => [part.weigher, shareOf(part, host, found)]));
  }
}

interface NamedCheck {
  readonly filter: string;
  readonly check: Check;
}

interface WeightedMeasure {
  readonly weigher: string;
  readonly weight: number;
  readonly measure: Measure;
}

const NONE: readonly Refusal[] = [];

function shareOf({ weight, measure }: WeightedMeasure, host: HostState, found?: readonly string[]): number {
  const share = normalise(measure.raw(host, found), measure.lower, measure.upper);
  // Not -0, which people would read as a number.
  return share === 0 ? 0 : weight * share;
}
