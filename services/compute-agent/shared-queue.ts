import { drop, type IncomingMessage, type Settlement, type Subscription } from '#libs/bus/port';
import { buildInstanceCodec } from '#libs/contracts/compute';
import { unknownType } from '#libs/contracts/rpc';
import { agentQueue } from '#libs/contracts/topology';
import { BerthError } from '#libs/domain/errors';
import { handle } from './handle';
import { type HostParts, persist } from './host';
import type { HostAgent } from './host-agent';

/** AMQP counts what a consumer has in hand in 16 bits. */
const MAX_PREFETCH = 65_535;

type SharedQueueParts = Pick<HostParts, 'bus' | 'config' | 'clock' | 'log'>;

/**
 * The queue of a process that carries many hosts, for the builds of all of them: orders that conductors give in one turn
 * come as one message, where a queue for each host would be a message for each. Whatever else hosts are told comes by
 * their own queues, which go with a host to whoever carries it.
 */
export class SharedQueue {
  readonly #parts: SharedQueueParts;
  readonly #hosts: ReadonlyMap<string, HostAgent>;
  readonly #closing = new AbortController();
  #subscription: Subscription | undefined;

  constructor(parts: SharedQueueParts, hosts: ReadonlyMap<string, HostAgent>) {
    this.#parts = parts;
    this.#hosts = hosts;
  }

  /** It is there before any host names it in a report. Resolves once it is, or once it no longer matters. */
  async declare(): Promise<void> {
    const { bus, config } = this.#parts;
    await this.#persist(() => bus.declare(agentQueue(config.host)));
  }

  /** Takes builds for hosts that have found what they carried before. */
  async begin(): Promise<void> {
    const { bus, config } = this.#parts;
    const options = { prefetch: Math.min(MAX_PREFETCH, config.prefetch * this.#hosts.size) };
    await this.#persist(async () => {
      const subscription = await bus.consume(agentQueue(config.host), (message) => this.#take(message), options);
      if (this.#closing.signal.aborted) await subscription.cancel();
      else this.#subscription = subscription;
    });
  }

  get isTakingWork(): boolean {
    return this.#subscription !== undefined;
  }

  /** Takes no more; resolves when all that was taken is settled. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#subscription?.cancel();
  }

  async #take(message: IncomingMessage): Promise<Settlement> {
    if (message.type !== buildInstanceCodec.type) return drop(unknownType(message));
    return handle(message, buildInstanceCodec, async (build) => {
      const host = this.#hosts.get(build.host);
      return host ? host.build(build) : drop(notCarried(build.host, this.#parts.config.host));
    });
  }

  #persist(action: () => Promise<void>): Promise<boolean> {
    const { config, log } = this.#parts;
    const parts = { ...this.#parts, givingUp: this.#closing.signal };
    return persist(parts, action, (error) => log.warn({ queue: config.host, error }, 'has no queue yet; tries again'));
  }
}

/** Its conductor finds that out by the build's deadline: the host no longer reports from here. */
function notCarried(host: string, serviceHost: string): BerthError {
  return new BerthError('not_found', 'not_carried', `${serviceHost} does not carry host ${host}, or no longer`);
}
