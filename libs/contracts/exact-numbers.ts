import { BufferReader, BufferWriter, type Writer } from 'protobufjs/minimal';
import { type BerthError, invalidArgument } from '../domain/errors';
import { snakeCase } from './compile-message';

/*
 * Integers that their types in the schema can't hold.
 *
 * The naive way leaves them to protobufjs, which takes their low bits: a count of 4,294,967,297 is sent, and read, as 1, and an amount
 * above 2^53 as one near it. Checks of fields come too late, as they see what is left. Here reader and writer compare each number with
 * its type. They know no names, so only a message that is refused is looked at again for the field.
 */

/** An integer that does not fit its type; thrown while a message is read or written. */
export class UnfitNumber extends Error {
  constructor(
    readonly value: number,
    readonly least: number,
    readonly most: number,
  ) {
    super(`${value} is not from ${least} to ${most}`);
  }

  at(path: string): BerthError {
    const { value, least, most } = this;
    return invalidArgument('bad_number', `${path} must be from ${least} to ${most}, not ${value}`, path);
  }
}

type Range = readonly [least: number, most: number];
const INT32: Range = [-(2 ** 31), 2 ** 31 - 1];
const UINT32: Range = [0, 2 ** 32 - 1];
/** A number holds these exactly. */
const INT64: Range = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
const UINT64: Range = [0, Number.MAX_SAFE_INTEGER];

/** A varint of fewer bytes fits 32 bits. */
const SHORT_BYTES = 5;

/** No integer has this value. */
const MARK = Number.MAX_VALUE;

/** Reads bytes as views of the body. */
export function exactReader(body: Uint8Array): ExactReader {
  return new ExactReader(Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength));
}

/** Writes a message, none of whose integers loses anything. @throws BerthError `invalid_argument / bad_number` with the field. */
export function exactlyWritten<P>(
  wire: { encode(properties: P, writer?: Writer): Writer },
  properties: P,
  path = '',
): Writer {
  const encode = (part: P) => wire.encode(part, new ExactWriter());
  try {
    return encode(properties);
  } catch (thrown) {
    if (!(thrown instanceof UnfitNumber)) throw thrown;
    throw thrown.at(joinedPath(path, unfitOf(properties as object, encode)));
  }
}

/** The path of a field below another, or below none. */
export function joinedPath(path: string, steps: string): string {
  return path === '' ? steps.slice(1) : path + steps;
}

/** The field of a body that its reader refused, in what a marking reader has read of it. */
export function unfitIn(found: object): string {
  return pathWhere(found, hasMark);
}

/** The field of a value that its writer refused: written again, each part alone. */
function unfitOf(value: object, encode: (part: never) => unknown): string {
  return pathWhere(value, (part) => {
    try {
      encode(part as never);
      return false;
    } catch {
      return true;
    }
  });
}

export class ExactReader extends BufferReader {
  /** True to read a mark for what does not fit. */
  isMarking = false;

  override uint32(): number {
    const start = this.pos;
    const value = super.uint32();
    return this.pos - start < SHORT_BYTES ? value : this.#again(start, UINT32);
  }

  override int32(): number {
    const start = this.pos;
    const value = super.uint32();
    return this.pos - start < SHORT_BYTES ? value : this.#again(start, INT32);
  }

  override sint32(): number {
    const start = this.pos;
    const bits = super.uint32();
    const value = (bits >>> 1) ^ -(bits & 1);
    if (this.pos - start < SHORT_BYTES) return value;
    this.pos = start;
    return Number(this.#checked(super.sint64(), INT32));
  }

  // 64 bits are read as numbers (`protobuf.ts`).
  override int64() {
    return this.#checked(super.int64(), INT64);
  }

  override uint64() {
    return this.#checked(super.uint64(), UINT64);
  }

  /** A negative number of 32 bits has 64 on the wire. */
  #again(start: number, range: Range): number {
    this.pos = start;
    return Number(this.#checked(super.int64(), range));
  }

  #checked<N>(value: N, range: Range): N {
    return this.isMarking && !fits(Number(value), range) ? (MARK as N) : (checked(Number(value), range) as N);
  }
}

class ExactWriter extends BufferWriter {
  override uint32(value: number): Writer {
    return super.uint32(checked(value, UINT32));
  }

  override int32(value: number): Writer {
    return super.int32(checked(value, INT32));
  }

  override sint32(value: number): Writer {
    return super.sint32(checked(value, INT32));
  }

  override int64(value: number): Writer {
    return super.int64(checked(value, INT64));
  }

  override uint64(value: number): Writer {
    return super.uint64(checked(value, UINT64));
  }

  override uint32s(values: number[]): Writer {
    return super.uint32s(allChecked(values, UINT32));
  }

  override int64s(values: number[]): Writer {
    return super.int64s(allChecked(values, INT64));
  }

  override uint64s(values: number[]): Writer {
    return super.uint64s(allChecked(values, UINT64));
  }
}

function allChecked(values: number[], range: Range): number[] {
  for (const value of values) checked(value, range);
  return values;
}

function checked(value: number, range: Range): number {
  if (fits(value, range)) return value;
  throw new UnfitNumber(value, ...range);
}

/** Fractions are cut, as ever. */
function fits(value: number, range: Range): boolean {
  return value > range[0] - 1 && value < range[1] + 1;
}

/** The path of the first number in a value, parts of which are tried in a message that has nothing else. */
function pathWhere(whole: object, isWrong: (whole: object) => boolean): string {
  for (const [key, part] of partsOf(whole)) {
    const step = Array.isArray(whole) ? `[${key}]` : `.${isField(key) ? snakeCase(key) : key}`;
    const withOnly = (one: unknown): object => (Array.isArray(whole) ? [one] : { [key]: one });
    if (!isWrong(withOnly(part))) continue;
    return typeof part === 'object' && part !== null
      ? step + pathWhere(part, (inner) => isWrong(withOnly(inner)))
      : step;
  }
  return '';
}

function hasMark(value: unknown): boolean {
  return value === MARK || partsOf(value).some(([, part]) => hasMark(part));
}

function partsOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) ? Object.entries(value) : [];
}

/** Keys of maps, such as resource classes, stay as they are. */
function isField(key: string): boolean {
  return /^[a-z][A-Za-z0-9]*$/.test(key);
}
