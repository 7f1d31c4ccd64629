import { closeSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { deserialize, serialize } from 'node:v8';
import { crc32 } from 'node:zlib';
import { BerthError } from '../domain/errors';

/*
 * A segment of a flight record: batches of entries, each behind its length and checksum, four bytes each. Entries are in the form of
 * V8's structured clone, which later versions of Node read. A process that died leaves its last batch torn: reading ends before it.
 */

export const SEGMENT_SUFFIX = '.record';
const HEAD_BYTES = 8;
/** No batch is longer; a length beyond it is no length. */
const MAX_BATCH_BYTES = 1 << 30;

/** Appends batches, one after the other. */
export class SegmentFile {
  bytes = 0;
  /** Bytes that are not written yet. */
  waiting = 0;
  #writing: Promise<void>;
  #file: FileHandle | undefined;

  private constructor(
    readonly path: string,
    private readonly onFailure: (error: Error) => void,
  ) {
    this.#writing = open(path, 'wx', 0o600).then(
      (file) => {
        this.#file = file;
      },
      (thrown: Error) => this.onFailure(thrown),
    );
  }

  /** A new file for its owner alone. Failures to open, write and close it are told, never thrown. */
  static create(path: string, onFailure: (error: Error) => void): SegmentFile {
    return new SegmentFile(path, onFailure);
  }

  append(entries: readonly unknown[]): void {
    const batch = batchOf(entries);
    const size = batch.length;
    this.bytes += size;
    this.waiting += size;
    this.#writing = this.#writing
      .then(() => this.#file?.appendFile(batch))
      .catch((thrown: Error) => this.onFailure(thrown))
      .finally(() => {
        this.waiting -= size;
      });
  }

  /** Resolves when all batches of before are written, or failed. */
  written(): Promise<void> {
    return this.#writing;
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file?.close().catch((thrown: Error) => this.onFailure(thrown));
  }
}

/** A batch as it stands in a file. */
export function batchOf(entries: readonly unknown[]): Buffer {
  const body = serialize(entries);
  const head = Buffer.allocUnsafe(HEAD_BYTES);
  head.writeUInt32LE(body.length, 0);
  head.writeUInt32LE(crc32(body), 4);
  return Buffer.concat([head, body]);
}

/** The batches of a stream; what follows a torn one is left out. */
export async function* batchesIn(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly unknown[]> {
  let left = Buffer.alloc(0);
  for await (const chunk of chunks) {
    left = Buffer.concat([left, chunk]);
    while (left.length >= HEAD_BYTES) {
      const length = left.readUInt32LE(0);
      if (length > MAX_BATCH_BYTES) return;
      if (left.length < HEAD_BYTES + length) break;
      const body = left.subarray(HEAD_BYTES, HEAD_BYTES + length);
      if (crc32(body) !== left.readUInt32LE(4)) return;
      yield deserialize(body) as unknown[];
      left = left.subarray(HEAD_BYTES + length);
    }
  }
}

/**
 * The entries of a segment, batch by batch; what follows a torn batch is left out.
 *
 * @throws BerthError `invalid_argument / unreadable_file`
 */
export function* readSegment(path: string): Generator {
  const file = openForReading(path);
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    while (readFully(file, head)) {
      const length = head.readUInt32LE(0);
      if (length > MAX_BATCH_BYTES) return;
      const body = Buffer.allocUnsafe(length);
      if (!readFully(file, body) || crc32(body) !== head.readUInt32LE(4)) return;
      yield* deserialize(body) as unknown[];
    }
  } finally {
    closeSync(file);
  }
}

function openForReading(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    throw new BerthError('invalid_argument', 'unreadable_file', `${path} can not be read: ${code ?? message}`);
  }
}

function readFully(file: number, into: Buffer): boolean {
  let read = 0;
  while (read < into.length) {
    const more = readSync(file, into, read, into.length - read, null);
    if (more === 0) return false;
    read += more;
  }
  return true;
}
