import { atEndOfCallback } from '../../../runtime/batch-per-tick';
import { inFrames } from './frame';

/**
 * Collects the messages of one event loop callback with equal keys, and passes them on at the callback's end, split
 * into frames.
 *
 * The naive way sends each call, cast and answer as an AMQP message. Under load one callback has dozens of them, to one
 * queue, and a message costs more (three AMQP frames to write and to read, a confirm, an ack, its way through the
 * broker) than most handlers do. Here they share that cost, as claims share a run of the store's script. Batches stay
 * together: the messages of a frame are handled within a tick or two, so that their answers form a frame, which wakes
 * the callers in one tick. The cost: messages of a frame arrive, and are lost, together; and a message alone leaves
 * only at the end of its callback, which is when its bytes would leave anyway (`corkPerTick`).
 */
export class FrameBatches<T> {
  readonly #bytesOf: (item: T) => number;
  readonly #send: (items: readonly T[]) => void;
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  /** @param send  called with 1 to 32 items of one key */
  constructor(bytesOf: (item: T) => number, send: (items: readonly T[]) => void) {
    this.#bytesOf = bytesOf;
    this.#send = send;
  }

  /** Items waiting for the end of the callback. */
  get size(): number {
    return this.#size;
  }

  add(key: string, item: T): void {
    this.#size++;
    const items = this.#waiting.get(key);
    if (items !== undefined) return void items.push(item);
    if (this.#waiting.size === 0) atEndOfCallback(() => this.flush());
    this.#waiting.set(key, [item]);
  }

  /** Sends the waiting items now. */
  flush(): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#size = 0;
    for (const items of waiting) for (const frame of inFrames(items, this.#bytesOf)) this.#send(frame);
  }
}
