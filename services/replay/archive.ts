import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { makeFolder, segmentPath } from '#libs/flight-record/record-folder';
import { batchesIn, batchOf, SegmentFile } from '#libs/flight-record/segment-file';
import type { NovaFlightEntry, NovaSegmentEntry } from '../nova-scheduler/flight/entries';
import type { FlightEntry, SegmentEntry } from '../scheduler/flight/entries';
import { anonymizer } from './anonymize';
import { entriesOf, type Segment, segmentsOf } from './records';

/** Entries in a batch of an archive. */
const BATCH = 512;
/** A text of so much is no record. */
const MAX_BYTES = 20_000_000_000;

/** Segments of a record that overlap a time, as one file. */
export interface ExportOptions {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly anonymize: boolean;
}

/**
 * Writes segments of a record into one compressed file.
 *
 * @returns how many
 * @throws BerthError `not_found / no_record`; `invalid_argument / unreadable_folder`, `/ unwritable_file`, `/ nova_record`
 */
export async function exportRecord(folder: string, file: string, options: ExportOptions): Promise<number> {
  const { sinceMs, untilMs, anonymize } = options;
  const wanted = segmentsOf(folder).filter((one) => one.startedAtMs <= untilMs && one.writtenAtMs >= sinceMs);
  if (wanted.length === 0) throw new BerthError('not_found', 'no_record', `${folder} has no record of that time`);
  if (anonymize && wanted.some(isOfNova))
    throw invalidArgument(
      'nova_record',
      'records of schedulers for Nova can not be anonymized yet: leave --anonymize out, or them',
    );
  const change = anonymize ? anonymizer(allOf(wanted), randomBytes(32)) : (entry: FlightEntry) => entry;
  await pipeline(
    Readable.from(batches(allOf(wanted), change)),
    createGzip(),
    createWriteStream(file, { mode: 0o600 }),
  ).catch((thrown: NodeJS.ErrnoException) => {
    throw invalidArgument('unwritable_file', `${file} can not be written: ${thrown.code ?? thrown.message}`);
  });
  return wanted.length;
}

/**
 * Unpacks an exported record into a folder.
 *
 * @returns how many segments
 * @throws BerthError `invalid_argument / unreadable_file`, `/ bad_record`, `/ unwritable_folder`
 */
export async function importRecord(file: string, folder: string): Promise<number> {
  await makeFolder(folder);
  let segment: SegmentFile | undefined;
  let count = 0;
  let failure: Error | undefined;
  const onFailure = (error: Error) => {
    failure ??= invalidArgument('unwritable_folder', `${folder} can not be written: ${error.message}`);
  };
  try {
    for await (const batch of batchesIn(unpacked(file))) {
      for (const entries of bySegment(batch as readonly FlightEntry[])) {
        const [first] = entries;
        if (first !== undefined && isBeginning(first)) {
          await segment?.close();
          count += 1;
          const path = segmentPath(folder, first.startedAtMs, `imported-${randomBytes(4).toString('hex')}`);
          segment = SegmentFile.create(path, onFailure);
        }
        segment?.append(entries);
      }
      await segment?.written();
      if (failure) throw failure;
    }
  } finally {
    await segment?.close();
  }
  if (count === 0) throw invalidArgument('bad_record', `${join(file)} is no exported record`);
  return count;
}

type Beginning = SegmentEntry | NovaSegmentEntry;

function isBeginning(entry: FlightEntry | NovaFlightEntry): entry is Beginning {
  return entry.kind === 'segment' || entry.kind === 'nova_segment';
}

function isOfNova(segment: Segment): boolean {
  const [first] = entriesOf(segment) as Iterable<FlightEntry | NovaFlightEntry>;
  return first?.kind === 'nova_segment';
}

function* allOf(segments: readonly Segment[]): Generator<FlightEntry> {
  for (const segment of segments) yield* entriesOf(segment);
}

function* batches(entries: Iterable<FlightEntry>, change: (entry: FlightEntry) => FlightEntry): Generator<Buffer> {
  let batch: FlightEntry[] = [];
  for (const entry of entries) {
    if (batch.push(change(entry)) < BATCH) continue;
    yield batchOf(batch);
    batch = [];
  }
  if (batch.length > 0) yield batchOf(batch);
}

/** The entries of a batch, apart where a segment begins. */
function bySegment(batch: readonly FlightEntry[]): readonly (readonly FlightEntry[])[] {
  const starts = batch.flatMap((entry, n) => (isBeginning(entry) ? [n] : []));
  const bounds = [0, ...starts.filter((n) => n > 0), batch.length];
  return bounds.slice(1).map((end, n) => batch.slice(bounds[n], end));
}

async function* unpacked(file: string): AsyncGenerator<Buffer> {
  let bytes = 0;
  const source = createReadStream(file);
  const zipped = createGunzip();
  const failed = pipeline(source, zipped).catch((thrown: NodeJS.ErrnoException) => thrown);
  try {
    for await (const chunk of zipped as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) throw invalidArgument('bad_record', `${file} is larger than ${MAX_BYTES} bytes`);
      yield chunk;
    }
  } catch (thrown) {
    if (thrown instanceof BerthError) throw thrown;
    const { code, message } = ((await failed) ?? thrown) as NodeJS.ErrnoException;
    throw invalidArgument('unreadable_file', `${file} can not be read: ${code ?? message}`);
  }
}
