import type { Reader, Writer } from 'protobufjs/minimal';
import { berth } from '#generated/berth';
import { BerthError } from '../domain/errors';
import { boundedReader } from './bounded-reader';
import { missing } from './checks';
import type { Codec } from './codec';
import { compileFromWire, compileToWire } from './compile-message';
import { exactlyWritten, joinedPath, UnfitNumber, unfitIn } from './exact-numbers';
import { asItIs, type Conversion, type MayBeLeftOut, type Renamed, type StaysEncoded } from './field';
import { ruled, rulesOf, SET } from './field-rules';
import { type MessageRule, maxPartsOf, ruleMessage } from './message-rules';
import { appendField, cutField } from './opaque-field';

/** A codec of a message, and a field of others: an embedded message that must be there. */
export interface Message<T, P> extends Codec<T>, Conversion<T, P | null | undefined> {
  readonly fromWire: (value: P | null | undefined, path: string) => T;
  readonly toWire: (value: T) => P;
}

/** The plain data of a codec or a field. */
export type PlainOf<F> = F extends (...args: never) => infer T
  ? T
  : F extends { fromWire(...args: never): infer T }
    ? T
    : F extends Codec<infer T>
      ? T
      : never;

/** The generated class of a message. */
interface WireClass<P, W> {
  encode(properties: P, writer: Writer): Writer;
  decode(reader: Reader): W;
}

type WireName<W> = Exclude<keyof W, '$unknowns' | 'toJSON'>;

/** A field of each name in the schema, and none of another. */
type Table<W> = {
  readonly [K in WireName<W>]-?:
    | ((value: W[K], path: string, message: W) => unknown)
    | { fromWire(value: W[K], path: string, message: W): unknown };
};

type NameOf<F, K extends keyof F> = F[K] extends Renamed<infer N> ? N : K;
type Flat<T> = { readonly [K in keyof T]: T[K] };
export type Plain<F> = Flat<
  {
    readonly [K in keyof F as F[K] extends MayBeLeftOut ? never : NameOf<F, K>]: PlainOf<F[K]>;
  } & {
    readonly [K in keyof F as F[K] extends MayBeLeftOut ? NameOf<F, K> : never]?: PlainOf<F[K]> | undefined;
  }
>;

export interface MessageOptions<T> {
  /** Allowed senders and sizes of a message that is consumed. */
  readonly rule?: MessageRule;
  /** Checks fields that depend on each other; throws BerthError `invalid_argument`. */
  readonly check?: (value: T, path: string) => void;
  /** Its name in errors, where it is a whole body; none unless given. */
  readonly path?: string;
}

/**
 * A message of the wire, stated once: the generated class, and a table with each of its fields and the check or conversion of
 * that field. Decoding, encoding, the type (`PlainOf<typeof aMessage>`) and the paths in errors follow from it.
 *
 * Decoding throws BerthError `invalid_argument` for what a field refuses, with its path in `details.field`; for bytes that are no such
 * message `malformed_message`, and for those with more parts than the rule has `too_many`. Fields of bytes are views of the body.
 */
export function message<P, W, const F extends Table<W>>(
  wire: WireClass<P, W>,
  fields: F & Record<Exclude<keyof F, WireName<W>>, never>,
  options: MessageOptions<Plain<F>> = {},
): Message<Plain<F>, P> {
  const type = typeOf(wire);
  TABLES.set(type, [...(TABLES.get(type) ?? []), fields]);
  if (options.rule) ruleMessage(type, options.rule);
  const { check, path } = options;
  const read = compileFromWire<W, Plain<F>>(fields);
  const toWire = (compileToWire(fields) ?? asItIs) as (value: Plain<F>) => P;
  const bytesOf = bytesByClass(wire, fields);
  const parse = parserOf(type, wire, fields, path);
  return ruled(SET, {
    type,
    encode: (value: Plain<F>) => bytesOf(toWire(value), value, path),
    decode(body: Uint8Array) {
      const found = parse(body);
      const value = path === undefined ? read.top(found) : read.at(found, path);
      check?.(value, path ?? '');
      return value;
    },
    fromWire(found: P | null | undefined, at: string) {
      if (found === null || found === undefined) throw missing(at);
      const value = read.at(found as unknown as W, at);
      check?.(value, at);
      return value;
    },
    toWire,
  });
}

/** A message that is something else as plain data than its fields. */
export function mapped<T, U, P>(one: Message<T, P>, decoded: (value: T) => U, plain: (value: U) => T): Message<U, P> {
  return ruled(rulesOf(one) ?? {}, {
    type: one.type,
    encode: (value: U) => one.encode(plain(value)),
    decode: (body: Uint8Array) => decoded(one.decode(body)),
    fromWire: (found: P | null | undefined, path: string) => decoded(one.fromWire(found, path)),
    toWire: (value: U) => one.toWire(plain(value)),
  });
}

const TABLES = new Map<string, readonly object[]>();

/** The tables of each message that this process knows, by its full name; a message may be stated for several places. */
export const MESSAGE_TABLES: ReadonlyMap<string, readonly object[]> = TABLES;

/** Full names of the generated classes, by where they stand. */
const TYPES = new Map<unknown, string>();

function typeOf(wire: unknown): string {
  if (TYPES.size === 0) nameClasses(berth, 'berth');
  const type = TYPES.get(wire);
  if (type === undefined) throw new TypeError('not a generated class of a message');
  return type;
}

function nameClasses(space: object, name: string): void {
  for (const [key, one] of Object.entries(space)) {
    if (typeof one === 'function') TYPES.set(one, `${name}.${key}`);
    if (typeof one === 'object' && one !== null) nameClasses(one as object, `${name}.${key}`);
  }
}

type Named = readonly [name: string, field: Partial<StaysEncoded>];

function encodedField(fields: object): Named | undefined {
  return (Object.entries(fields) as Named[]).find(([, field]) => field.fieldNumber !== undefined);
}

/** Bytes of a message from its fields; what stays encoded is appended. */
function bytesByClass<P, W>(wire: WireClass<P, W>, fields: object) {
  const [name = '', { fieldNumber = 0 } = {}] = encodedField(fields) ?? [];
  return (properties: P, value: object, path = ''): Uint8Array => {
    const written = exactlyWritten(wire, properties, path);
    if (name === '') return written.finish();
    const encoded = (value as Record<string, Uint8Array>)[name] as Uint8Array;
    return appendField(written, fieldNumber, encoded).finish();
  };
}

/** Reads a body with the generated code, but for what stays encoded, which is cut out. */
function parserOf<P, W>(type: string, wire: WireClass<P, W>, fields: object, path = ''): (body: Uint8Array) => W {
  const [name = '', { fieldNumber = 0 } = {}] = encodedField(fields) ?? [];
  const maxParts = maxPartsOf(type);
  const whole = (body: Uint8Array) => wire.decode(boundedReader(body, maxParts, type));
  const marked = (body: Uint8Array) => {
    const reader = boundedReader(body, maxParts, type);
    reader.isMarking = true;
    return wire.decode(reader) as object;
  };
  const parse = (body: Uint8Array): W => {
    if (name === '') return whole(body);
    const { field, rest } = cutField(body, fieldNumber);
    return Object.assign(whole(rest) as object, { [name]: field }) as W;
  };
  const refusalOf = (cause: unknown, body: Uint8Array) => {
    try {
      if (cause instanceof UnfitNumber) return cause.at(joinedPath(path, unfitIn(marked(body))));
    } catch {
      // It is no message behind that, either.
    }
    const problem = `the body is no ${type}: encode it from the schema`;
    return new BerthError('invalid_argument', 'malformed_message', problem, { details: { type }, cause });
  };
  return (body) => {
    try {
      return parse(body);
    } catch (cause) {
      throw cause instanceof BerthError ? cause : refusalOf(cause, body);
    }
  };
}
