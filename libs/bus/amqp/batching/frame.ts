import type { ConsumeMessage, Options } from 'amqplib';
import { berth } from '#generated/berth';
import { type Codec, codec } from '../../../contracts/codec';
import { invalidArgument } from '../../../domain/errors';
import { inGroups } from '../../../runtime/batch-per-tick';
import { TRACE_HEADER } from '../../handling/trace-messages';
import { MAX_PROPERTY_BYTES } from '../message';

/** Messages of one frame at most. */
export const MAX_FRAME_MESSAGES = 32;

/** Bytes of all bodies of one frame at most; a larger message travels alone. */
export const MAX_FRAME_BYTES = 262_144;

/** A message in a frame: the properties that it would have as an AMQP message of its own, '' for each that it has not. */
export interface FramedMessage {
  readonly type: string;
  readonly messageId: string;
  readonly correlationId: string;
  readonly appId: string;
  /** Of the trace that it belongs to. */
  readonly traceparent: string;
  readonly body: Uint8Array;
}

/** @throws BerthError `malformed_message`, `bad_frame` for one that is empty, too large, or has a frame in it. */
export const frameCodec: Codec<readonly FramedMessage[]> = codec(
  'berth.internal.v1.Frame',
  berth.internal.v1.Frame,
  (messages) => ({ messages: messages as FramedMessage[] }),
  ({ messages }) => checkedFrame(messages as berth.internal.v1.Message[]),
);

export function isFrame({ properties }: ConsumeMessage): boolean {
  return properties.type === frameCodec.type;
}

/** A message as it goes into a frame. */
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

/** The messages of a frame, or the one message that is none. @throws BerthError as `frameCodec`. */
export function unframed(message: ConsumeMessage): readonly FramedMessage[] {
  const { properties, content } = message;
  return isFrame(message) ? frameCodec.decode(content) : [framedMessage(properties, content)];
}

/** Whether AMQP could carry it alone: what it could not is refused alone, too, and takes no others with it. */
export function fitsInFrame(options: Options.Publish): boolean {
  const { type = '', messageId = '', correlationId = '', appId = '', headers } = options;
  if (headers !== undefined && Object.keys(headers as object).some((name) => name !== TRACE_HEADER)) return false;
  return type !== frameCodec.type && fits(type) && fits(messageId) && fits(correlationId) && fits(appId);
}

/** Cuts a list, in its order, at the limits of a frame. */
export function* inFrames<T>(items: readonly T[], bytesOf: (item: T) => number): Iterable<readonly T[]> {
  for (const some of inGroups(items, MAX_FRAME_MESSAGES, () => 1)) yield* inGroups(some, MAX_FRAME_BYTES, bytesOf);
}

function fits(property: string): boolean {
  return Buffer.byteLength(property) <= MAX_PROPERTY_BYTES;
}

function checkedFrame(messages: readonly FramedMessage[]): readonly FramedMessage[] {
  if (messages.length === 0 || messages.length > MAX_FRAME_MESSAGES)
    throw badFrame(`a frame has 1 to ${MAX_FRAME_MESSAGES} messages`);
  if (messages.some(({ type }) => type === frameCodec.type)) throw badFrame('a frame can not be framed');
  return messages;
}

function badFrame(problem: string) {
  return invalidArgument('bad_frame', problem, 'messages');
}
