import { drop, type IncomingMessage, type Settlement } from '#libs/bus/port';
import { buildInstanceCodec } from '#libs/contracts/compute';
import { unknownType } from '#libs/contracts/rpc';
import { BerthError } from '#libs/domain/errors';
import { handle } from './handle';
import type { HostAgent } from './host-agent';
import type { AgentConfig } from './options';
import { OrderQueue, type OrderQueueParts } from './order-queue';

/** AMQP counts what a consumer has in hand in 16 bits. */
const MAX_PREFETCH = 65_535;

/**
 * How a process that carries several hosts is named in their reports: its own name, by which they have a queue in common.
 * '' for one that carries a single host.
 */
export function serviceHostOf({ host, hosts }: Pick<AgentConfig, 'host' | 'hosts'>): string {
  return hosts > 1 ? host : '';
}

/**
 * The queue of a process that carries many hosts, for the builds of all of them: orders that conductors give in one turn
 * come as one message, where a queue for each host would be a message for each. Whatever else hosts are told comes by
 * their own queues, which go with a host to whoever carries it.
 */
export class SharedQueue {
  readonly #serviceHost: string;
  readonly #hosts: ReadonlyMap<string, HostAgent>;
  readonly #prefetch: number;
  readonly #closing = new AbortController();
  readonly #queue: OrderQueue;

  constructor(parts: Omit<OrderQueueParts, 'givingUp'>, serviceHost: string, hosts: readonly HostAgent[]) {
    this.#serviceHost = serviceHost;
    this.#hosts = new Map(hosts.map((host) => [host.name, host]));
    this.#prefetch = Math.min(MAX_PREFETCH, parts.config.prefetch * hosts.length);
    this.#queue = new OrderQueue({ ...parts, givingUp: this.#closing.signal }, serviceHost);
  }

  /** It is there before any host names it in a report. */
  declare(): Promise<void> {
    return this.#queue.declare();
  }

  /** Takes builds for hosts that have found what they carried before. */
  begin(): Promise<void> {
    return this.#queue.begin((message) => this.#take(message), this.#prefetch);
  }

  get isTakingWork(): boolean {
    return this.#queue.isTakingWork;
  }

  /** Takes no more; resolves when all that was taken is settled. */
  close(): Promise<void> {
    this.#closing.abort();
    return this.#queue.cancel();
  }

  async #take(message: IncomingMessage): Promise<Settlement> {
    if (message.type !== buildInstanceCodec.type) return drop(unknownType(message));
    return handle(message, buildInstanceCodec, async (build) => {
      const host = this.#hosts.get(build.host);
      return host ? host.build(build) : drop(notCarried(build.host, this.#serviceHost));
    });
  }
}

/** Its conductor finds that out by the build's deadline: the host no longer reports from here. */
function notCarried(host: string, serviceHost: string): BerthError {
  return new BerthError('not_found', 'not_carried', `${serviceHost} does not carry host ${host}, or no longer`);
}
