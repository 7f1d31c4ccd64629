/**
 * A queue as every process declares it; declaring it twice with the same spec is harmless.
 *
 * - `work`      durable, replicated (quorum), delivery limit, dead letters: builds and their results
 * - `host`      durable, classic, dead letters: those of agents
 * - `transient` goes with the broker: RPC
 */
export interface QueueSpec {
  readonly name: string;
  readonly kind: 'work' | 'host' | 'transient';
  /** Above this many waiting, new messages are refused `resource_exhausted / queue_full`. See `batching`. */
  readonly maxLength?: number;
  /** Deliveries before a message goes to dead-letters. */
  readonly deliveryLimit?: number;
  /**
   * The transport may carry up to 32 messages of one process and one tick as one frame, which costs half to a quarter of
   * the processor time. Each is delivered, redelivered, counted and buried by itself all the same; but `maxLength`, and
   * the bus's `depth`, count a frame as one message. Only for queues that nobody but Berth's own processes consumes from.
   */
  readonly batching?: boolean;
}

/** A queue to send to: its spec, or its name alone where only that is known, as of a client's `reply_to`. */
export type QueueAddress = QueueSpec | string;

/** The name in an address. */
export function queueName(queue: QueueAddress): string {
  return typeof queue === 'string' ? queue : queue.name;
}

/** Whether messages to this address may share frames. */
export function isBatching(queue: QueueAddress): boolean {
  return typeof queue !== 'string' && queue.batching === true;
}

/**
 * Names of queues and topics: a public contract, documented in `proto/README.md`. Everyone declares a queue with the
 * spec given here, so that it does not matter who comes first.
 */
export const BUILD_REQUESTS: QueueSpec = {
  name: 'build.requests',
  kind: 'work',
  maxLength: 100_000,
  deliveryLimit: 10,
  batching: true,
};
export const BUILD_RESULTS: QueueSpec = {
  name: 'build.results',
  kind: 'work',
  maxLength: 1_000_000,
  deliveryLimit: 10,
  batching: true,
};
export const RPC_SCHEDULER: QueueSpec = {
  name: 'rpc.scheduler',
  kind: 'transient',
  maxLength: 10_000,
  batching: true,
};
export const RPC_CONDUCTOR: QueueSpec = { name: 'rpc.conductor', kind: 'transient', maxLength: 10_000 };
export const STATS: QueueSpec = { name: 'stats', kind: 'transient', maxLength: 100_000, batching: true };

/**
 * The order queue of a service host (Nova's, of a node): builds and destroys of all hosts that it carries. An ordinary
 * host is its own service host.
 */
export function agentQueue(serviceHost: string): QueueSpec {
  return { name: `agent.${serviceHost}`, kind: 'host', maxLength: 10_000, batching: true };
}

/** How an agent signs what it sends, so that one host can't report for another. */
export function agentSender(host: string): string {
  return `compute-agent.${host}`;
}

/** The topic of an instance event. Dots in a project id would add words, so they become dashes. */
export function instanceTopic(state: string, projectId: string, uuid: string): string {
  return `instance.${state}.${projectId.replaceAll('.', '-') || '-'}.${uuid}`;
}
