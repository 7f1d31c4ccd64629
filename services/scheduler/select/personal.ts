import { allows, type Constraint, type PersonalFilter } from '../filters/filter';
import { WEIGHERS, type Weights } from '../weighers/registry';
import { normalise, type PersonalMeasure, type PersonalWeigher } from '../weighers/weigher';
import type { PlacementRequest } from './placement-request';

/** A constraint and the filter that set it. */
export interface NamedConstraint extends Constraint {
  readonly filter: string;
}

/**
 * What one request asks beyond its shape: hosts that it must have or must not have, and weights that other instances
 * give to some hosts.
 */
export class Personal {
  readonly constraints: readonly NamedConstraint[];
  /** The hosts of the tightest constraint that names the only ones; undefined when all others are possible. */
  readonly only: ReadonlySet<number> | undefined;
  /** Hosts whose weight differs from the usual. */
  readonly weighted: ReadonlyMap<number, number>;
  /** What personal weighers give to every other host. */
  readonly usualWeight: number;
  private readonly parts: readonly Part[];

  constructor(request: PlacementRequest, filters: readonly PersonalFilter[], weights: Weights) {
    this.constraints = constraintsOf(request, filters);
    this.only = tightest(this.constraints);
    this.parts = partsOf(request, weights);
    this.usualWeight = sumOf(this.parts, undefined);
    const weighted = new Map<number, number>();
    for (const { measure } of this.parts) {
      for (const index of measure.raw.keys()) weighted.set(index, sumOf(this.parts, index));
    }
    this.weighted = weighted;
  }

  allows(index: number): boolean {
    return this.constraints.every((constraint) => allows(constraint, index));
  }

  weightOf(index: number): number {
    return this.weighted.get(index) ?? this.usualWeight;
  }

  /** Each personal weigher's part in a host's weight. */
  sharesOf(index: number): Record<string, number> {
    return Object.fromEntries(this.parts.map((part) => [part.name, shareOf(part, index)]));
  }
}

const PERSONAL_WEIGHERS = WEIGHERS.filter(
  (entry): entry is readonly [PersonalWeigher, keyof Weights] => entry[0].kind === 'personal',
);

interface Part {
  readonly name: string;
  readonly weight: number;
  readonly measure: PersonalMeasure;
}

// Most requests ask nothing personal: the two that say so make one empty list each.

function constraintsOf(request: PlacementRequest, filters: readonly PersonalFilter[]): NamedConstraint[] {
  const constraints: NamedConstraint[] = [];
  for (const filter of filters) {
    const constraint = filter.prepare(request);
    if (constraint) constraints.push({ filter: filter.name, ...constraint });
  }
  return constraints;
}

function partsOf(request: PlacementRequest, weights: Weights): Part[] {
  const parts: Part[] = [];
  for (const [weigher, setting] of PERSONAL_WEIGHERS) {
    const weight = weights[setting];
    const measure = weight === 0 ? undefined : weigher.prepare(request);
    if (measure) parts.push({ name: weigher.name, weight, measure });
  }
  return parts;
}

function shareOf({ weight, measure }: Part, index: number | undefined): number {
  const raw = index === undefined ? 0 : (measure.raw.get(index) ?? 0);
  return weight * normalise(raw, measure.lower, measure.upper);
}

function sumOf(parts: readonly Part[], index: number | undefined): number {
  return parts.reduce((sum, part) => sum + shareOf(part, index), 0);
}

function tightest(constraints: readonly Constraint[]): ReadonlySet<number> | undefined {
  let only: ReadonlySet<number> | undefined;
  for (const { kind, hosts } of constraints) {
    if (kind === 'only' && (only === undefined || hosts.size < only.size)) only = hosts;
  }
  return only;
}
