/**
 * All that a placement store keeps at one time but the change stream, decisions, pools and processes: another store can be
 * opened with it. Plain data.
 */
export interface StoreImage {
  readonly revision: number;
  readonly claimToken: number;
  readonly bornAtMs: number;
  /** By table; what a row says is known to the stores. */
  readonly tables: Readonly<Record<string, readonly ImageRow[]>>;
  readonly counts: readonly (readonly [name: string, count: number])[];
  /** When each host was heard last, in milliseconds. */
  readonly heartbeats: readonly (readonly [host: string, atMs: number])[];
}

export type ImageRow = readonly [key: string, revision: number, row: unknown];
