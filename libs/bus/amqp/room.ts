import { Fifo } from '../fifo';

/**
 * Starts so many pieces of work at once, the others in order as there is room. A prefetch counts messages, and one may
 * be a pack of many: of what comes on a channel, no more are handled at once than messages may be in hand.
 */
export class Room {
  readonly #limit: number;
  readonly #line = new Fifo<() => void>();
  #runningCount = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves when the work, which never rejects, has ended. */
  run(work: () => Promise<void>): Promise<void> {
    if (this.#runningCount < this.#limit) return this.#start(work);
    return new Promise((resolve) => this.#line.push(() => resolve(this.#start(work))));
  }

  async #start(work: () => Promise<void>): Promise<void> {
    this.#runningCount++;
    await work();
    this.#runningCount--;
    this.#line.shift()?.();
  }
}
