/** Which store this is, and where it may have lost writes. */
export interface StoreIdentity {
  /** Drawn at the first commit; undefined while the store is empty. */
  readonly birthId: string | undefined;
  /** By the store's clock; 0 while it is empty. */
  readonly bornAtMs: number;
  readonly revision: number;
  /** By the store's clock; undefined when it has none of its own. */
  readonly nowMs: number | undefined;
  /**
   * Where revisions were skipped because another server went on, last ones last: the last revision that the new server had,
   * and its first own, or the least that it will give. A revision in between was lost.
   */
  readonly jumps: readonly (readonly [last: number, next: number])[];
  /** True while a server that goes on has committed nothing: the last jump then ends at the time of this answer. */
  readonly isUnwritten?: boolean;
}

/** Figures of a store's server. */
export interface StoreHealth {
  readonly memoryBytes: number;
  /** Above it writes are refused; 0 for none. */
  readonly memoryLimitBytes: number;
  /** True when it can't write its file: the disk is full, or broken. */
  readonly isFileFailing: boolean;
}

/** Until when a store may have lost writes, by its clock, in milliseconds; 0 when no other server ever went on with it. */
export function lostUpToMs({ jumps }: StoreIdentity): number {
  return Math.floor((jumps.at(-1)?.[1] ?? 0) / 1_000);
}

/** Likewise, or until when it was not there: what was written before that was lost with the store before it. */
export function unknownUpToMs(identity: StoreIdentity): number {
  return Math.max(identity.bornAtMs, lostUpToMs(identity));
}

/** Fate of a known store: the same; gone back in time; or another, such as a new one. */
export type StoreFate = 'same' | 'went_back' | 'new';

/** Fate of a store since its birth id was `knownId` and revisions of it were seen. */
export function fateOf(
  knownId: string | undefined,
  seen: readonly number[],
  { birthId, revision, jumps }: StoreIdentity,
): StoreFate {
  if (birthId !== knownId) return 'new';
  const isLost = (one: number) => one > revision || jumps.some(([last, next]) => last < one && one < next);
  return seen.some(isLost) ? 'went_back' : 'same';
}
