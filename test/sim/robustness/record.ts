import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorldName } from '../world/run';

/** A run of the simulation: what happened in it, and what was checked. */
export interface SeedRecord {
  readonly kind: 'seed';
  readonly world: WorldName;
  readonly seed: number;
  /** Kinds of what happened. */
  readonly happened: readonly string[];
  /** Steps that were checked against the model of the protocol. */
  readonly tracedSteps: number;
  /** Undefined when every invariant held. */
  readonly broke?: { readonly invariant: string; readonly message: string } | undefined;
}

/** Cost of a fault on real servers, as its test measured it. */
export interface FigureRecord {
  readonly kind: 'figure';
  readonly fault: string;
  /** Milliseconds, by what they are. */
  readonly figures: Readonly<Record<string, number>>;
}

/** A fleet of real processes at its end: what was checked of it. */
export interface FleetRecord {
  readonly kind: 'fleet';
  /** Steps of its store that were checked against the model of the protocol; none where its store leaves no append-only file. */
  readonly tracedSteps: number;
  /** Decisions of its schedulers that were made again. */
  readonly decisions: number;
  /** Undefined when each step is one of the model and each decision came out the same. */
  readonly broke?: string | undefined;
}

/** A file of tests on real servers that a whole run of tests ran. */
export interface TestsRecord {
  readonly kind: 'tests';
  readonly passed: number;
  readonly failed: number;
}

/** A record of a test on real servers, in a file named after the test: its path without what all such paths share, `/` as `-`. */
export type RealRecord = FigureRecord | FleetRecord | TestsRecord;

export type RobustnessRecord = SeedRecord | RealRecord;

/** Records, with the file that each is of. */
export type FiledRecord = RobustnessRecord & { readonly file: string };

/** Appends a record to a file of a folder, which is made if needed. */
export function writeRecord(folder: string, file: string, record: RobustnessRecord): void {
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, `${file}.jsonl`), `${JSON.stringify(record)}\n`);
}

/** All records of a folder, by file; none if there is no such folder. */
export function readRecords(folder: string): FiledRecord[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
  return files.toSorted().flatMap((name) => {
    const lines = readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean);
    const file = name.replace(/\.jsonl$/, '');
    return lines.map((line) => ({ ...(JSON.parse(line) as RobustnessRecord), file }));
  });
}
