import { SERVICE } from '../../contracts/identity';
import type { BerthError } from '../../domain/errors';
import { Delivery } from '../handling/delivery';
import type { Handle, MessageActions } from '../handling/handle-message';
import { RunningHandlers } from '../handling/running-handlers';
import type { Subscription } from '../port';
import type { MemoryBroker } from './broker';
import type { Envelope, MemoryQueue, Receiver } from './queue';

/** A consumer of one queue of the memory broker. */
export class MemorySubscription implements Subscription, Receiver {
  readonly prefetch: number;
  unsettledCount = 0;
  readonly #broker: MemoryBroker;
  readonly #queue: MemoryQueue;
  readonly #handle: Handle;
  readonly #running = new RunningHandlers();
  readonly #unsettled = new Set<Envelope>();
  #isCancelled = false;

  constructor(broker: MemoryBroker, queue: MemoryQueue, prefetch: number, handle: Handle) {
    this.prefetch = prefetch;
    this.#broker = broker;
    this.#queue = queue;
    this.#handle = handle;
    queue.add(this);
  }

  get inHandCount(): number {
    return this.#running.size;
  }

  receive(envelope: Envelope): void {
    if (this.#isCancelled) {
      // It was in transit, and no handler has seen it.
      envelope.deliveries--;
      return this.#queue.takeBack(envelope);
    }
    this.#unsettled.add(envelope);
    const delivery = deliveryOf(envelope, this.#broker);
    this.#running.run(delivery, this.#handle(delivery, this.#actionsOf(envelope)));
  }

  async cancel(): Promise<void> {
    this.#isCancelled = true;
    this.#queue.remove(this);
    await this.#running.idle();
  }

  /** Requeues unsettled messages for others; later results of the handlers are ignored. */
  abandon(reason: BerthError): void {
    this.#running.abort(reason);
    for (const envelope of this.#unsettled) this.#queue.takeBack(envelope);
    this.#unsettled.clear();
  }

  #actionsOf(envelope: Envelope): MessageActions {
    const settle = (action: () => void) => {
      if (!this.#unsettled.delete(envelope)) return;
      action();
      this.#queue.settled(this);
    };
    return {
      ack: () => settle(() => {}),
      requeue: () => settle(() => this.#queue.takeBack(envelope)),
      postpone: async () => settle(() => this.#queue.postpone(envelope)),
      // The queue in memory counts.
      recount: async () => settle(() => this.#queue.takeBack(envelope)),
      drop: async (error) => settle(() => this.#broker.bury(envelope, error, this.#queue.spec)),
      reply: (type, body) => this.#reply(envelope, type, body),
    };
  }

  #reply({ id, replyTo, correlationId }: Envelope, type: string, body: Uint8Array): void {
    const queue = replyTo === undefined ? undefined : this.#broker.find(replyTo);
    const rest = {
      sender: '',
      identity: SERVICE,
      replyTo: undefined,
      headers: {},
      expiresAtMs: undefined,
      deliveries: 0,
    };
    queue?.put({ type, body, id, correlationId, ...rest });
  }
}

/** The message in the form for handlers. */
export function deliveryOf(envelope: Envelope, { clock }: MemoryBroker): Delivery {
  const { expiresAtMs: deadlineMs, deliveries, ...fields } = envelope;
  const redelivered = deliveries > 1 || fields.postponedAtMs !== undefined;
  return new Delivery({ ...fields, deadlineMs, deliveries, redelivered }, clock);
}
