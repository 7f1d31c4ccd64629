import { POSTPONE, type Settlement } from '#libs/bus/port';
import type { Clock } from '#libs/domain/clock';

/** An order that was requeued while its work continues. */
interface PutBack {
  readonly end: Promise<Settlement>;
  readonly atMs: number;
}

/** A copy that has not come back by then was lost with its queue. */
const KEPT_MS = 3_600_000;

/**
 * Settles orders by the outcome of their work, however long it takes.
 *
 * The naive way is to hold the order until its work is done. RabbitMQ closes the channel of a consumer that holds a
 * message for longer than its `consumer_timeout`, and redelivers everything that it held. Acking early fails when the
 * process dies: the order is lost then. So an order is held for `holdMs`, then requeued at the end of its queue while
 * its work continues, and when it comes again it waits for the same work. If the process dies meanwhile, the order is
 * in the queue. The cost is one message per `holdMs` of a long build.
 */
export class HeldOrders {
  readonly #putBack = new Map<string, PutBack>();

  constructor(
    private readonly clock: Clock,
    private readonly holdMs: number,
  ) {}

  /** @param key  identifies the order across redeliveries */
  async settle(key: string, work: () => Promise<Settlement>): Promise<Settlement> {
    const end = this.#takeBack(key) ?? work();
    const settlement = await this.#within(end);
    if (settlement !== undefined) return settlement;
    // The next delivery gets the failure.
    end.catch(() => {});
    this.#putBack.set(key, { end, atMs: this.clock.elapsed() });
    return POSTPONE;
  }

  #takeBack(key: string): Promise<Settlement> | undefined {
    const found = this.#putBack.get(key);
    this.#putBack.delete(key);
    for (const [lost, { atMs }] of this.#putBack) {
      if (atMs > this.clock.elapsed() - KEPT_MS) break;
      this.#putBack.delete(lost);
    }
    return found?.end;
  }

  /** Undefined when it takes longer. */
  async #within(end: Promise<Settlement>): Promise<Settlement | undefined> {
    let cancel = () => {};
    const late = new Promise<undefined>((resolve) => {
      cancel = this.clock.after(this.holdMs, () => resolve(undefined));
    });
    try {
      return await Promise.race([end, late]);
    } finally {
      cancel();
    }
  }
}
