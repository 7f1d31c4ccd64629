import { constants, readdirSync, statSync } from 'node:fs';
import { access, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError } from '../domain/errors';
import { SEGMENT_SUFFIX } from './segment-file';

/** A segment in a folder of records. Its name says which process began it, and when: `1764338000000-4711.record`. */
export interface Segment {
  readonly path: string;
  readonly startedAtMs: number;
  readonly bytes: number;
  readonly writtenAtMs: number;
}

export function segmentPath(folder: string, startedAtMs: number, processId: string): string {
  return join(folder, `${startedAtMs}-${processId}${SEGMENT_SUFFIX}`);
}

/** The segments of a folder, oldest first. @throws BerthError `invalid_argument / unreadable_folder` */
export function segmentsOf(folder: string): readonly Segment[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    throw new BerthError('invalid_argument', 'unreadable_folder', `${folder} can not be read: ${code ?? message}`);
  }
  return names
    .filter((name) => name.endsWith(SEGMENT_SUFFIX))
    .flatMap((name) => {
      const path = join(folder, name);
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined) return [];
      return [{ path, startedAtMs: Number.parseInt(name, 10), bytes: found.size, writtenAtMs: found.mtimeMs }];
    })
    .toSorted((a, b) => a.startedAtMs - b.startedAtMs || (a.path < b.path ? -1 : 1));
}

/** The bounds of a folder: by size and age, whatever comes first. */
export interface FolderBounds {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** A segment of some process may still be written that was written so lately. */
const OPEN_MS = 60_000;

/** Deletes the oldest segments beyond the bounds; those that may still be written stay. */
export async function trimFolder(folder: string, { maxBytes, maxAgeMs }: FolderBounds, nowMs: number): Promise<void> {
  let bytes = 0;
  for (const { path, writtenAtMs, bytes: its } of segmentsOf(folder).toReversed()) {
    bytes += its;
    if (writtenAtMs > nowMs - OPEN_MS) continue;
    if (bytes > maxBytes || writtenAtMs < nowMs - maxAgeMs) await rm(path, { force: true });
  }
}

/** @throws BerthError `invalid_argument / unwritable_folder` */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK);
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    throw new BerthError('invalid_argument', 'unwritable_folder', `${folder} can not be written: ${code ?? message}`);
  }
}
