import type { Shape } from './shape';

/** A shape, and its share of all that is asked for: 0 to 1. */
export interface AskedShape extends Shape {
  readonly share: number;
}

/** After so many instances more an instance counts half. */
const HALF_LIFE_INSTANCES = 20_000;
/** Beyond this number the least requested shape is forgotten. */
const MAX_SHAPES = 128;
/** Counts are brought down again before they leave what a number holds. */
const LARGEST_UNIT = 1e100;

/**
 * Frequency of each requested shape; recent requests count more. Instead of fading every count with each request,
 * the unit in which a new one counts grows.
 */
export class Demand {
  private readonly counts = new Map<string, { readonly shape: Shape; count: number }>();
  private unit = 1;

  /** Counts instances of a shape. */
  note(shape: Shape, instances: number): void {
    this.unit *= 2 ** (instances / HALF_LIFE_INSTANCES);
    if (this.unit > LARGEST_UNIT) this.bringDown();
    const known = this.counts.get(shape.key);
    if (known) known.count += instances * this.unit;
    else {
      if (this.counts.size >= MAX_SHAPES) this.forgetLeast();
      this.counts.set(shape.key, { shape, count: instances * this.unit });
    }
  }

  /** The shapes that are remembered, with their shares; together 1. */
  asked(): readonly AskedShape[] {
    let all = 0;
    for (const { count } of this.counts.values()) all += count;
    return [...this.counts.values()].map(({ shape, count }) => ({ ...shape, share: count / all }));
  }

  /** The share of each of these shapes by their keys: 0 of one that is not remembered. */
  sharesOf(keys: readonly string[]): readonly number[] {
    let all = 0;
    for (const { count } of this.counts.values()) all += count;
    return keys.map((key) => (this.counts.get(key)?.count ?? 0) / all);
  }

  private bringDown(): void {
    for (const known of this.counts.values()) known.count /= this.unit;
    this.unit = 1;
  }

  private forgetLeast(): void {
    let [least] = this.counts;
    for (const entry of this.counts) if (!least || entry[1].count < least[1].count) least = entry;
    if (least) this.counts.delete(least[0]);
  }
}
