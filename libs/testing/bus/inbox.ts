/** Items received so far, with a way to wait for more. */
export class Inbox<T> {
  readonly items: T[] = [];
  readonly #waiting = new Set<{ readonly count: number; resolve(): void }>();

  put(item: T): void {
    this.items.push(item);
    for (const waiter of this.#waiting) {
      if (this.items.length < waiter.count) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  /** Resolves to the items once there are `count` of them. */
  async has(count: number): Promise<readonly T[]> {
    if (this.items.length < count) {
      await new Promise<void>((resolve) => this.#waiting.add({ count, resolve }));
    }
    return this.items;
  }
}

/** A promise that the test settles: a gate for handlers to wait at. */
export interface Gate<T = void> {
  readonly opened: Promise<T>;
  open(value: T): void;
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
