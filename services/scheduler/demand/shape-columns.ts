import type { Resources } from '#libs/domain/inventory';
import type { Shape } from './shape';

/**
 * How many of each of some shapes fit: `countOf` for all of them at once. It is asked for every host of a fleet, so amounts lie
 * in columns of numbers, one a resource class, and are multiplied with instead of divided by; what fits exactly fits still,
 * because amounts are whole and `ALMOST` is less than what one unit makes.
 */
export class ShapeColumns {
  readonly length: number;
  private readonly columns: readonly Column[];

  constructor(shapes: readonly Shape[]) {
    this.length = shapes.length;
    const names = [...new Set(shapes.flatMap(({ resources }) => Object.keys(resources)))];
    this.columns = names.map((name) => ({
      name,
      perUnit: Float64Array.from(shapes, ({ resources }) => 1 / (resources[name] ?? Number.POSITIVE_INFINITY)),
      besides: Float64Array.from(shapes, ({ resources }) => (name in resources ? ALMOST : Number.POSITIVE_INFINITY)),
    }));
  }

  /** Writes into `fits`, in the order of the shapes, how many fit into what is free less what is taken. */
  count(free: Resources, taken: Resources, fits: Float64Array): void {
    const { length } = this;
    fits.fill(Number.POSITIVE_INFINITY);
    for (const { name, perUnit, besides } of this.columns) {
      const left = Math.max(0, (free[name] ?? 0) - (taken[name] ?? 0));
      for (let k = 0; k < length; k++) {
        const canFit = left * (perUnit[k] as number) + (besides[k] as number);
        if (canFit < (fits[k] as number)) fits[k] = canFit;
      }
    }
    for (let k = 0; k < length; k++) fits[k] = Math.floor(fits[k] as number);
  }
}

interface Column {
  readonly name: string;
  /** One over the amount; 0 for shapes that do not ask for the class. */
  readonly perUnit: Float64Array;
  /** What makes the class no limit for those. */
  readonly besides: Float64Array;
}

const ALMOST = 1e-9;
