import type { Channel, ChannelModel } from 'amqplib';
import type { Connection } from '../../../amqp/connection';
import { ReopeningChannel } from '../../../amqp/reopening-channel';
import type { RuntimeDeps } from '../../../runtime/service';
import type { Delivery } from '../../handling/delivery';
import { answerProperties, bufferOf } from '../message';
import { onOpen } from './acks';
import { frameCodec, framedMessage } from './frame';
import { FrameBatches } from './frame-batches';

interface Answer {
  readonly call: Delivery;
  /** '' or an error's type. */
  readonly type: string;
  readonly body: Uint8Array;
}

/**
 * The answers of a bus, on a channel of their own. Answers to calls that came in frames share frames; any other is a
 * message of its own, since its caller may not support frames. While the channel is gone answers are lost, and the
 * caller asks again.
 */
export class Answers {
  readonly #reopening: ReopeningChannel<Channel>;
  readonly #batches = new FrameBatches<Answer>(
    ({ body }) => body.length,
    (answers) => this.#send(answers),
  );

  constructor(connection: Connection, around: RuntimeDeps) {
    const create = (model: ChannelModel) => model.createChannel();
    const role = { name: 'answers', create, prepare: async () => {}, lost: () => {} };
    this.#reopening = new ReopeningChannel<Channel>(connection, role, around);
    connection.add(this.#reopening);
  }

  /** @param type  '' or an error's type */
  send(call: Delivery, type: string, body: Uint8Array): void {
    this.#send([{ call, type, body }]);
  }

  /** Answers a call that came in a frame. */
  sendBatched(call: Delivery, type: string, body: Uint8Array): void {
    this.#batches.add(call.replyTo ?? '', { call, type, body });
  }

  /** Resolves when the broker has received all answers. */
  close(): Promise<void> {
    this.#batches.flush();
    return this.#reopening.close();
  }

  #send(answers: readonly Answer[]): void {
    const [first] = answers;
    const replyTo = first?.call.replyTo;
    if (first === undefined || replyTo === undefined) return;
    const [content, properties] =
      answers.length === 1
        ? [first.body, answerProperties(first.call, first.type)]
        : [frameCodec.encode(answers.map(framedAnswer)), { type: frameCodec.type }];
    onOpen(() => this.#reopening.channel?.publish('', replyTo, bufferOf(content), properties));
  }
}

function framedAnswer({ call: { correlationId = '' }, type, body }: Answer) {
  return framedMessage({ type, correlationId }, body);
}
