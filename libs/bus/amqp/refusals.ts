import type { Clock } from '../../domain/clock';

/** A queue that is full takes a message now and then, as its consumers make room. */
const REFUSED_FOR_MS = 5_000;
const RENEWED_EVERY_MS = 30_000;
const MAX_QUEUES = 1_000;

/**
 * Queues that refuse whatever one channel publishes. The channel of a cluster's broker (seen in 3.10) may go on refusing for a quorum
 * queue whose leader was lost, though the queue has a leader again and is empty; another channel of the same connection gets through.
 */
export class Refusals {
  readonly #clock: Clock;
  readonly #refusedSinceMs = new Map<string, number>();
  #renewedMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  onConfirmed(queue: string): void {
    this.#refusedSinceMs.delete(queue);
  }

  /** True when the queue has confirmed nothing for seconds: a new channel is due, every half minute at most. */
  onRefused(queue: string): boolean {
    const nowMs = this.#clock.elapsed();
    const sinceMs = this.#refusedSinceMs.get(queue) ?? nowMs;
    if (this.#refusedSinceMs.size >= MAX_QUEUES) this.clear();
    this.#refusedSinceMs.set(queue, sinceMs);
    if (nowMs - sinceMs < REFUSED_FOR_MS || nowMs - this.#renewedMs < RENEWED_EVERY_MS) return false;
    this.#renewedMs = nowMs;
    return true;
  }

  /** A new channel knows nothing of the refusals of the last. */
  clear(): void {
    this.#refusedSinceMs.clear();
  }
}
