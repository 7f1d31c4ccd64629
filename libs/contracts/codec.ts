import type { Reader, Writer } from 'protobufjs/minimal';
import { BerthError } from '../domain/errors';
import { boundedReader } from './bounded-reader';
import { maxPartsOf } from './message-rules';

/** How one message type becomes bytes and comes back. `decode` throws `invalid_argument` for what is malformed. */
export interface Codec<T> {
  /** Full protobuf name. */
  readonly type: string;
  encode(value: T): Uint8Array;
  decode(body: Uint8Array): T;
}

/** A question and its answer. */
export interface Method<Q, A> {
  readonly request: Codec<Q>;
  readonly response: Codec<A>;
}

/** The generated class of a message, as much of it as a codec needs. */
export interface WireMessage<P, W> {
  encode(properties: P): Writer;
  decode(reader: Reader): W;
}

/**
 * A codec out of a generated message and the two directions between its fields and plain data. `fromWire` checks all
 * that it takes over and throws `invalid_argument`; bytes that are no such message are `invalid_argument /
 * malformed_message`, and those with more parts than the type's rule has (`message-rules.ts`) `invalid_argument / too_many`. Byte
 * fields of a decoded value are views of the body, not copies.
 */
export function codec<T, P, W>(
  type: string,
  message: WireMessage<P, W>,
  toWire: (value: T) => P,
  fromWire: (wire: W) => T,
): Codec<T> {
  const maxParts = maxPartsOf(type);
  return {
    type,
    encode: (value) => message.encode(toWire(value)).finish(),
    decode: (body) => fromWire(parse(type, message, boundedReader(body, maxParts, type))),
  };
}

/**
 * Plain data for the generated code, which only reads what it encodes, and takes undefined for null, but declares
 * otherwise.
 */
export type Mutable<T> = {
  -readonly [K in keyof T]: T[K] extends readonly (infer E)[]
    ? E[]
    : undefined extends T[K]
      ? Exclude<T[K], undefined> | null
      : T[K];
};

function parse<P, W>(type: string, message: WireMessage<P, W>, reader: Reader): W {
  try {
    return message.decode(reader);
  } catch (cause) {
    if (cause instanceof BerthError) throw cause;
    throw new BerthError('invalid_argument', 'malformed_message', `the body is no ${type}: encode it from the schema`, {
      details: { type },
      cause,
    });
  }
}

/** A map with each value changed. By entries: clients choose keys as they like, `__proto__` too. */
export function mapValues<V, W>(map: Readonly<Record<string, V>>, change: (value: V) => W): Record<string, W> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));
}
