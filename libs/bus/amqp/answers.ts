import type { Channel } from 'amqplib';
import { answersCodec } from '../../contracts/pack';
import type { Delivery } from '../delivery';
import { onOpen } from './acks';
import { answerProperties, bufferOf } from './message';
import { Packs } from './packs';

/** What answers go by and how they name their call. */
interface Answer extends Pick<Delivery, 'replyTo' | 'id' | 'correlationId'> {
  /** '' or that of an error. */
  readonly type: string;
  readonly body: Uint8Array;
}

/** The answers that leave by one channel. On a channel that is gone they are lost: the caller asks again. */
export class Answers {
  readonly #channel: Channel;
  readonly #packs = new Packs<Answer>((replyTo, answers) => this.#send(replyTo, answers));

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Sends an answer by itself, as whoever sent a call by itself expects it. */
  send(answer: Answer): void {
    if (answer.replyTo !== undefined) this.#send(answer.replyTo, [answer]);
  }

  /** Sends an answer with others of this turn to one who reads packs. */
  sendPacked(answer: Answer): void {
    if (answer.replyTo !== undefined) this.#packs.add(answer.replyTo, answer);
  }

  /** Sends what waits for the end of the turn now. */
  flush(): void {
    this.#packs.flush();
  }

  #send(replyTo: string, answers: readonly Answer[]): void {
    const [first] = answers;
    if (first === undefined) return;
    const [content, properties] =
      answers.length === 1
        ? [bufferOf(first.body), answerProperties(first, first.type)]
        : [bufferOf(answersCodec.encode(answers.map(packed))), { type: answersCodec.type }];
    onOpen(() => this.#channel.publish('', replyTo, content, properties));
  }
}

function packed({ correlationId = '', type, body }: Answer) {
  return { correlationId, type, body };
}
