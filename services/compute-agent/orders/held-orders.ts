import { POSTPONE, type Settlement } from '#libs/bus/port';
import type { Clock } from '#libs/domain/clock';

/** An order that was put back while its work goes on. */
interface PutBack {
  readonly end: Promise<Settlement>;
  readonly atMs: number;
}

/** A copy that has not come back by then was lost with its queue. */
const KEPT_MS = 3_600_000;

/**
 * Settles orders by their work, however long it takes.
 *
 * The naive way is to hold the order until its work is done. RabbitMQ closes the channel of a consumer that holds a message
 * for longer than its `consumer_timeout`, and gives all that it held to somebody again. To ack it before fails when the
 * process dies: nobody has the order then. So an order is held for `holdMs`, then put back at the end of its queue while
 * its work goes on, and when it comes again it waits for the same work. If the process dies meanwhile, the order is in the
 * queue. It costs a message for each `holdMs` of a long build.
 */
export class HeldOrders {
  readonly #putBack = new Map<string, PutBack>();

  constructor(
    private readonly clock: Clock,
    private readonly holdMs: number,
  ) {}

  /** @param key  names the order; the same when it comes again */
  async settle(key: string, work: () => Promise<Settlement>): Promise<Settlement> {
    const end = this.#takeBack(key) ?? work();
    const settlement = await this.#within(end);
    if (settlement !== undefined) return settlement;
    // Whoever takes it up again hears of a failure.
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
