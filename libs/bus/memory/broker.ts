import type { QueueSpec } from '../../contracts/queues';
import type { Clock } from '../../domain/clock';
import type { BerthError } from '../../domain/errors';
import type { Log } from '../../runtime/log';
import { queueMismatch } from '../errors';
import { DEAD_LETTER_QUEUE, deadLetterHeaders } from '../handling/dead-letter';
import { DEAD_LETTERS } from '../port';
import { DeferredActions } from './deferred-actions';
import { type Envelope, MemoryQueue, type QueueSurroundings } from './queue';
import { topicMatches } from './topic';

interface Listener {
  readonly pattern: string;
  hear(topic: string, envelope: Envelope): void;
}

/**
 * The broker of one process: queues and topics in memory. Buses that shall talk to each other share one.
 * Deterministic: what happens, and in which order, depends on nothing but the calls and the clock.
 */
export class MemoryBroker implements QueueSurroundings {
  readonly clock: Clock;
  readonly #queues = new Map<string, MemoryQueue>();
  readonly #listeners = new Set<Listener>();
  readonly #deferred: DeferredActions;
  #privateQueues = 0;

  constructor(clock: Clock, log: Log) {
    this.clock = clock;
    this.#deferred = new DeferredActions(clock, log);
    this.declare(DEAD_LETTER_QUEUE);
  }

  /** @throws BerthError `failed_precondition / queue_mismatch`. */
  declare(spec: QueueSpec): MemoryQueue {
    const declared = this.#queues.get(spec.name);
    if (spec.name === DEAD_LETTERS && declared !== undefined) return declared;
    if (declared === undefined) {
      const queue = new MemoryQueue(spec, this);
      this.#queues.set(spec.name, queue);
      return queue;
    }
    for (const property of ['kind', 'maxLength', 'deliveryLimit'] as const) {
      if (declared.spec[property] === spec[property]) continue;
      throw queueMismatch(spec.name, `${property} is ${declared.spec[property]}, not ${spec[property]}`);
    }
    return declared;
  }

  /** A queue that nobody else names, such as one for answers. */
  declarePrivate(purpose: string): MemoryQueue {
    return this.declare({ name: `${purpose}.${++this.#privateQueues}`, kind: 'transient' });
  }

  find(name: string): MemoryQueue | undefined {
    return this.#queues.get(name);
  }

  delete(queue: MemoryQueue): void {
    this.#queues.delete(queue.spec.name);
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(topic: string, envelope: Envelope): void {
    for (const listener of this.#listeners) {
      if (topicMatches(listener.pattern, topic)) this.later(() => listener.hear(topic, envelope));
    }
  }

  bury(envelope: Envelope, error: BerthError, queue: QueueSpec): void {
    const headers = deadLetterHeaders(error, queue.name);
    this.declare(DEAD_LETTER_QUEUE).put({ ...envelope, headers, expiresAtMs: undefined, deliveries: 0 });
  }

  later(action: () => void): void {
    this.#deferred.later(action);
  }
}
