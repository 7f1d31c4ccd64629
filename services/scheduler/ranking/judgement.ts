import { metadataOf } from '#libs/domain/grouping/aggregate';
import type { Prices } from '../demand/prices';
import type { Check, ClassFilter, FilterSettings, Reason } from '../filters/filter';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import type { EquivalenceClass } from '../request/equivalence-class';
import { PROFILE_KEY, weightByProfile } from '../weighers/profiles';
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
  private readonly measures: readonly WeightedMeasure[];
  /** Those with a weight on a host that is in no aggregate, as most are. */
  private readonly usualMeasures: readonly WeightedMeasure[];

  constructor(
    private readonly equivalenceClass: EquivalenceClass,
    private readonly settings: RankingSettings,
    prices: Prices,
    private readonly checks: readonly NamedCheck[] = settings.classFilters.flatMap((filter) =>
      filter.prepare(equivalenceClass, settings).map((check) => ({ filter: filter.name, check })),
    ),
  ) {
    this.measures = WEIGHERS.flatMap(([weigher, setting, multiplier]) => {
      const measure = weigher.kind === 'class' ? weigher.prepare(equivalenceClass, prices) : undefined;
      return measure ? [{ weigher: weigher.name, weight: settings[setting], setting, multiplier, measure }] : [];
    });
    this.usualMeasures = this.measures.filter(({ weight }) => weight !== 0);
  }

  /** The same by other prices, which filters do not look at. */
  pricedBy(prices: Prices): Judgement {
    return new Judgement(this.equivalenceClass, this.settings, prices, this.checks);
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
    if (host.aggregates.length > 0) for (const part of this.measures) sum += shareOf(part, host, found);
    else {
      for (const { weight, measure } of this.usualMeasures) {
        sum += weight * normalise(measure.raw(host, found), measure.lower, measure.upper);
      }
    }
    return sum;
  }

  /** The part in the weight of each weigher that has a weight there. */
  weights(host: HostState, found?: readonly string[]): Record<string, number> {
    const weighing = this.measures.filter((part) => weightOn(part, host) !== 0);
    return Object.fromEntries(weighing.map((part) => [part.weigher, shareOf(part, host, found)]));
  }
}

interface NamedCheck {
  readonly filter: string;
  readonly check: Check;
}

interface WeightedMeasure {
  readonly weigher: string;
  readonly weight: number;
  readonly setting: keyof Weights;
  /** The metadata by which aggregates of a host replace the weight. */
  readonly multiplier: string | undefined;
  readonly measure: Measure;
}

const NONE: readonly Refusal[] = [];

function shareOf(part: WeightedMeasure, host: HostState, found?: readonly string[]): number {
  const { measure } = part;
  const weight = weightOn(part, host);
  if (weight === 0) return 0;
  const share = normalise(measure.raw(host, found), measure.lower, measure.upper);
  // Not -0, which people would read as a number.
  return share === 0 ? 0 : weight * share;
}

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

/** Whether some host of a fleet is weighed by prices of its room. */
export function weighsByPrices(weights: Weights): (fleet: FleetSnapshot) => boolean {
  const parts = WEIGHERS.flatMap(([weigher, setting, multiplier]) =>
    weigher.kind === 'class' && weigher.usesPrices ? [{ weight: weights[setting], setting, multiplier }] : [],
  );
  const isConfigured = parts.some(({ weight }) => weight !== 0);
  return ({ hosts }) => {
    let isWeighed = isConfigured;
    if (!isWeighed) hosts.forEach((_, host) => (isWeighed ||= parts.some((part) => weightOn(part, host) !== 0)));
    return isWeighed;
  };
}

/** The least that the host's aggregates say, as in Nova, else the least of their profiles, else what is configured. */
function weightOn(
  { weight, setting, multiplier }: Omit<WeightedMeasure, 'weigher' | 'measure'>,
  { aggregates }: HostState,
): number {
  // Few aggregates say anything of weights, and every host that is weighed asks for each weigher.
  if (multiplier === undefined || !aggregates.some(({ metadata }) => multiplier in metadata || PROFILE_KEY in metadata))
    return weight;
  const said = metadataOf(aggregates, multiplier).map(Number).filter(Number.isFinite);
  return said.length === 0 ? (weightByProfile(aggregates, setting) ?? weight) : Math.min(...said);
}
