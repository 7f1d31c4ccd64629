import type { Shape } from './shape';

/**
 * Counts of how many of each shape fit: `countOf` for all of them at once. It runs for every host of a fleet, so amounts lie
 * in columns of numbers, one a resource class, and are multiplied with instead of divided by; an exact fit still fits,
 * because each number is a little more than one over the amount, by less than what one unit of up to a million millions makes.
 * Shapes are ordered by what they ask of the first class, so that shapes too large for the free amount are never read: on
 * a full host, most of them.
 */
export class ShapeColumns<S extends Shape> {
  /** The shapes in the order of all numbers here. */
  readonly shapes: readonly S[];
  /** The classes of the columns: what is free of each is given in their order. */
  readonly names: readonly string[];
  /** By class a little more than one over the amounts; for shapes that do not ask for it, so much that it is no limit. */
  private readonly columns: readonly Float64Array[];
  /** Amounts of the first class, least first; 0 for shapes that do not ask for it. */
  private readonly amounts: Float64Array;
  /** Scratch: the counts. */
  private readonly fits: Float64Array;

  /** `scarcest`: the class to stand first, of which hosts have least left. */
  constructor(shapes: readonly S[], scarcest?: string) {
    const asked = new Set(shapes.flatMap(({ resources }) => Object.keys(resources)));
    const [first = '', ...others] = [...asked].sort((a, b) => Number(b === scarcest) - Number(a === scarcest));
    // Without shapes there is nothing to count, by whatever class.
    this.names = [first, ...others];
    const amountOf = ({ resources }: S) => resources[first] ?? 0;
    this.shapes = shapes.toSorted((a, b) => amountOf(a) - amountOf(b));
    this.amounts = Float64Array.from(this.shapes, amountOf);
    this.columns = this.names.map((name) =>
      Float64Array.from(this.shapes, ({ resources }) =>
        name in resources ? A_LITTLE_MORE / (resources[name] as number) : NO_LIMIT,
      ),
    );
    this.fits = new Float64Array(shapes.length);
  }

  /** Adds to `sums` how many fit into what is free. */
  addCounts(free: Float64Array, sums: Float64Array): void {
    const { fits } = this;
    const count = this.countFitting(free, this.columns.length);
    for (let k = 0; k < count; k++) sums[k] = (sums[k] as number) + Math.floor(fits[k] as number);
  }

  /** The sum over shapes of how many fit into what is free, times what one is worth. */
  worth(free: Float64Array, worthOfOne: Float64Array): number {
    const { fits, columns } = this;
    const last = columns.length - 1;
    const count = this.countFitting(free, Math.max(1, last));
    // The last class is met while it is summed: this is asked for every host that is weighed.
    const perUnit = columns[last] as Float64Array;
    const left = Math.max(free[last] as number, NEXT_TO_NOTHING);
    let sum = 0;
    for (let k = 0; k < count; k++) {
      sum += Math.floor(Math.min(fits[k] as number, left * (perUnit[k] as number))) * (worthOfOne[k] as number);
    }
    return sum;
  }

  /** Sets how many of each shape fit by the first classes, not rounded. Answers of how many shapes: those behind them are too large. */
  private countFitting(free: Float64Array, classes: number): number {
    const { fits, columns } = this;
    const count = this.countUpTo(Math.max(free[0] as number, 0));
    for (let c = 0; c < classes; c++) {
      const perUnit = columns[c] as Float64Array;
      const left = Math.max(free[c] as number, NEXT_TO_NOTHING);
      if (c === 0) for (let k = 0; k < count; k++) fits[k] = left * (perUnit[k] as number);
      else for (let k = 0; k < count; k++) fits[k] = Math.min(fits[k] as number, left * (perUnit[k] as number));
    }
    return count;
  }

  /** The number of shapes that ask at most `most` of the first class. */
  private countUpTo(most: number): number {
    const { amounts } = this;
    let [count, tooMany] = [0, amounts.length];
    while (count < tooMany) {
      const middle = (count + tooMany) >>> 1;
      if ((amounts[middle] as number) <= most) count = middle + 1;
      else tooMany = middle;
    }
    return count;
  }
}

/** A little more than one. */
const A_LITTLE_MORE = 1 + 1e-12;
const NO_LIMIT = 1e300;
/** Instead of what is not free: no unit of anything, and still no limit for what is not asked for. */
const NEXT_TO_NOTHING = 1e-9;
