import { invalidArgument } from '../domain/errors';
import { type ExactReader, exactReader } from './exact-numbers';

/** A part takes a tag and a length. */
const MIN_PART_BYTES = 2;

/**
 * A reader of an encoded message that stops at its limit of parts: embedded messages, entries of maps, fields of bytes.
 *
 * The naive way bounds the bytes of a message alone. It fails because an empty embedded message takes two bytes on the wire and
 * some hundred as an object: 4 MB become 1 GB before the first check of a field. Checking lists after decoding comes too late, and
 * a walk over the bytes before decoding reads each message twice. Here the decoder's own reads are counted, and a body that is too
 * short to have so many parts, as nearly all are, is read as ever. Texts and packed numbers take about as much memory as bytes, so
 * they are not counted; depth protobufjs bounds itself (100).
 *
 * @throws BerthError `invalid_argument / too_many` from the decoder that reads on.
 */
export function boundedReader(body: Uint8Array, maxParts: number, type: string): ExactReader {
  const reader = exactReader(body);
  if (body.length <= maxParts * MIN_PART_BYTES) return reader;
  const size = reader.size.bind(reader);
  const stringVerify = reader.stringVerify.bind(reader);
  let left = maxParts;
  reader.size = () => {
    if (--left < 0) throw tooManyParts(maxParts, type);
    return size();
  };
  // By which the generated code reads texts.
  reader.stringVerify = () => {
    left++;
    return stringVerify();
  };
  return reader;
}

function tooManyParts(maxParts: number, type: string) {
  return invalidArgument(
    'too_many',
    `a ${type} may have at most ${maxParts} parts (embedded messages, entries of maps); send less`,
    'body',
  );
}
