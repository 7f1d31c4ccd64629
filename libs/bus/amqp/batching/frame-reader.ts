import type { ConsumeMessage, Options } from 'amqplib';
import { nameOf } from '../../../contracts/identity';
import { refusalOfMessage } from '../../../contracts/message-rules';
import type { Clock } from '../../../domain/clock';
import { BerthError } from '../../../domain/errors';
import type { SenderLog } from '../../../runtime/sender-log';
import type { RuntimeDeps } from '../../../runtime/service';
import { Delivery } from '../../handling/delivery';
import type { MessageActions } from '../../handling/handle-message';
import { traceHeaderOf } from '../../handling/trace-messages';
import { DELIVERIES_HEADER, deliveryOf, expirationOf, outgoingProperties } from '../message';
import { onBehalfOf } from '../origin';
import type { Acks } from './acks';
import { type FramedMessage, frameCodec } from './frame';

/** Publishes a message to the frame's queue; resolves when the broker has it. Errors as in `Bus.cast`. */
export type PutBack = (body: Uint8Array, properties: Options.Publish) => Promise<void>;

/** Settles one AMQP message, or one message of a frame. */
export type Settling = Pick<MessageActions, 'ack' | 'requeue'>;

/** Gives a message to its handler; false when the consumer takes no more. */
export type HandOut = (delivery: Delivery, settling: Settling) => boolean;

/** Pause before a message that could not be republished is delivered here again. */
const PUT_BACK_PAUSE_MS = 500;

/**
 * Unpacks frames, so that each message is delivered, redelivered, counted and dead-lettered by itself.
 *
 * The broker knows the frame only: it takes all of it back, or nothing, and counts its deliveries. The naive way
 * requeues the frame for the sake of one message; then messages already done are handled again, and a message that
 * kills its consumers takes its whole frame to the dead letters. Here a message to redeliver is republished alone, with
 * its delivery count in a header, and only once the broker has it is its part of the frame settled. A frame that comes
 * `redelivered`, because a process died with it, is not delivered: all of its messages are republished alone, and the
 * next process dies with none but the fatal one. The cost: a redelivered message comes behind later ones; and when a
 * process dies between the two steps, some come twice, which "at least once" allows. A message that can't be
 * republished, because the queue is full, is delivered here again.
 */
export class FrameReader {
  readonly #putBack: PutBack;
  readonly #around: RuntimeDeps;
  readonly #log: SenderLog;

  /** @param log  lines about messages, limited by their senders */
  constructor(putBack: PutBack, around: RuntimeDeps, log: SenderLog) {
    this.#putBack = putBack;
    this.#around = around;
    this.#log = log;
  }

  /** Delivers the messages of a frame; a frame that can't be decoded is delivered whole, with its defect. */
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

  /** @param count  deliveries so far */
  #giveOut(open: OpenFrame, message: FramedMessage, count: number): void {
    const requeue = () => this.#putBackAlone(open, message, count + 1);
    const delivery = this.#deliveryOf(message, open.whole, count + 1);
    if (!open.handOut(delivery, { ack: open.ack, requeue })) void this.#putBackAlone(open, message, count);
  }

  async #putBackAlone(open: OpenFrame, message: FramedMessage, count: number): Promise<void> {
    // The broker redelivers the frame of a closed channel, whatever happens to its messages here.
    if (open.acks.isLost) return;
    try {
      await this.#putBack(message.body, propertiesOf(message, open, count, this.#around.clock));
      open.ack();
    } catch (error) {
      if (open.acks.isLost) return;
      const fields = { event: 'bus_put_back_failed', id: message.messageId, error };
      this.#log.warn(nameOf(open.whole.identity), fields, 'message not requeued, handling it here again');
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

/** A frame with unsettled messages. */
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

/**
 * The properties of a message that leaves its frame. Its expiry counts from its arrival here, as if it had entered the
 * queue then.
 */
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
