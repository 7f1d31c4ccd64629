/**
 * The best of many numbers, and the next best, without sorting: a complete binary tree in which each node holds the
 * larger of its children (a tournament; Knuth, volume 3, 5.4.1). Setting one number costs a path to the root.
 *
 * Node 1 is the root, the children of node n are 2n and 2n + 1, and index i stands at the leaf `leaves + i`.
 */
export class Tournament {
  readonly leaves: number;
  private readonly values: Float32Array;

  /** Holds {@link NOTHING} at every index below `size`, a power of two. */
  constructor(size: number) {
    this.leaves = size;
    this.values = new Float32Array(2 * size).fill(NOTHING);
  }

  /** The number at a leaf, or the best number below a node. */
  at(node: number): number {
    return this.values[node] as number;
  }

  of(index: number): number {
    return this.values[this.leaves + index] as number;
  }

  set(index: number, value: number): void {
    const { values } = this;
    let node = this.leaves + index;
    values[node] = value;
    while (node > 1) {
      node >>>= 1;
      const best = Math.max(values[2 * node] as number, values[2 * node + 1] as number);
      if (values[node] === best) return;
      values[node] = best;
    }
  }

  /** Sets all numbers at once: `valueOf` is asked for each index below `count`. */
  fill(count: number, valueOf: (index: number) => number): void {
    const { values, leaves } = this;
    for (let index = 0; index < count; index++) values[leaves + index] = valueOf(index);
    for (let node = leaves - 1; node > 0; node--) {
      values[node] = Math.max(values[2 * node] as number, values[2 * node + 1] as number);
    }
  }
}

/** Less than every weight: nobody is there, or may not be taken. */
export const NOTHING = Number.NEGATIVE_INFINITY;
