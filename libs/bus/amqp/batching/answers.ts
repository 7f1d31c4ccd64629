import type { Channel } from 'amqplib';
import type { Delivery } from '../../handling/delivery';
import { answerProperties, bufferOf } from '../message';
import { onOpen } from './acks';
import { frameCodec, framedMessage } from './frame';
import { FrameBatches } from './frame-batches';

interface Answer {
  readonly call: Delivery;
  /** '' or that of an error. */
  readonly type: string;
  readonly body: Uint8Array;
}

/**
 * The answers that leave by one channel: those to calls that came in frames share frames, any other is a message of its
 * own, as a caller that knows no frames expects it. On a channel that is gone they are lost, and the caller asks again.
 */
export class Answers {
  readonly #channel: Channel;
  readonly #batches = new FrameBatches<Answer>(
    ({ body }) => body.length,
    (answers) => this.#send(answers),
  );

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** @param type  '' or that of an error */
  send(call: Delivery, type: string, body: Uint8Array): void {
    this.#send([{ call, type, body }]);
  }

  /** Answers a call that came in a frame. */
  sendBatched(call: Delivery, type: string, body: Uint8Array): void {
    this.#batches.add(call.replyTo ?? '', { call, type, body });
  }

  /** Sends now what waits for the end of the callback. */
  flush(): void {
    this.#batches.flush();
  }

  #send(answers: readonly Answer[]): void {
    const [first] = answers;
    const replyTo = first?.call.replyTo;
    if (first === undefined || replyTo === undefined) return;
    const [content, properties] =
      answers.length === 1
        ? [first.body, answerProperties(first.call, first.type)]
        : [frameCodec.encode(answers.map(framedAnswer)), { type: frameCodec.type }];
    onOpen(() => this.#channel.publish('', replyTo, bufferOf(content), properties));
  }
}

function framedAnswer({ call: { correlationId = '' }, type, body }: Answer) {
  return framedMessage({ type, correlationId }, body);
}
