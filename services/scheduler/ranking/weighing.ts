import type { FleetFacts } from '../fleet/columns';
import type { HostState } from '../fleet/host-state';
import { WEIGHERS, type Weights } from '../weighers/registry';
import { type Measure, normalise } from '../weighers/weigher';
import type { Shape } from './shape';

/** The shape weighers that a shape needs, ready to run. */
export class Weighing {
  private readonly parts: readonly Part[];

  constructor(shape: Shape, facts: FleetFacts, weights: Weights) {
    this.parts = WEIGHERS.flatMap(([weigher, setting]) => {
      const weight = weights[setting];
      const measure = weigher.kind === 'shape' && weight !== 0 ? weigher.prepare(shape, facts) : undefined;
      return measure ? [{ name: weigher.name, weight, measure }] : [];
    });
  }

  weightOf(host: HostState): number {
    let sum = 0;
    for (const part of this.parts) sum += shareOf(part, host);
    return sum;
  }

  /** Each weigher's part of the weight. */
  sharesOf(host: HostState): Record<string, number> {
    return Object.fromEntries(this.parts.map((part) => [part.name, shareOf(part, host)]));
  }
}

interface Part {
  readonly name: string;
  readonly weight: number;
  readonly measure: Measure;
}

function shareOf({ weight, measure }: Part, host: HostState): number {
  const share = normalise(measure.raw(host), measure.lower, measure.upper);
  // Not -0, which people would read as a number.
  return share === 0 ? 0 : weight * share;
}
