import { allows, type Constraint, type PersonalFilter } from '../filters/filter';
import { WEIGHERS, type Weights } from '../weighers/registry';
import { normalise, type PersonalMeasure } from '../weighers/weigher';
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
    this.constraints = filters.flatMap((filter) => {
      const constraint = filter.prepare(request);
      return constraint ? [{ filter: filter.name, ...constraint }] : [];
    });
    this.only = tightest(this.constraints);
    this.parts = WEIGHERS.flatMap(([weigher, setting]) => {
      const weight = weights[setting];
      const measure = weigher.kind === 'personal' && weight !== 0 ? weigher.prepare(request) : undefined;
      return measure ? [{ name: weigher.name, weight, measure }] : [];
    });
    this.usualWeight = sumOf(this.parts, undefined);
    const indexes = this.parts.flatMap(({ measure }) => [...measure.raw.keys()]);
    this.weighted = new Map(indexes.map((index) => [index, sumOf(this.parts, index)]));
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

interface Part {
  readonly name: string;
  readonly weight: number;
  readonly measure: PersonalMeasure;
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
