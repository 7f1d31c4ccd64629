import { MAX_PACKED } from '../../contracts/pack';
import { Fifo } from '../fifo';

const PER_TURN = 2 * MAX_PACKED;

/**
 * Starts so many pieces of work at once, and so many in one turn of the event loop; the others in order as there is room.
 *
 * A prefetch counts messages, and one may bring many: of what comes on a channel, no more is handled at once than
 * messages may be in hand. And when a hundred have come since the socket was last read, the naive way is to start them all
 * now: then their claims are one run of the store's script, for which this process waits, then their answers are one
 * burst, for which the callers waited; everybody works in turn and nobody at once. Started two packs at a time, the first
 * claims are in the store's hands while the next are decided.
 */
export class Room {
  readonly #limit: number;
  readonly #line = new Fifo<() => void>();
  #runningCount = 0;
  #startedInTurn = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves when the work, which never rejects, has ended. */
  run(work: () => Promise<void>): Promise<void> {
    if (this.#line.size === 0 && this.#isOpen()) return this.#start(work);
    return new Promise((resolve) => this.#line.push(() => resolve(this.#start(work))));
  }

  #isOpen(): boolean {
    return this.#runningCount < this.#limit && this.#startedInTurn < PER_TURN;
  }

  async #start(work: () => Promise<void>): Promise<void> {
    this.#runningCount++;
    const working = work();
    // After the work has put what it wants to be done at the turn's end.
    if (++this.#startedInTurn === 1) setImmediate(() => this.#beginTurn());
    await working;
    this.#runningCount--;
    this.#startNext();
  }

  #beginTurn(): void {
    this.#startedInTurn = 0;
    this.#startNext();
  }

  #startNext(): void {
    while (this.#line.size > 0 && this.#isOpen()) this.#line.shift()?.();
  }
}
