/**
 * Something that is not certain enough to act on. It is kept as it is, and an operator sees it. There is one doubt for each
 * instance, host and finding.
 */
export interface Doubt {
  /** '' when the doubt is about the host. */
  readonly instanceUuid: string;
  readonly host: string;
  /** Its source, as the broker knows it: the agent, which may carry several hosts; without one, the host. */
  readonly source?: string | undefined;
  /** A stable symbol. */
  readonly finding: string;
  /** The source's words, for people. */
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
  /** Notes a doubt, or that it is still there. Resolves to false where its kind, or what its source may fill of it, is full. */
  noteDoubt(doubt: FoundDoubt): Promise<boolean>;

  /** All, longest first. */
  listDoubts(): Promise<Doubt[]>;

  /** Those of these names that there are, without reading others. */
  getDoubts(names: readonly DoubtName[]): Promise<Doubt[]>;

  /** Removes a doubt, unless it was seen after `doubt.seenAtMs`. */
  settleDoubt(doubt: Doubt): Promise<void>;
}

/**
 * The bounds of a cell's doubts, apart for two kinds: what an agent alone says can be made up in any number, and must not take the
 * place of what a record shows, as that a host owes a destruction. Of each kind a source has a share.
 */
export const DOUBT_BOUNDS = {
  said: { max: 2_000, maxOfSource: 200 },
  recorded: { max: 2_000, maxOfSource: 500 },
} as const;

/** Findings that rest on an agent's word alone, whatever is on record. */
const SAID: readonly string[] = ['unknown_instance', 'stray', 'journal_unreadable', 'host_refused'];

export function doubtKind(finding: string): keyof typeof DOUBT_BOUNDS {
  return SAID.includes(finding) ? 'said' : 'recorded';
}

/** The share that a doubt counts in: its kind, and its source's share of that. */
export function doubtShare({ finding, host, source = host }: Pick<Doubt, 'finding' | 'host' | 'source'>): string {
  return `${doubtKind(finding)} ${source}`;
}

/** Key of a doubt. */
export function doubtKey({ finding, instanceUuid, host }: DoubtName): string {
  return `${finding} ${instanceUuid} ${host}`;
}

/** Longest first; those of one moment by name. */
export function byAge(a: Doubt, b: Doubt): number {
  return a.sinceMs - b.sinceMs || (doubtKey(a) < doubtKey(b) ? -1 : 1);
}
