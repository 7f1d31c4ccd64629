import { drop, type IncomingMessage, type Settlement, type Subscription } from '#libs/bus/port';
import { unknownType } from '#libs/bus/typed-calls';
import { buildInstanceCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import { type Identity, nameOf, speaksForHost } from '#libs/contracts/identity';
import { agentQueue } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import { decodeBuildOrder } from '../host/build-order';
import { type Host, retryUntilDrainEnd } from '../host/host';
import { takeBuild } from './take-build';
import { takeDestroy } from './take-destroy';

export type OrderQueueParts = Pick<Host, 'bus' | 'config' | 'clock' | 'random' | 'log' | 'drainEnd'>;

/** AMQP counts a consumer's unacked messages in 16 bits. */
const MAX_PREFETCH = 65_535;

/**
 * The order queue of a service host, and the only one of its process: takes builds and destroys of all its hosts and
 * gives each to the host that it names. An order for a host that is not here is dead-lettered.
 *
 * All hosts share one prefetch, `prefetch` times as many messages as there are hosts: builds that wait on one host hold
 * up no order of another, and a destroy gets past the builds that wait before it.
 */
export class OrderQueue {
  readonly #parts: OrderQueueParts;
  readonly #hosts: ReadonlyMap<string, Host>;
  #subscription: Subscription | undefined;

  constructor(parts: OrderQueueParts, hosts: readonly Host[]) {
    this.#parts = parts;
    this.#hosts = new Map(hosts.map((host) => [host.facts.name, host]));
  }

  /** Resolves when the queue is there, or draining is over. */
  async declare(): Promise<void> {
    const { bus, config } = this.#parts;
    const declare = () => bus.declare(agentQueue(config.host));
    await this.#retry(declare, 'order_queue_not_declared', 'order queue not declared, retrying');
  }

  /** Resolves when orders are taken, or draining is over. */
  async consume(): Promise<void> {
    const { bus, config, drainEnd } = this.#parts;
    const prefetch = Math.min(MAX_PREFETCH, config.prefetch * this.#hosts.size);
    const consume = async () => {
      const take = (message: IncomingMessage) => this.#take(message);
      const subscription = await bus.consume(agentQueue(config.host), take, { prefetch });
      if (drainEnd.aborted) await subscription.cancel();
      else this.#subscription = subscription;
    };
    await this.#retry(consume, 'order_queue_not_consumed', 'order queue not consumed, retrying');
  }

  get isConsuming(): boolean {
    return this.#subscription !== undefined;
  }

  /** Takes no more orders; resolves when all that were taken are settled. */
  async cancel(): Promise<void> {
    await this.#subscription?.cancel();
  }

  async #take(message: IncomingMessage): Promise<Settlement> {
    const { type, body, identity } = message;
    if (identity.kind !== 'service' && !speaksForHost(identity, this.#parts.config.host))
      return drop(foreignOrder(identity));
    switch (type) {
      case buildInstanceCodec.type:
        return this.#dispatch(() => decodeBuildOrder(body), takeBuild);
      case destroyInstanceCodec.type:
        return this.#dispatch(() => destroyInstanceCodec.decode(body), takeDestroy);
      default:
        return drop(unknownType(message));
    }
  }

  /** Undecodable orders are dead-lettered, and those for other hosts; their conductors notice by their deadlines. */
  async #dispatch<T extends { readonly host: string }>(
    decode: () => T,
    take: (host: Host, order: T) => Promise<Settlement>,
  ): Promise<Settlement> {
    let order: T;
    try {
      order = decode();
    } catch (thrown) {
      return drop(BerthError.from(thrown));
    }
    const host = this.#hosts.get(order.host);
    if (host) return take(host, order);
    const message = `service host ${this.#parts.config.host} does not carry host ${order.host}`;
    return drop(new BerthError('not_found', 'not_carried', message));
  }

  async #retry(action: () => Promise<void>, event: string, problem: string): Promise<void> {
    const { log, config } = this.#parts;
    const warn = (error: unknown) => log.warn({ event, service_host: config.host, error }, problem);
    await retryUntilDrainEnd(this.#parts, action, warn);
  }
}

/** Services give orders, and the agent itself when it puts one back. */
function foreignOrder(identity: Identity): BerthError {
  return new BerthError('permission_denied', 'foreign_order', `${nameOf(identity)} may not order this agent`);
}
