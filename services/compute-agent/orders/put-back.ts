import type { Clock } from '#libs/domain/clock';

/** Why an order is not settled: its host is not held, or what is done about it is not at its end. */
export type PutBackReason = 'not_held' | 'in_work';

/** As long as an order may go back for one that is not held: longer than a lease, and than most outages. */
export const MAX_PUT_BACK_MS = 3_600_000;
/** So many are known at most; the oldest are forgotten, and their time begins anew. */
const MAX_KNOWN = 100_000;

/**
 * Knows since when orders go back to their queue, so that none does for ever: a queue of orders counts no deliveries, because an
 * outage would bury good ones.
 */
export class PutBackOrders {
  readonly #sinceMs = new Map<string, number>();

  constructor(private readonly clock: Clock) {}

  /** True when an order may go back once more. */
  mayGoBack(key: string): boolean {
    const nowMs = this.clock.elapsed();
    const sinceMs = this.#sinceMs.get(key) ?? nowMs;
    const isLate = nowMs - sinceMs >= MAX_PUT_BACK_MS;
    this.#sinceMs.delete(key);
    for (const [oldest] of this.#sinceMs) {
      if (this.#sinceMs.size < MAX_KNOWN) break;
      this.#sinceMs.delete(oldest);
    }
    if (!isLate) this.#sinceMs.set(key, sinceMs);
    return !isLate;
  }

  /** It is taken. */
  forget(key: string): void {
    this.#sinceMs.delete(key);
  }
}
