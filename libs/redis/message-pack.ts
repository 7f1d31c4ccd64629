/** A value that a script reads with `cmsgpack.unpack`. */
export type Packable = number | string | boolean | readonly Packable[];

let buffer = Buffer.allocUnsafe(65_536);
let length = 0;

/** A value as MessagePack: numbers as integers of up to four bytes or doubles, which is what Lua has. */
export function packMessage(value: Packable): Buffer {
  length = 0;
  pack(value);
  return Buffer.from(buffer.subarray(0, length));
}

function pack(value: Packable): void {
  if (typeof value === 'number') packNumber(value);
  else if (typeof value === 'string') packString(value);
  else if (typeof value === 'boolean') packByte(value ? 0xc3 : 0xc2);
  else {
    reserve(5);
    length = buffer.writeUInt8(0xdd, length);
    length = buffer.writeUInt32BE(value.length, length);
    for (const item of value) pack(item);
  }
}

function packNumber(value: number): void {
  reserve(9);
  if (value >= 0 && value < 128 && Number.isInteger(value)) {
    buffer[length++] = value;
  } else if (value >= 0 && value < 4_294_967_296 && Number.isInteger(value)) {
    buffer[length++] = 0xce;
    length = buffer.writeUInt32BE(value, length);
  } else {
    buffer[length++] = 0xcb;
    length = buffer.writeDoubleBE(value, length);
  }
}

function packString(value: string): void {
  // A character is three bytes at most.
  reserve(5 + 3 * value.length);
  const bytes = buffer.write(value, length + 5);
  if (bytes < 32) {
    buffer[length] = 0xa0 | bytes;
    buffer.copyWithin(length + 1, length + 5, length + 5 + bytes);
    length += 1 + bytes;
    return;
  }
  buffer[length] = 0xdb;
  buffer.writeUInt32BE(bytes, length + 1);
  length += 5 + bytes;
}

function packByte(byte: number): void {
  reserve(1);
  buffer[length++] = byte;
}

function reserve(bytes: number): void {
  if (length + bytes <= buffer.length) return;
  const larger = Buffer.allocUnsafe(Math.max(2 * buffer.length, length + bytes));
  buffer.copy(larger, 0, 0, length);
  buffer = larger;
}
