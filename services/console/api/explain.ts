/** Where a request would go, and what refuses it elsewhere. */
export interface Explanation {
  readonly considered: number;
  readonly passed: number;
  readonly summary: string;
  /** In the order in which they are asked: each is told how many hosts it refused, and why. */
  readonly filters: readonly FilterRefusals[];
  readonly hosts: readonly Verdict[];
  readonly relaxations: readonly { readonly sentence: string; readonly hosts: number }[];
  readonly conflict: readonly string[];
  /** Of a group that spreads over the zones of all cells: where its next member may go, first where it would; then where not, and why. */
  readonly zones: readonly ZoneVerdict[];
  readonly preemption: { readonly host: string; readonly victims: readonly string[] } | undefined;
}

export interface ZoneVerdict {
  readonly zone: string;
  readonly members: number;
  /** That would be asked, best first. */
  readonly cells: readonly string[];
  /** A symbol; '' where the next member may go. */
  readonly reason: string;
}

export interface FilterRefusals {
  readonly filter: string;
  readonly refused: number;
  readonly reasons: readonly { readonly name: string; readonly count: number }[];
}

export interface Verdict {
  readonly host: string;
  readonly passed: boolean;
  readonly refusals: readonly string[];
  readonly weight: number;
  readonly weights: Readonly<Record<string, number>>;
}
