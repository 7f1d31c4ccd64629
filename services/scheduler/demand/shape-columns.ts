import type { HostState } from '../fleet/host-state';
import type { Shape } from './shape';

/**
 * Worth of a place that is only partly free, at most, as a share of the worth of a place: instances leave, and what is free
 * beside them becomes a place again. It grows with the square of the free part, so hosts where little is missing stay
 * as they are, and instances go where much is missing already.
 */
const PARTLY_FREE = 0.6;

/**
 * Counts of how many of each shape fit: `countOf` for all of them at once. It runs for every host of a fleet, so amounts lie
 * in columns of numbers, one a resource class, and are multiplied with instead of divided by; an exact fit still fits,
 * because each number is a little more than one over the amount, by less than what one unit of up to a million millions makes.
 */
export class ShapeColumns<S extends Shape> {
  /** The classes of the columns: what is free of each is given in their order. */
  readonly names: readonly string[];
  /** By class a little more than one over the amounts; for shapes that do not ask for it, so much that it is no limit. */
  private readonly columns: readonly Float64Array[];
  /** Scratch: the counts, not rounded; what is free of a host. */
  private readonly fits: Float64Array;
  private readonly free: Float64Array;

  constructor(readonly shapes: readonly S[]) {
    const asked = new Set(shapes.flatMap(({ resources }) => Object.keys(resources)));
    // Without shapes there is nothing to count, by whatever class.
    this.names = asked.size > 0 ? [...asked] : [''];
    this.columns = this.names.map((name) =>
      Float64Array.from(shapes, ({ resources }) =>
        name in resources ? A_LITTLE_MORE / (resources[name] as number) : NO_LIMIT,
      ),
    );
    this.fits = new Float64Array(shapes.length);
    this.free = new Float64Array(this.names.length);
  }

  /** Adds to `sums` how many fit on a host, so many times. */
  addCountsOf(host: Pick<HostState, 'free'>, sums: Float64Array, times = 1): void {
    const { fits, free, names } = this;
    for (let i = 0; i < free.length; i++) free[i] = host.free[names[i] as string] ?? 0;
    this.fitInto(free, this.columns.length);
    for (let k = 0; k < fits.length; k++) sums[k] = (sums[k] as number) + times * Math.floor(fits[k] as number);
  }

  /** The sum over shapes of how many fit into what is free, and of what part of one more is free, times what one is worth. */
  worth(free: Float64Array, worthOfOne: Float64Array): number {
    const { fits, columns } = this;
    const last = columns.length - 1;
    this.fitInto(free, Math.max(1, last));
    // The last class is met while it is summed: this is asked for every host that is weighed.
    const perUnit = columns[last] as Float64Array;
    const left = Math.max(free[last] as number, NEXT_TO_NOTHING);
    let sum = 0;
    for (let k = 0; k < fits.length; k++) {
      const count = Math.min(fits[k] as number, left * (perUnit[k] as number));
      const whole = Math.floor(count);
      const part = count - whole;
      sum += (whole + PARTLY_FREE * part * part) * (worthOfOne[k] as number);
    }
    return sum;
  }

  /** Sets how many of each shape fit by the first classes. */
  private fitInto(free: Float64Array, classes: number): void {
    const { fits, columns } = this;
    for (let c = 0; c < classes; c++) {
      const perUnit = columns[c] as Float64Array;
      const left = Math.max(free[c] as number, NEXT_TO_NOTHING);
      if (c === 0) for (let k = 0; k < fits.length; k++) fits[k] = left * (perUnit[k] as number);
      else for (let k = 0; k < fits.length; k++) fits[k] = Math.min(fits[k] as number, left * (perUnit[k] as number));
    }
  }
}

/** A little more than one. */
const A_LITTLE_MORE = 1 + 1e-12;
const NO_LIMIT = 1e300;
/** Instead of what is not free: no unit of anything, and still no limit for what is not asked for. */
const NEXT_TO_NOTHING = 1e-9;
