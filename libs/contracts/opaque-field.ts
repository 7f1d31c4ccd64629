import { Reader, type Writer } from 'protobufjs/minimal';
import { tooMany } from './checks';

const LENGTH_DELIMITED = 2;
/** Most occurrences of a field in a message: each costs an object, and two bytes on the wire. */
const MAX_PIECES = 64;

/** A message without one of its fields, and that field, still encoded; undefined when the message has none. */
export interface CutMessage {
  readonly field: Uint8Array | undefined;
  readonly rest: Uint8Array;
}

/**
 * Cuts an embedded message out of an encoded one without decoding it, for those who only pass it on: on the wire an
 * embedded message and its bytes look the same. A field that stands twice is the concatenation of both, which protobuf
 * defines as their merge. Both parts are views of `body` where they are in one piece, as they are when the field
 * stands last ({@link appendField}).
 *
 * @throws Error when `body` is no protobuf message; BerthError `invalid_argument / too_many` when the field stands too often.
 */
export function cutField(body: Uint8Array, fieldNumber: number): CutMessage {
  const reader = Reader.create(body);
  const cut: Uint8Array[] = [];
  const rest: Uint8Array[] = [];
  let restFrom = 0;
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const tag = reader.tag();
    if (tag === tagOf(fieldNumber)) {
      if (cut.length === MAX_PIECES) throw tooMany(`field ${fieldNumber}`, MAX_PIECES);
      cut.push(reader.bytes());
      if (start > restFrom) rest.push(body.subarray(restFrom, start));
      restFrom = reader.pos;
    } else {
      reader.skipType(tag & 7, 0, tag >>> 3);
    }
  }
  if (restFrom < body.length || rest.length === 0) rest.push(body.subarray(restFrom));
  return { field: cut.length > 1 ? Buffer.concat(cut) : cut[0], rest: joined(rest) };
}

/** Writes an embedded message that is encoded already, as the last field of a message. */
export function appendField(writer: Writer, fieldNumber: number, field: Uint8Array): Writer {
  return writer.uint32(tagOf(fieldNumber)).bytes(field);
}

function tagOf(fieldNumber: number): number {
  return (fieldNumber << 3) | LENGTH_DELIMITED;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}
