import type { CastHandler, Subscription } from '#libs/bus/port';
import { agentQueue } from '#libs/contracts/topology';
import { type Host, persist } from './host';

/** What a queue is worked with, and the signal until which that is tried. */
export type OrderQueueParts = Pick<Host, 'bus' | 'config' | 'clock' | 'log' | 'givingUp'>;

/** A queue of orders on the side of who takes them, whether or not the broker is there. */
export class OrderQueue {
  readonly #parts: OrderQueueParts;
  readonly #name: string;
  #subscription: Subscription | undefined;

  /** @param name  of the host, or of the service host */
  constructor(parts: OrderQueueParts, name: string) {
    this.#parts = parts;
    this.#name = name;
  }

  /** Resolves once the queue is there, so that whoever hears of it can give it orders. */
  async declare(): Promise<void> {
    await this.#persist(() => this.#parts.bus.declare(agentQueue(this.#name)), 'has no queue yet; tries again');
  }

  /** Resolves once orders are taken. */
  async begin(take: CastHandler, prefetch: number): Promise<void> {
    const consume = async () => {
      const subscription = await this.#parts.bus.consume(agentQueue(this.#name), take, { prefetch });
      if (this.#parts.givingUp.aborted) await subscription.cancel();
      else this.#subscription = subscription;
    };
    await this.#persist(consume, 'can not take work yet; tries again');
  }

  get isTakingWork(): boolean {
    return this.#subscription !== undefined;
  }

  /** Takes no more; resolves when all that was taken is settled. */
  async cancel(): Promise<void> {
    await this.#subscription?.cancel();
  }

  #persist(action: () => Promise<void>, problem: string): Promise<boolean> {
    return persist(this.#parts, action, (error) => this.#parts.log.warn({ host: this.#name, error }, problem));
  }
}
