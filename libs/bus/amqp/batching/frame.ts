import type { ConsumeMessage, Options } from 'amqplib';
import { berth } from '#generated/berth';
import { ruled } from '../../../contracts/field-rules';
import { mapped, message } from '../../../contracts/message';
import { FEW, KIB } from '../../../contracts/message-rules';
import { invalidArgument } from '../../../domain/errors';
import { inGroups } from '../../../runtime/batch-per-tick';
import { TRACE_HEADER } from '../../handling/trace-messages';
import { MAX_PROPERTY_BYTES } from '../message';

/** Limit of the messages in a frame. */
export const MAX_FRAME_MESSAGES = 32;

/** Limit of the body bytes in a frame; a larger message travels alone. */
export const MAX_FRAME_BYTES = 262_144;

/** A message in a frame, with the properties of a separate AMQP message; '' for a missing one. */
export interface FramedMessage {
  readonly type: string;
  readonly messageId: string;
  readonly correlationId: string;
  readonly appId: string;
  /** Parent span of the message. */
  readonly traceparent: string;
  readonly body: Uint8Array;
}

const checkedFrame = ruled(
  { required: true, maxItems: MAX_FRAME_MESSAGES, items: {} },
  (found: readonly berth.internal.v1.IMessage[]): readonly FramedMessage[] => {
    const messages = found as readonly FramedMessage[];
    if (messages.length === 0 || messages.length > MAX_FRAME_MESSAGES)
      throw badFrame(`a frame has 1 to ${MAX_FRAME_MESSAGES} messages`);
    if (messages.some(({ type }) => type === frameCodec.type)) throw badFrame('a frame can not be framed');
    return messages;
  },
);

/** Several messages in one. @throws BerthError `malformed_message`; `bad_frame` for a frame that is empty, too large, or nested. */
export const frameCodec = mapped(
  message(
    berth.internal.v1.Frame,
    { messages: checkedFrame },
    { rule: { maxBytes: { project: 320 * KIB, agent: 320 * KIB, service: 320 * KIB }, maxParts: FEW } },
  ),
  ({ messages }) => messages,
  (messages: readonly FramedMessage[]) => ({ messages }),
);

export function isFrame({ properties }: ConsumeMessage): boolean {
  return properties.type === frameCodec.type;
}

/** A message in the form for a frame. */
export function framedMessage(options: Options.Publish, body: Uint8Array): FramedMessage {
  const { type = '', messageId = '', correlationId = '', appId = '', headers } = options;
  const traceparent = (headers as Record<string, unknown> | undefined)?.[TRACE_HEADER];
  return {
    type,
    messageId,
    correlationId,
    appId,
    traceparent: typeof traceparent === 'string' ? traceparent : '',
    body,
  };
}

/** The messages of a frame, or the message itself when it is no frame. @throws BerthError like `frameCodec`. */
export function unframed(received: ConsumeMessage): readonly FramedMessage[] {
  const { properties, content } = received;
  return isFrame(received) ? frameCodec.decode(content) : [framedMessage(properties, content)];
}

/** True when AMQP could carry the message alone: an invalid message is refused alone, without others. */
export function fitsInFrame(options: Options.Publish): boolean {
  const { type = '', messageId = '', correlationId = '', appId = '', headers } = options;
  if (headers !== undefined && Object.keys(headers as object).some((name) => name !== TRACE_HEADER)) return false;
  return type !== frameCodec.type && fits(type) && fits(messageId) && fits(correlationId) && fits(appId);
}

/** Splits a list, in order, at the limits of a frame. */
export function* inFrames<T>(items: readonly T[], bytesOf: (item: T) => number): Iterable<readonly T[]> {
  for (const some of inGroups(items, MAX_FRAME_MESSAGES, () => 1)) yield* inGroups(some, MAX_FRAME_BYTES, bytesOf);
}

function fits(property: string): boolean {
  return Buffer.byteLength(property) <= MAX_PROPERTY_BYTES;
}

function badFrame(problem: string) {
  return invalidArgument('bad_frame', problem, 'messages');
}
