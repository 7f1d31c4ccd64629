/** An event that waits for its time. */
interface Waiting {
  readonly atMs: number;
  readonly order: number;
  action: (() => void) | undefined;
}

/**
 * The time of a simulation, and the one place where it is decided what happens next: every timer and every message of
 * every process is an event here. Events run one at a time, by time and then in the order in which they were set; after
 * each, all promises that it settled have run before the next begins. So a run depends on nothing but what is set.
 */
export class VirtualTime {
  nowMs: number;
  /** Events that have run. */
  stepCount = 0;
  /** A binary heap: each event is before the two at twice its index and one more. */
  readonly #heap: Waiting[] = [];
  #order = 0;

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** Runs an action at a time, or next when that is past. The returned function cancels it. */
  at(atMs: number, action: () => void): () => void {
    const event: Waiting = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, action };
    this.#push(event);
    return () => {
      event.action = undefined;
    };
  }

  /** Runs all events up to a time, those included that are set meanwhile. */
  async runUntil(untilMs: number, afterStep: () => void = () => {}): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= untilMs; next = this.#heap[0]) {
      this.#pop();
      if (next.action === undefined) continue;
      this.nowMs = next.atMs;
      this.stepCount++;
      next.action();
      await settled();
      afterStep();
    }
    this.nowMs = untilMs;
  }

  #push(event: Waiting): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above] as Waiting;
      if (isBefore(parent, event)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Waiting, heap[below] as Waiting)) below++;
      if (isBefore(last, heap[below] as Waiting)) break;
      heap[at] = heap[below] as Waiting;
      at = below;
    }
    heap[at] = last;
  }
}

function isBefore(a: Waiting, b: Waiting): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Resolves when every promise that is settled by now has run, and all that these settled: a turn of the event loop. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
