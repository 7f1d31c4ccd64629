import { metadataOf } from '#libs/domain/grouping/aggregate';
import type { WeightedRule } from '../declared/declared-weigher';
import type { Prices } from '../demand/prices';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import type { EquivalenceClass } from '../request/equivalence-class';
import { PROFILE_KEY, weightByProfile } from '../weighers/profiles';
import { WEIGHERS, type WeigherEntry, type Weights } from '../weighers/registry';
import { type ClassWeigher, type Measure, normalise } from '../weighers/weigher';

/** The weights of weighers, and the weighers that an operator declared with theirs. */
export interface WeighingSettings extends Weights {
  readonly weightedRules: readonly WeightedRule[];
}

/** Some weighers with their weights, ready for an equivalence class and any host. */
export class Weighing {
  private readonly measures: readonly WeightedMeasure[];
  /** Those with a weight on a host that is in no aggregate, as most are. */
  private readonly usualMeasures: readonly WeightedMeasure[];

  /** Takes the weighers that use prices, or the others. */
  constructor(
    which: 'priced' | 'unpriced',
    equivalenceClass: EquivalenceClass,
    { weightedRules, ...weights }: WeighingSettings,
    prices: Prices,
  ) {
    const configured = (which === 'priced' ? PRICED : UNPRICED).map(([weigher, setting, multiplier]) => {
      return { weigher, weight: weights[setting], setting, multiplier };
    });
    const declared = which === 'priced' ? [] : weightedRules;
    this.measures = [...configured, ...declared].flatMap(({ weigher, ...part }) => {
      const measure = weigher.prepare(equivalenceClass, prices);
      return measure ? [{ ...part, weigher: weigher.name, measure }] : [];
    });
    this.usualMeasures = this.measures.filter(({ weight }) => weight !== 0);
  }

  /** The sum of what the weighers give a host; `found` as of {@link Measure.raw}. */
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

  /** The share of each weigher that has a weight there. */
  parts(host: HostState, found?: readonly string[]): readonly (readonly [weigher: string, weight: number])[] {
    const weighing = this.measures.filter((part) => weightOn(part, host) !== 0);
    return weighing.map((part) => [part.weigher, shareOf(part, host, found)]);
  }
}

interface WeightedMeasure {
  readonly weigher: string;
  readonly weight: number;
  /** The setting that is its weight, and the metadata by which aggregates of a host replace it; a declared weigher has neither. */
  readonly setting?: keyof Weights;
  readonly multiplier?: string | undefined;
  readonly measure: Measure;
}

const CLASS_WEIGHERS = WEIGHERS.filter((entry): entry is WeigherEntry<ClassWeigher> => entry[0].kind === 'class');
const PRICED = CLASS_WEIGHERS.filter(([weigher]) => weigher.usesPrices);
const UNPRICED = CLASS_WEIGHERS.filter(([weigher]) => !weigher.usesPrices);

/** True if prices weigh on some host of a fleet. */
export function weighsByPrices(weights: Weights): (fleet: FleetSnapshot) => boolean {
  const parts = PRICED.map(([, setting, multiplier]) => ({ weight: weights[setting], setting, multiplier }));
  const isConfigured = parts.some(({ weight }) => weight !== 0);
  return ({ hosts }) => {
    let isWeighed = isConfigured;
    if (!isWeighed) hosts.forEach((_, host) => (isWeighed ||= parts.some((part) => weightOn(part, host) !== 0)));
    return isWeighed;
  };
}

function shareOf(part: WeightedMeasure, host: HostState, found?: readonly string[]): number {
  const { measure } = part;
  const weight = weightOn(part, host);
  if (weight === 0) return 0;
  const share = normalise(measure.raw(host, found), measure.lower, measure.upper);
  // Not -0, which people would read as a number.
  return share === 0 ? 0 : weight * share;
}

/** The least that the host's aggregates say, as in Nova, else the least of their profiles, else what is configured. */
function weightOn(
  { weight, setting, multiplier }: Omit<WeightedMeasure, 'weigher' | 'measure'>,
  { aggregates }: HostState,
): number {
  // Few aggregates say anything of weights, and every host that is weighed asks for each weigher.
  if (
    multiplier === undefined ||
    setting === undefined ||
    !aggregates.some(({ metadata }) => multiplier in metadata || PROFILE_KEY in metadata)
  )
    return weight;
  const said = metadataOf(aggregates, multiplier).map(Number).filter(Number.isFinite);
  return said.length === 0 ? (weightByProfile(aggregates, setting) ?? weight) : Math.min(...said);
}
