import Denque from 'denque';
import type { Identity } from '../../contracts/identity';
import type { QueueSpec } from '../../contracts/queues';
import type { Clock } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import { deliveryLimit } from '../errors';
import { DEAD_LETTERS } from '../port';

/** A message as the broker keeps it. */
export interface Envelope {
  readonly type: string;
  readonly body: Uint8Array;
  readonly id: string;
  readonly sender: string;
  readonly identity: Identity;
  readonly replyTo: string | undefined;
  readonly correlationId: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** When it is dropped if nobody took it. */
  readonly expiresAtMs: number | undefined;
  /** How often it was given out. */
  deliveries: number;
}

/** Who takes messages from a queue. */
export interface Receiver {
  /** How many unsettled messages it may have at once. */
  readonly prefetch: number;
  receive(envelope: Envelope): void;
}

interface Place {
  readonly receiver: Receiver;
  unsettled: number;
}

/** What a queue needs of its broker. */
export interface QueueSurroundings {
  readonly clock: Clock;
  later(action: () => void): void;
  bury(envelope: Envelope, error: BerthError, queue: QueueSpec): void;
}

/** A queue of the memory broker, with the limits, expiry and round-robin delivery of RabbitMQ's. */
export class MemoryQueue {
  readonly spec: QueueSpec;
  readonly #around: QueueSurroundings;
  readonly #ready = new Denque<Envelope>();
  readonly #places: Place[] = [];
  #nextPlace = 0;

  constructor(spec: QueueSpec, around: QueueSurroundings) {
    this.spec = spec;
    this.#around = around;
  }

  /** Messages that wait for a receiver. */
  get depth(): number {
    this.#dropExpired();
    return this.#ready.length;
  }

  put(envelope: Envelope): 'stored' | 'full' {
    if (this.depth >= (this.spec.maxLength ?? Infinity)) {
      if (this.spec.name !== DEAD_LETTERS) return 'full';
      this.#ready.shift();
    }
    this.#ready.push(envelope);
    this.#giveOut();
    return 'stored';
  }

  /** Takes back what a receiver did not settle; it goes first, unless it was given out too often. */
  takeBack(envelope: Envelope): void {
    const isAboveLimit = this.spec.kind === 'work' && envelope.deliveries > (this.spec.deliveryLimit ?? Infinity);
    if (isAboveLimit) this.#around.bury(envelope, deliveryLimit(envelope.deliveries), this.spec);
    else this.#ready.unshift(envelope);
    this.#giveOut();
  }

  add(receiver: Receiver): void {
    this.#places.push({ receiver, unsettled: 0 });
    this.#giveOut();
  }

  /** Gives a receiver nothing more. */
  remove(receiver: Receiver): void {
    const index = this.#places.findIndex((place) => place.receiver === receiver);
    if (index >= 0) this.#places.splice(index, 1);
  }

  /** A receiver has settled one message and may have another. */
  settled(receiver: Receiver): void {
    const place = this.#places.find((p) => p.receiver === receiver);
    if (place === undefined) return;
    place.unsettled--;
    this.#giveOut();
  }

  #giveOut(): void {
    for (;;) {
      this.#dropExpired();
      const place = this.#ready.length > 0 ? this.#nextWithRoom() : undefined;
      const envelope = place && this.#ready.shift();
      if (place === undefined || envelope === undefined) return;
      place.unsettled++;
      envelope.deliveries++;
      this.#around.later(() => place.receiver.receive(envelope));
    }
  }

  /** Round robin. */
  #nextWithRoom(): Place | undefined {
    for (let tried = 0; tried < this.#places.length; tried++) {
      const place = this.#places[this.#nextPlace++ % this.#places.length];
      if (place !== undefined && place.unsettled < place.receiver.prefetch) return place;
    }
    return undefined;
  }

  /** As RabbitMQ does: a message that has expired goes when it comes first, not before. */
  #dropExpired(): void {
    const nowMs = this.#around.clock.now();
    for (let first = this.#ready.peekFront(); first !== undefined; first = this.#ready.peekFront()) {
      if (first.expiresAtMs === undefined || nowMs < first.expiresAtMs) return;
      this.#ready.shift();
      if (this.spec.kind !== 'transient') this.#around.bury(first, expired(), this.spec);
    }
  }
}

function expired(): BerthError {
  return new BerthError('deadline_exceeded', 'expired', 'nobody took it before it expired');
}
