import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The repository. */
export const ROOT = join(__dirname, '../..');
/** All keys of a cell, and a message of each type. */
export const ROWS_FILE = join(ROOT, 'test/integration/store/previous-version.json');
/** The sources of the services, without their tests. */
export const SOURCES_FILE = join(ROOT, 'test/faults/upgrade/previous-version.tar.gz');

/** A key's content. A sorted set is its members, each followed by its score. */
export type Row =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'hash'; readonly value: Readonly<Record<string, string>> }
  | { readonly type: 'list' | 'set' | 'zset'; readonly value: readonly string[] }
  | { readonly type: 'stream'; readonly value: readonly (readonly [id: string, fields: readonly string[]])[] };

/** The content of `ROWS_FILE`. */
export interface RecordedCell {
  /** Token of the claim of `ACTIVE` (`scripted-cell.ts`). */
  readonly claimToken: number;
  /** Epoch of the lease that a conductor holds. */
  readonly epoch: number;
  /** By key, of the cell `cell1`. */
  readonly rows: Readonly<Record<string, Row>>;
  /** By type, in base64. */
  readonly messages: Readonly<Record<string, string>>;
}

/** Reads `ROWS_FILE`. */
export function readRecordedCell(): RecordedCell {
  return JSON.parse(readFileSync(ROWS_FILE, 'utf8')) as RecordedCell;
}
