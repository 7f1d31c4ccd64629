import Denque from 'denque';
import { MAX_FRAME_MESSAGES } from './frame';

const STARTS_PER_TICK = 2 * MAX_FRAME_MESSAGES;

/**
 * Limit of the bodies that handlers hold at once; a handler needs several times a body's size. A single body may exceed
 * it.
 */
export const MAX_BYTES_IN_HAND = 33_554_432;

/**
 * Runs at most `limit` handlers at once, with bounded total body bytes, and starts a bounded number of them per tick;
 * the others follow in order.
 *
 * A prefetch counts AMQP messages, and a frame holds many. And when hundreds have arrived since the last socket read,
 * the naive way starts them all now: then their claims are one run of the store's script, which this process waits for,
 * and their answers one burst, which the callers waited for, so that each side idles while the other works. With two
 * frames started per tick, the store runs the first claims while the next are decided. (A semaphore would not do: a
 * handler starts at once if it may, so that the messages of one frame stay in one tick.)
 */
export class ConcurrencyLimit {
  readonly #limit: number;
  readonly #maxBytes: number;
  readonly #line = new Denque<{ readonly bytes: number; readonly start: () => void }>();
  #runningCount = 0;
  #runningBytes = 0;
  #startedInTick = 0;

  constructor(limit: number, maxBytes = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
    this.#maxBytes = maxBytes;
  }

  /** Resolves when the work, which never rejects, has ended. */
  run(work: () => Promise<void>, bytes = 0): Promise<void> {
    if (this.#line.length === 0 && this.#isOpen(bytes)) return this.#start(work, bytes);
    return new Promise((resolve) => this.#line.push({ bytes, start: () => resolve(this.#start(work, bytes)) }));
  }

  #isOpen(bytes: number): boolean {
    const hasRoom = this.#runningCount === 0 || this.#runningBytes + bytes <= this.#maxBytes;
    return hasRoom && this.#runningCount < this.#limit && this.#startedInTick < STARTS_PER_TICK;
  }

  async #start(work: () => Promise<void>, bytes: number): Promise<void> {
    this.#runningCount++;
    this.#runningBytes += bytes;
    const working = work();
    // After the store commits of the first handlers (`batchPerTick`).
    if (++this.#startedInTick === 1) setImmediate(() => this.#beginTick());
    await working;
    this.#runningCount--;
    this.#runningBytes -= bytes;
    this.#startNext();
  }

  #beginTick(): void {
    this.#startedInTick = 0;
    this.#startNext();
  }

  #startNext(): void {
    for (
      let next = this.#line.peekFront();
      next !== undefined && this.#isOpen(next.bytes);
      next = this.#line.peekFront()
    ) {
      this.#line.shift();
      next.start();
    }
  }
}
