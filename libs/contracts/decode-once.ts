import { LRUCache } from 'lru-cache';
import { Reader } from 'protobufjs/minimal';

/** As generated: a message inside another one comes with its length, and with what was decoded of it before. */
type Decode<W> = (reader: Reader | Uint8Array, length?: number, end?: unknown, depth?: unknown, before?: W | null) => W;

interface Message<W> {
  decode(reader: Reader | Uint8Array, length?: number): W;
  encode(message: W): { finish(): Uint8Array };
}

/** What is larger is decoded each time. */
const MAX_BYTES = 2_048;
const MAX_KEPT = 1_000;

/**
 * From now on the generated class gives the same object for the same bytes, wherever in other messages they stand: a fleet
 * is asked for a few flavors a million times, and to decode, check and sort what they say takes longer than to place one
 * more instance of them. What it gives is shared and must not be changed.
 */
export function decodeOnce<W extends object>(message: Message<W>): void {
  const kept = new LRUCache<string, W>({ max: MAX_KEPT });
  const decode: Decode<W> = message.decode.bind(message);
  message.decode = (
    source: Reader | Uint8Array,
    size?: number,
    end?: unknown,
    depth?: unknown,
    before?: W | null,
  ): W => {
    const reader = source instanceof Reader ? source : Reader.create(source);
    const { buf, pos } = reader;
    const length = size ?? reader.len - pos;
    // The field stands twice, and its parts are to be merged: into a copy.
    if (before) return decode(reader, length, end, depth, decode(message.encode(before).finish()));
    if (length > MAX_BYTES || pos + length > reader.len || !Buffer.isBuffer(buf))
      return decode(reader, length, end, depth);
    const bytes = buf.toString('latin1', pos, pos + length);
    const known = kept.get(bytes);
    if (known !== undefined) {
      reader.pos += length;
      return known;
    }
    const decoded = decode(reader, length, end, depth);
    kept.set(bytes, decoded);
    return decoded;
  };
}
