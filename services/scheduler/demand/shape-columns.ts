import type { Resources } from '#libs/domain/inventory';
import type { Shape } from './shape';

/**
 * How many of each of some shapes fit: `countOf` for all of them at once. It is asked for every host of a fleet, so amounts lie
 * in columns of numbers, one a resource class, and are multiplied with instead of divided by; what fits exactly fits still,
 * because amounts are whole and `ALMOST` is less than what one unit makes. Shapes stand in the order of what they ask of the
 * first class, so that none is looked at that is too large for what is free: on a full host, most of them.
 */
export class ShapeColumns<S extends Shape> {
  /** The shapes in the order of all numbers here. */
  readonly shapes: readonly S[];
  private readonly columns: readonly Column[];
  /** Amounts of the first class, least first; 0 for shapes that do not ask for it. */
  private readonly amounts: Float64Array;
  /** How many fit, while they are counted. */
  private readonly fits: Float64Array;

  constructor(shapes: readonly S[]) {
    const names = [...new Set(shapes.flatMap(({ resources }) => Object.keys(resources)))];
    // Without shapes there is nothing to count, by whatever class.
    if (names.length === 0) names.push('');
    const amountOf = ({ resources }: S) => resources[names[0] as string] ?? 0;
    this.shapes = shapes.toSorted((a, b) => amountOf(a) - amountOf(b));
    this.amounts = Float64Array.from(this.shapes, amountOf);
    this.columns = names.map((name) => ({
      name,
      perUnit: Float64Array.from(this.shapes, ({ resources }) => 1 / (resources[name] ?? Number.POSITIVE_INFINITY)),
      besides: Float64Array.from(this.shapes, ({ resources }) =>
        name in resources ? ALMOST : Number.POSITIVE_INFINITY,
      ),
    }));
    this.fits = new Float64Array(shapes.length);
  }

  /** Adds to `sums` how many fit into what is free. */
  addCounts(free: Resources, sums: Float64Array): void {
    const { fits } = this;
    const count = this.countFitting(free, NOTHING, this.columns.length);
    for (let k = 0; k < count; k++) sums[k] = (sums[k] as number) + Math.floor(fits[k] as number);
  }

  /** The sum over shapes of how many fit into what is free less what is taken, times what one is worth. */
  worth(free: Resources, taken: Resources, worthOfOne: Float64Array): number {
    const { fits, columns } = this;
    const last = columns.length - 1;
    const count = this.countFitting(free, taken, last);
    // The last class is met while it is summed: this is asked for every host that is weighed.
    const { name, perUnit, besides } = columns[last] as Column;
    const left = Math.max(0, (free[name] ?? 0) - (taken[name] ?? 0));
    let sum = 0;
    for (let k = 0; k < count; k++) {
      const canFit = left * (perUnit[k] as number) + (besides[k] as number);
      const before = last === 0 ? canFit : (fits[k] as number);
      sum += Math.floor(canFit < before ? canFit : before) * (worthOfOne[k] as number);
    }
    return sum;
  }

  /** Sets how many of each shape fit by the first classes, not rounded. Answers of how many shapes: those behind them are too large. */
  private countFitting(free: Resources, taken: Resources, classes: number): number {
    const { fits, columns } = this;
    const first = columns[0] as Column;
    const leftOfFirst = Math.max(0, (free[first.name] ?? 0) - (taken[first.name] ?? 0));
    const count = this.countUpTo(leftOfFirst);
    for (let c = 0; c < classes; c++) {
      const { name, perUnit, besides } = columns[c] as Column;
      const left = c === 0 ? leftOfFirst : Math.max(0, (free[name] ?? 0) - (taken[name] ?? 0));
      for (let k = 0; k < count; k++) {
        const canFit = left * (perUnit[k] as number) + (besides[k] as number);
        if (c === 0 || canFit < (fits[k] as number)) fits[k] = canFit;
      }
    }
    return count;
  }

  /** How many shapes ask no more than that of the first class. */
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

interface Column {
  readonly name: string;
  /** One over the amount; 0 for shapes that do not ask for the class. */
  readonly perUnit: Float64Array;
  /** What makes the class no limit for those. */
  readonly besides: Float64Array;
}

const NOTHING: Resources = {};
const ALMOST = 1e-9;
