import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import type { Codec } from './rpc';
import { codec } from './wire';

/** Calls, or answers, that travel as one message. Part of the wire contract. */
export const MAX_PACKED = 32;

/** A call among others: the properties that it would have as a message of its own. */
export interface PackedCall {
  readonly type: string;
  readonly messageId: string;
  readonly correlationId: string;
  /** '' when the caller gave none. */
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
export const callsCodec: Codec<readonly PackedCall[]> = codec(
  'berth.common.v1.Calls',
  berth.common.v1.Calls,
  (calls) => ({ calls: calls as PackedCall[] }),
  ({ calls }) => checkedCalls(calls as berth.common.v1.Call[]),
);

/** @throws BerthError `malformed_message`. */
export const answersCodec: Codec<readonly PackedAnswer[]> = codec(
  'berth.common.v1.Answers',
  berth.common.v1.Answers,
  (answers) => ({ answers: answers as PackedAnswer[] }),
  ({ answers }) => answers as berth.common.v1.Answer[],
);

function checkedCalls(calls: readonly PackedCall[]): readonly PackedCall[] {
  if (calls.length === 0 || calls.length > MAX_PACKED) throw badPack(`a pack has 1 to ${MAX_PACKED} calls`);
  if (calls.some(({ type }) => type === callsCodec.type)) throw badPack('a pack can not be packed');
  return calls;
}

function badPack(problem: string) {
  return invalidArgument('bad_pack', problem, 'calls');
}
