/**
 * Something that is not certain enough to act on. It is kept as it is, and an operator sees it. There is one doubt for each
 * instance, host and finding.
 */
export interface Doubt {
  /** '' when the doubt is about the host. */
  readonly instanceUuid: string;
  readonly host: string;
  /** A stable symbol. */
  readonly finding: string;
  /** Who says so, and what, for people. */
  readonly message: string;
  /** The message that shows it, as the wire carries it; empty when there is none. */
  readonly evidence: Uint8Array;
  readonly sinceMs: number;
  /** When it was found last. */
  readonly seenAtMs: number;
}

/** There is one doubt of each. */
export type DoubtName = Pick<Doubt, 'instanceUuid' | 'host' | 'finding'>;

/** A doubt as it is found: the store knows since when. */
export type FoundDoubt = Omit<Doubt, 'sinceMs'>;

/** The doubts of one cell, until they are settled. A part of `InstanceStore`. */
export interface DoubtStore {
  /** Notes a doubt, or that it is still there. Above `MAX_DOUBTS` no other is noted. */
  noteDoubt(doubt: FoundDoubt): Promise<void>;

  /** All, longest first. */
  listDoubts(): Promise<Doubt[]>;

  /** Those of these names that there are, without reading others. */
  getDoubts(names: readonly DoubtName[]): Promise<Doubt[]>;

  /** Removes a doubt, unless it was seen after `doubt.seenAtMs`. */
  settleDoubt(doubt: Doubt): Promise<void>;
}

/** So many are kept of one cell: more than an operator reads, and a bound on what a lying agent can fill. */
export const MAX_DOUBTS = 2_000;

/** What names a doubt. */
export function doubtKey({ finding, instanceUuid, host }: DoubtName): string {
  return `${finding} ${instanceUuid} ${host}`;
}

/** Longest first; those of one moment by name. */
export function byAge(a: Doubt, b: Doubt): number {
  return a.sinceMs - b.sinceMs || (doubtKey(a) < doubtKey(b) ? -1 : 1);
}
