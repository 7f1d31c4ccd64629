import type { Prices } from '../demand/prices';
import type { Check, ClassFilter, FilterSettings, Reason } from '../filters/filter';
import type { HostState } from '../fleet/host-state';
import type { EquivalenceClass } from '../request/equivalence-class';
import { Weighing, type WeighingSettings } from './weighing';

/** Ranking settings of operators. */
export interface RankingSettings extends FilterSettings, WeighingSettings {
  /** The filters in use, in order. */
  readonly classFilters: readonly ClassFilter[];
}

/** A filter's refusal of a host, and its reason. */
export interface Refusal {
  readonly filter: string;
  readonly reason: Reason;
}

/** The filters and weighers that an equivalence class needs, ready to run on any host. Pure. */
export class Judgement {
  private readonly checks: readonly NamedCheck[];
  /** A host's weight is the sum of `unpriced`, which ignores prices, and `priced`. */
  readonly unpriced: Weighing;
  readonly priced: Weighing;

  /** `known`: the same by other prices, which filters and most weighers do not look at. */
  constructor(
    private readonly equivalenceClass: EquivalenceClass,
    private readonly settings: RankingSettings,
    prices: Prices,
    known?: Judgement,
  ) {
    this.checks =
      known?.checks ??
      settings.classFilters.flatMap((filter) =>
        filter.prepare(equivalenceClass, settings).map((check) => ({ filter: filter.name, check })),
      );
    this.unpriced = known?.unpriced ?? new Weighing('unpriced', equivalenceClass, settings, prices);
    this.priced = new Weighing('priced', equivalenceClass, settings, prices);
  }

  /** The same by other prices. */
  pricedBy(prices: Prices): Judgement {
    return new Judgement(this.equivalenceClass, this.settings, prices, this);
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
    return this.unpriced.weight(host, found) + this.priced.weight(host);
  }

  /** The part in the weight of each weigher that has a weight there. */
  weights(host: HostState, found?: readonly string[]): Record<string, number> {
    return Object.fromEntries([...this.unpriced.parts(host, found), ...this.priced.parts(host)]);
  }
}

interface NamedCheck {
  readonly filter: string;
  readonly check: Check;
}

const NONE: readonly Refusal[] = [];

/** Tells the hosts where requests of a class may go, whether or not they are up and have room. */
export function placesOf(equivalenceClass: EquivalenceClass, settings: RankingSettings): (host: HostState) => boolean {
  // Few requests ask.
  let checks: readonly Check[] | undefined;
  return (host) => {
    checks ??= settings.classFilters
      .filter(({ saysWhere }) => saysWhere)
      .flatMap((filter) => filter.prepare(equivalenceClass, settings));
    return checks.every((check) => check.refuse(host) === undefined);
  };
}
