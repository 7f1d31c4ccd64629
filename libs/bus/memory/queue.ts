import Denque from 'denque';
import type { QueueSpec } from '../../contracts/queues';
import type { Clock } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import { deliveryLimit } from '../errors';
import { type IncomingMessage, isDeadLetters } from '../port';

/** A message in the broker. */
export interface Envelope
  extends Pick<IncomingMessage, 'type' | 'body' | 'id' | 'sender' | 'identity' | 'replyTo' | 'correlationId'> {
  readonly headers: Readonly<Record<string, string>>;
  /** When an untaken message is dropped. */
  readonly expiresAtMs: number | undefined;
  /** Number of deliveries. */
  deliveries: number;
  /** When it was first postponed, which does not count as a delivery. */
  postponedAtMs?: number;
}

/** A consumer of a queue. */
export interface Receiver {
  /** Limit of its unsettled messages. */
  readonly prefetch: number;
  /** Its unsettled messages; the queue counts them. */
  unsettledCount: number;
  receive(envelope: Envelope): void;
}

/** The broker of a queue. */
export interface QueueBroker {
  readonly clock: Clock;
  /** Moves a message to the dead letters. */
  bury(envelope: Envelope, error: BerthError, queue: QueueSpec): void;
  /** Acts in a later turn of the event loop. */
  later(action: () => void): void;
}

/** A queue of the memory broker, with RabbitMQ's limits, expiry and round-robin delivery. */
export class MemoryQueue {
  readonly spec: QueueSpec;
  readonly #broker: QueueBroker;
  readonly #ready = new Denque<Envelope>();
  readonly #receivers: Receiver[] = [];
  #turn = 0;
  #readyBytes = 0;

  constructor(spec: QueueSpec, broker: QueueBroker) {
    this.spec = spec;
    this.#broker = broker;
  }

  /** Messages that wait for a receiver. */
  get depth(): number {
    this.#dropExpired();
    return this.#ready.length;
  }

  get hasConsumers(): boolean {
    return this.#receivers.length > 0;
  }

  put(envelope: Envelope): 'stored' | 'full' {
    if (this.#isFull(envelope)) {
      if (!isDeadLetters(this.spec.name)) return 'full';
      while (this.#ready.length > 0 && this.#isFull(envelope)) this.#shift();
    }
    this.#push(envelope);
    this.#giveOut();
    return 'stored';
  }

  #isFull({ body }: Envelope): boolean {
    const { maxLength = Infinity, maxBytes = Infinity } = this.spec;
    return this.depth >= maxLength || this.#readyBytes + body.length > maxBytes;
  }

  #push(envelope: Envelope): void {
    this.#readyBytes += envelope.body.length;
    this.#ready.push(envelope);
  }

  #shift(): Envelope | undefined {
    const envelope = this.#ready.shift();
    this.#readyBytes -= envelope?.body.length ?? 0;
    return envelope;
  }

  #unshift(envelope: Envelope): void {
    this.#readyBytes += envelope.body.length;
    this.#ready.unshift(envelope);
  }

  /** Requeues an unsettled message at the front, unless it has too many deliveries. */
  takeBack(envelope: Envelope): void {
    const isAboveLimit = this.spec.kind === 'work' && envelope.deliveries > (this.spec.deliveryLimit ?? Infinity);
    if (isAboveLimit) this.#broker.bury(envelope, deliveryLimit(envelope.deliveries), this.spec);
    else this.#unshift(envelope);
    this.#giveOut();
  }

  /** Requeues a message at the end without counting the delivery, but with `redelivered`. */
  postpone(envelope: Envelope): void {
    const postponedAtMs = envelope.postponedAtMs ?? this.#broker.clock.now();
    this.#push({ ...envelope, deliveries: envelope.deliveries - 1, postponedAtMs });
    this.#giveOut();
  }

  add(receiver: Receiver): void {
    this.#receivers.push(receiver);
    this.#giveOut();
  }

  /** Stops deliveries to a receiver. */
  remove(receiver: Receiver): void {
    const index = this.#receivers.indexOf(receiver);
    if (index >= 0) this.#receivers.splice(index, 1);
  }

  /** The receiver has settled one message and may get another. */
  settled(receiver: Receiver): void {
    receiver.unsettledCount--;
    this.#giveOut();
  }

  #giveOut(): void {
    for (;;) {
      this.#dropExpired();
      const receiver = this.#ready.length > 0 ? this.#nextWithRoom() : undefined;
      const envelope = receiver && this.#shift();
      if (receiver === undefined || envelope === undefined) return;
      receiver.unsettledCount++;
      envelope.deliveries++;
      this.#broker.later(() => receiver.receive(envelope));
    }
  }

  /** Round robin. */
  #nextWithRoom(): Receiver | undefined {
    for (let tried = 0; tried < this.#receivers.length; tried++) {
      const receiver = this.#receivers[this.#turn++ % this.#receivers.length];
      if (receiver !== undefined && receiver.unsettledCount < receiver.prefetch) return receiver;
    }
    return undefined;
  }

  /** Like RabbitMQ: an expired message is dropped when it reaches the front. */
  #dropExpired(): void {
    const nowMs = this.#broker.clock.elapsed();
    for (let first = this.#ready.peekFront(); first !== undefined; first = this.#ready.peekFront()) {
      if (first.expiresAtMs === undefined || nowMs < first.expiresAtMs) return;
      this.#shift();
      if (this.spec.kind !== 'transient') this.#broker.bury(first, expired(), this.spec);
    }
  }
}

function expired(): BerthError {
  return new BerthError('deadline_exceeded', 'expired', 'the message expired before a consumer took it');
}
