/**
 * A binary heap (Williams, 1964): of all that is in it, the first by `isBefore` comes out next. Adding and taking cost
 * O(log n).
 */
export class Heap<T> {
  private readonly items: T[] = [];

  constructor(private readonly isBefore: (a: T, b: T) => boolean) {}

  /** The first item; undefined when there is none. */
  peek(): T | undefined {
    return this.items[0];
  }

  push(item: T): void {
    const { items, isBefore } = this;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(item, items[parent] as T)) break;
      items[at] = items[parent] as T;
      at = parent;
    }
    items[at] = item;
  }

  /** Takes the first item out; undefined when there is none. */
  pop(): T | undefined {
    const { items, isBefore } = this;
    const first = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && isBefore(items[child + 1] as T, items[child] as T)) child += 1;
      if (!isBefore(items[child] as T, last)) break;
      items[at] = items[child] as T;
      at = child;
    }
    items[at] = last;
    return first;
  }
}
