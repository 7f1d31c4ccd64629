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
  /** Above so many bytes of bodies, likewise; of dead letters the oldest go. */
  readonly maxBytes?: number;
  /** Deliveries before a message goes to dead-letters; those of calls, which the bus counts, before an error answers it. */
  readonly deliveryLimit?: number;
  /**
   * The transport may carry up to 32 messages of one process and one tick as one frame, which costs half to a quarter of
   * the processor time. Each is delivered, redelivered, counted and buried by itself all the same; but `maxLength`, and
   * the bus's `depth`, count a frame as one message. Only for queues that nobody but Berth's own processes consumes from.
   */
  readonly batching?: boolean;
  /** The exchange through which agents and tenants, who may not write to queues, reach it. */
  readonly entrance?: Entrance;
}

/**
 * A topic exchange through which restricted users (`identity.ts`) send to a queue. The routing key is `<queue>.<user>`, of
 * which the broker lets each user use its own only.
 */
export interface Entrance {
  readonly exchange: string;
  /** The routing keys that lead to the queue. */
  readonly pattern: string;
}

/** Tenants publish to this exchange only. */
export const REQUESTS_EXCHANGE = 'berth.requests';
/** Agents publish to this exchange only. */
export const REPORTS_EXCHANGE = 'berth.reports';
/** The topic exchange of events. */
export const EVENTS_EXCHANGE = 'berth.events';

/** A queue to send to: its spec, or its name alone where only that is known, as of a client's `reply_to`. */
export type QueueAddress = QueueSpec | string;

/** The name in an address. */
export function queueName(queue: QueueAddress): string {
  return typeof queue === 'string' ? queue : queue.name;
}

/** True if messages to this address may share frames. */
export function isBatching(queue: QueueAddress): boolean {
  return typeof queue !== 'string' && queue.batching === true;
}

/** A call may be given out so often: its consumers may die for another reason once or twice. */
const CALL_DELIVERIES = 3;

/**
 * Names of queues and topics: a public contract, documented in `proto/README.md`. Everyone declares a queue with the
 * spec given here, so that it does not matter who comes first. Of another cell than the first they have its name before
 * them (`cells.ts`), which the bus adds.
 */
export const BUILD_REQUESTS: QueueSpec = {
  name: 'build.requests',
  kind: 'work',
  maxLength: 100_000,
  deliveryLimit: 10,
  batching: true,
  entrance: { exchange: REQUESTS_EXCHANGE, pattern: 'build.requests.#' },
};
export const BUILD_RESULTS: QueueSpec = {
  name: 'build.results',
  kind: 'work',
  maxLength: 1_000_000,
  deliveryLimit: 10,
  batching: true,
  entrance: { exchange: REPORTS_EXCHANGE, pattern: 'build.results.#' },
};
export const RPC_SCHEDULER: QueueSpec = {
  name: 'rpc.scheduler',
  kind: 'transient',
  deliveryLimit: CALL_DELIVERIES,
  maxLength: 10_000,
  batching: true,
  entrance: { exchange: REQUESTS_EXCHANGE, pattern: 'rpc.scheduler.#' },
};
export const RPC_CONDUCTOR: QueueSpec = {
  name: 'rpc.conductor',
  kind: 'transient',
  deliveryLimit: CALL_DELIVERIES,
  maxLength: 10_000,
  entrance: { exchange: REQUESTS_EXCHANGE, pattern: 'rpc.conductor.#' },
};
export const STATS: QueueSpec = {
  name: 'stats',
  kind: 'transient',
  deliveryLimit: CALL_DELIVERIES,
  maxLength: 100_000,
  batching: true,
  entrance: { exchange: REPORTS_EXCHANGE, pattern: 'stats.#' },
};

/** Conductors keep the leases of agents that no scheduler answers. */
export const HOST_LEASES: QueueSpec = {
  name: 'host.leases',
  kind: 'transient',
  deliveryLimit: CALL_DELIVERIES,
  maxLength: 10_000,
  entrance: { exchange: REPORTS_EXCHANGE, pattern: 'host.leases.#' },
};

/**
 * The order queue of a service host (Nova's, of a node): builds and destroys of all hosts that it carries. An ordinary
 * host is its own service host.
 */
export function agentQueue(serviceHost: string): QueueSpec {
  const name = `agent.${serviceHost}`;
  // Its own agent alone, which puts an order back: `agent.h1.agent.h1`.
  const entrance = { exchange: REPORTS_EXCHANGE, pattern: `${name}.*.${serviceHost}` } as const;
  return { name, kind: 'host', maxLength: 10_000, batching: true, entrance };
}

/** The sender name of an agent; it keeps one host from reporting for another. */
export function agentSender(host: string): string {
  return `compute-agent.${host}`;
}

/** The topic of an instance event. */
export function instanceTopic(state: string, projectId: string, uuid: string): string {
  return `instance.${state}.${projectWord(projectId)}.${uuid}`;
}

/** The topic of summaries of a cell's hosts, for the top. */
export const CELL_SUMMARY_TOPIC = 'cell.summary';

/** The topic of hosts that would serve what waits for capacity. */
export const CAPACITY_TOPIC = 'capacity.wanted';

/** The topic of what happens to a flavor: `flavor.created.m1%2Esmall`. */
export function flavorTopic(change: string, flavor: string): string {
  return `flavor.${change}.${projectWord(flavor)}`;
}

/** AMQP's limit of a topic is 255 bytes, whatever a user is called; the event itself has the whole name. */
const MAX_USER_BYTES = 128;

/** The topic of an operator's action by the console: `operator.host_disable.admin`. The name of a user is cut. */
export function operatorTopic(action: string, userId: string): string {
  const word = Buffer.from(projectWord(userId)).subarray(0, MAX_USER_BYTES);
  return `operator.${action}.${word.toString()}`;
}

/** The topic of a refusal; the project is '' where it is not known. */
export function refusalTopic(projectId: string): string {
  return `request.refused.${projectWord(projectId)}`;
}

/**
 * A project as one word of a topic, and no other project's: dots, which would add words, are percent-encoded; no project is
 * `-`.
 */
export function projectWord(projectId: string): string {
  if (projectId === '-') return '%2D';
  return projectId.replaceAll('%', '%25').replaceAll('.', '%2E') || '-';
}
