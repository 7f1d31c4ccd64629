import Denque from 'denque';
import { MAX_FRAME_MESSAGES } from './batching/frame';

const STARTS_PER_TICK = 2 * MAX_FRAME_MESSAGES;

/**
 * Runs at most `limit` handlers at once, and starts a bounded number of them per tick; the others follow in their order.
 *
 * A prefetch counts AMQP messages, and a frame brings many. And when hundreds have come since the socket was last read,
 * the naive way starts them all now: then their claims are one run of the store's script, for which this process waits,
 * and their answers one burst, for which the callers waited, so that each works while the others wait. With two frames
 * started per tick, the store runs the first claims while the next are decided. (A semaphore would not do: a handler
 * starts at once if it may, so that what came in one frame stays in one tick.)
 */
export class ConcurrencyLimit {
  readonly #limit: number;
  readonly #line = new Denque<() => void>();
  #runningCount = 0;
  #startedInTick = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves when the work, which never rejects, has ended. */
  run(work: () => Promise<void>): Promise<void> {
    if (this.#line.length === 0 && this.#isOpen()) return this.#start(work);
    return new Promise((resolve) => this.#line.push(() => resolve(this.#start(work))));
  }

  #isOpen(): boolean {
    return this.#runningCount < this.#limit && this.#startedInTick < STARTS_PER_TICK;
  }

  async #start(work: () => Promise<void>): Promise<void> {
    this.#runningCount++;
    const working = work();
    // After the store commits of the first handlers (`batchPerTick`).
    if (++this.#startedInTick === 1) setImmediate(() => this.#beginTick());
    await working;
    this.#runningCount--;
    this.#startNext();
  }

  #beginTick(): void {
    this.#startedInTick = 0;
    this.#startNext();
  }

  #startNext(): void {
    while (this.#line.length > 0 && this.#isOpen()) this.#line.shift()?.();
  }
}
