import type { ConsumeMessage, Options } from 'amqplib';
import { refusalOfMessage } from '../../../contracts/message-rules';
import type { Clock } from '../../../domain/clock';
import { BerthError } from '../../../domain/errors';
import type { Surroundings } from '../../../runtime/service';
import { Delivery } from '../../handling/delivery';
import type { MessageActions } from '../../handling/handle-message';
import { traceHeaderOf } from '../../handling/trace-messages';
import { DELIVERIES_HEADER, deliveryOf, expirationOf, outgoingProperties } from '../message';
import { onBehalfOf } from '../origin';
import type { Acks } from './acks';
import { type FramedMessage, frameCodec } from './frame';

/** Publishes a message to the frame's queue; resolves when the broker has it. Errors as `Bus.cast`. */
export type PutBack = (body: Uint8Array, properties: Options.Publish) => Promise<void>;

/** How one AMQP message, or one message of a frame, is settled. */
export type Settling = Pick<MessageActions, 'ack' | 'requeue'>;

/** Gives a message to its handler; false when the consumer takes nothing more. */
export type HandOut = (delivery: Delivery, settling: Settling) => boolean;

/** Before a message that could not be put back is handed out here again. */
const PUT_BACK_PAUSE_MS = 500;

/**
 * Takes frames apart, so that each message is handed out, given out again, counted and buried by itself.
 *
 * The broker knows the frame only: it takes all of it back, or nothing, and counts its deliveries. The naive way requeues
 * the frame for the sake of one message; then those that are done are handled again, and a message that kills its
 * consumers takes its whole frame to the dead letters. Here a message that is to be given out again is published again
 * alone, with the count of its deliveries in a header, and only when the broker has it is its part of the frame settled.
 * A frame that comes `redelivered`, because a process died with it, is not handed out: all of its messages are published
 * again alone, and the next process dies with nothing but the one that kills it. What it costs: a message that is given
 * out again comes behind those that came after it; and when a process dies between the two steps, some come twice, which
 * "at least once" allows. A message that can not be put back, because the queue is full, is handed out here again.
 */
export class FrameReader {
  readonly #putBack: PutBack;
  readonly #around: Surroundings;

  constructor(putBack: PutBack, around: Surroundings) {
    this.#putBack = putBack;
    this.#around = around;
  }

  /** Hands out the messages of a frame; one that can't be decoded as a whole, with the defect that it has. */
  read(frame: ConsumeMessage, acks: Acks, handOut: HandOut): void {
    const whole = deliveryOf(frame, this.#around);
    const messages = decoded(whole);
    if (messages instanceof BerthError) {
      const settling = { ack: () => acks.ack(frame), requeue: () => acks.requeue(frame) };
      return void handOut(deliveryOf(frame, this.#around, messages), settling);
    }
    let openCount = messages.length;
    const ack = () => {
      if (--openCount === 0) acks.ack(frame);
    };
    const open: OpenFrame = { frame, whole, acks, handOut, ack };
    for (const message of messages) {
      if (whole.redelivered) void this.#putBackAlone(open, message, whole.deliveries - 1);
      else this.#giveOut(open, message, 0);
    }
  }

  /** @param count  how often it was given out so far */
  #giveOut(open: OpenFrame, message: FramedMessage, count: number): void {
    const requeue = () => this.#putBackAlone(open, message, count + 1);
    const delivery = this.#deliveryOf(message, open.whole, count + 1);
    if (!open.handOut(delivery, { ack: open.ack, requeue })) void this.#putBackAlone(open, message, count);
  }

  async #putBackAlone(open: OpenFrame, message: FramedMessage, count: number): Promise<void> {
    // The broker gives out the frame of a channel that is gone, whatever becomes of its messages here.
    if (open.acks.isLost) return;
    try {
      await this.#putBack(message.body, propertiesOf(message, open, count, this.#around.clock));
      open.ack();
    } catch (error) {
      if (open.acks.isLost) return;
      const fields = { event: 'bus_put_back_failed', id: message.messageId, error };
      this.#around.log.warn(fields, 'could not put a message back into its queue, handles it here again');
      this.#around.clock.after(PUT_BACK_PAUSE_MS, () => this.#giveOut(open, message, count));
    }
  }

  #deliveryOf(message: FramedMessage, whole: Delivery, deliveries: number): Delivery {
    const fields = {
      type: message.type,
      body: message.body,
      id: message.messageId || this.#around.random.uuid(),
      sender: message.appId,
      identity: whole.identity,
      replyTo: whole.replyTo,
      correlationId: message.correlationId || undefined,
      redelivered: deliveries > 1,
      deadlineMs: whole.deadlineMs,
      headers: message.traceparent === '' ? whole.headers : { ...whole.headers, ...traceHeaderOf(message.traceparent) },
      deliveries,
    };
    return new Delivery(fields, this.#around.clock);
  }
}

/** A frame of which some messages are not settled. */
interface OpenFrame {
  readonly frame: ConsumeMessage;
  readonly whole: Delivery;
  readonly acks: Acks;
  readonly handOut: HandOut;
  /** Settles one of its messages; the last one settles the frame. */
  readonly ack: () => void;
}

function decoded({ body, type, identity }: Delivery): readonly FramedMessage[] | BerthError {
  try {
    const refusal = identity.kind === 'nobody' ? undefined : refusalOfMessage(type, identity, body.length, Infinity);
    if (refusal !== undefined) return refusal;
    return frameCodec.decode(body);
  } catch (thrown) {
    return BerthError.from(thrown);
  }
}

/** The properties of a message that leaves its frame. It expires as if it had come to the queue when it came here. */
function propertiesOf(
  message: FramedMessage,
  { frame, whole: { deadlineMs, identity } }: OpenFrame,
  count: number,
  clock: Clock,
): Options.Publish {
  const { replyTo, deliveryMode } = frame.properties;
  return {
    ...outgoingProperties(message.type, message.messageId, message.appId, message.correlationId),
    ...(replyTo === undefined ? {} : { replyTo }),
    ...(deadlineMs === undefined ? {} : { expiration: expirationOf(deadlineMs - clock.elapsed()) }),
    headers: {
      ...traceHeaderOf(message.traceparent),
      ...onBehalfOf(identity),
      ...(count === 0 ? {} : { [DELIVERIES_HEADER]: count }),
    },
    persistent: deliveryMode === 2,
  };
}
