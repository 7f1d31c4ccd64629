import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import type { Codec } from './rpc';
import { codec } from './wire';

/** Messages, or answers, that travel as one. Part of the wire contract. */
export const MAX_PACKED = 32;

/** A call or cast among others: the properties that it would have as a message of its own, '' for each that it has not. */
export interface PackedMessage {
  readonly type: string;
  readonly messageId: string;
  readonly correlationId: string;
  readonly sender: string;
  readonly body: Uint8Array;
}

export interface PackedAnswer {
  readonly correlationId: string;
  /** '' or that of an error. */
  readonly type: string;
  readonly body: Uint8Array;
}

/** @throws BerthError `malformed_message`, `bad_pack` for one that is empty, too large, or has a pack in it. */
export const packCodec: Codec<readonly PackedMessage[]> = codec(
  'berth.common.v1.Pack',
  berth.common.v1.Pack,
  (messages) => ({ messages: messages as PackedMessage[] }),
  ({ messages }) => checkedPack(messages as berth.common.v1.PackedMessage[]),
);

/** @throws BerthError `malformed_message`. */
export const answersCodec: Codec<readonly PackedAnswer[]> = codec(
  'berth.common.v1.Answers',
  berth.common.v1.Answers,
  (answers) => ({ answers: answers as PackedAnswer[] }),
  ({ answers }) => answers as berth.common.v1.Answer[],
);

function checkedPack(messages: readonly PackedMessage[]): readonly PackedMessage[] {
  if (messages.length === 0 || messages.length > MAX_PACKED) throw badPack(`a pack has 1 to ${MAX_PACKED} messages`);
  if (messages.some(({ type }) => type === packCodec.type)) throw badPack('a pack can not be packed');
  return messages;
}

function badPack(problem: string) {
  return invalidArgument('bad_pack', problem, 'messages');
}
