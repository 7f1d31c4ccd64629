import { cellOf, queueInCell } from '../../contracts/cells';
import type { QueueSpec } from '../../contracts/queues';
import type { Clock } from '../../domain/clock';
import type { BerthError } from '../../domain/errors';
import type { Log } from '../../runtime/log';
import { queueMismatch } from '../errors';
import { DEAD_LETTER_QUEUE, deadLetterHeaders, droppedBodyHeaders, keptBody } from '../handling/dead-letter';
import { isDeadLetters } from '../port';
import { type Envelope, MemoryQueue } from './queue';
import { topicMatches } from './topic';

/** Rounds of actions in a row before timers and sockets are served. */
const ROUNDS_IN_A_ROW = 256;

interface Listener {
  /** The event exchange of its cell. */
  readonly exchange: string;
  readonly pattern: string;
  hear(topic: string, envelope: Envelope): void;
}

/**
 * The broker of one process: queues and topics in memory. Buses that exchange messages share one. Deterministic:
 * effects and their order depend only on the calls and the clock.
 */
export class MemoryBroker {
  readonly clock: Clock;
  readonly #queues = new Map<string, MemoryQueue>();
  readonly #listeners = new Set<Listener>();
  readonly #log: Log;
  #privateQueues = 0;
  #actions: (() => void)[] = [];
  #round = 0;

  constructor(clock: Clock, log: Log) {
    this.clock = clock;
    this.#log = log;
    this.declare(DEAD_LETTER_QUEUE);
  }

  /** @throws BerthError `failed_precondition / queue_mismatch`. */
  declare(spec: QueueSpec): MemoryQueue {
    const declared = this.#queues.get(spec.name);
    if (isDeadLetters(spec.name) && declared !== undefined) return declared;
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

  /** A queue with a unique name, for answers and the like. */
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

  publish(exchange: string, topic: string, envelope: Envelope): void {
    for (const listener of this.#listeners) {
      if (listener.exchange === exchange && topicMatches(listener.pattern, topic))
        this.later(() => listener.hear(topic, envelope));
    }
  }

  bury(envelope: Envelope, error: BerthError, queue: QueueSpec): void {
    const headers = { ...deadLetterHeaders(error, queue.name), ...droppedBodyHeaders(envelope) };
    this.declare(queueInCell(cellOf(queue.name), DEAD_LETTER_QUEUE)).put({
      ...envelope,
      body: keptBody(envelope),
      headers,
      expiresAtMs: undefined,
      deliveries: 0,
    });
  }

  /**
   * Runs an action later, in order of registration, so that a sender never runs the receiver's code on its own stack.
   *
   * Microtasks make a hop cheap, but services that message each other through microtasks alone would starve timers and
   * sockets; so every so often the next round waits for the clock. Both are deterministic.
   */
  later(action: () => void): void {
    if (this.#actions.push(action) > 1) return;
    if (++this.#round % ROUNDS_IN_A_ROW === 0) this.clock.after(0, () => this.#runActions());
    // Not `queueMicrotask`, which creates an asynchronous resource each time.
    else void Promise.resolve().then(() => this.#runActions());
  }

  #runActions(): void {
    const actions = this.#actions;
    this.#actions = [];
    for (const action of actions) {
      try {
        action();
      } catch (error) {
        this.#log.error({ event: 'bus_receiver_threw', error }, 'a receiver of the bus threw');
      }
    }
  }
}
