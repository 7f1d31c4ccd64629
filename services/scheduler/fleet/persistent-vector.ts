const BITS = 5;
const WIDTH = 1 << BITS;
const MASK = WIDTH - 1;

/** An inner node holds nodes, a leaf holds items. Nodes are never changed once their vector is there. */
type Node<T> = (Node<T> | T | undefined)[];

/**
 * An immutable vector of which a changed copy is cheap: a trie, 32 wide, that shares all it can with the one it comes
 * from (Bagwell's and Clojure's persistent vector). A change copies a path of O(log32 n) nodes, and two versions are
 * compared by looking only at the paths in which they differ. Places may be empty.
 */
export class PersistentVector<T extends object> {
  static of<T extends object>(): PersistentVector<T> {
    return new PersistentVector<T>([], 0, 0);
  }

  private constructor(
    private readonly root: Node<T>,
    /** Bits of an index below the root. */
    private readonly shift: number,
    /** One more than the highest place that was ever set. */
    readonly length: number,
  ) {}

  at(index: number): T | undefined {
    if (index >= this.length) return undefined;
    let node: Node<T> | undefined = this.root;
    for (let shift = this.shift; shift > 0; shift -= BITS) {
      node = node[(index >>> shift) & MASK] as Node<T> | undefined;
      if (node === undefined) return undefined;
    }
    return node[index & MASK] as T | undefined;
  }

  /** This vector with one place, within its length, set anew. */
  set(index: number, item: T): PersistentVector<T> {
    return new PersistentVector(copiedPath(this.root, this.shift, index, item), this.shift, this.length);
  }

  /** This vector with some places set anew, each node copied at most once. */
  with(changes: Iterable<readonly [number, T | undefined]>): PersistentVector<T> {
    let { root, shift, length } = this;
    const copied = new Set<Node<T>>();
    const own = (node: Node<T> | undefined): Node<T> => {
      if (node !== undefined && copied.has(node)) return node;
      const copy = node?.slice() ?? [];
      copied.add(copy);
      return copy;
    };
    for (const [index, item] of changes) {
      while (index >>> (shift + BITS) > 0) {
        root = [root];
        shift += BITS;
      }
      root = own(root);
      let node = root;
      for (let level = shift; level > 0; level -= BITS) {
        const place = (index >>> level) & MASK;
        const child = own(node[place] as Node<T> | undefined);
        node[place] = child;
        node = child;
      }
      node[index & MASK] = item;
      length = Math.max(length, index + 1);
    }
    return new PersistentVector(root, shift, length);
  }

  /** Visits each place at which `after` holds something else than this vector: another object, or one where none was. */
  forEachDifference(
    after: PersistentVector<T>,
    visit: (index: number, before: T | undefined, after: T | undefined) => void,
  ): void {
    let root: Node<T> = this.root;
    let rootAfter: Node<T> = after.root;
    for (let shift = this.shift; shift < after.shift; shift += BITS) root = [root];
    for (let shift = after.shift; shift < this.shift; shift += BITS) rootAfter = [rootAfter];
    compare(root, rootAfter, Math.max(this.shift, after.shift), 0);

    function compare(left: Node<T>, right: Node<T>, shift: number, from: number): void {
      if (left === right) return;
      const width = Math.max(left.length, right.length);
      for (let place = 0; place < width; place++) {
        const was = left[place];
        const is = right[place];
        if (was === is) continue;
        if (shift === 0) visit(from + place, was as T | undefined, is as T | undefined);
        else compare((was ?? []) as Node<T>, (is ?? []) as Node<T>, shift - BITS, from + (place << shift));
      }
    }
  }

  /** Visits every place that is not empty, in order. */
  forEach(visit: (index: number, item: T) => void): void {
    PersistentVector.of<T>().forEachDifference(this, (index, _, item) => visit(index, item as T));
  }
}

function copiedPath<T>(node: Node<T> | undefined, shift: number, index: number, item: T): Node<T> {
  const copy = node?.slice() ?? [];
  const place = (index >>> shift) & MASK;
  copy[place] = shift === 0 ? item : copiedPath(copy[place] as Node<T> | undefined, shift - BITS, index, item);
  return copy;
}
