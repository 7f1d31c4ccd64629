/** A request's possible hosts, and the reasons of refusals elsewhere. */
export interface Explanation {
  readonly considered: number;
  readonly passed: number;
  readonly summary: string;
  /** No host can ever take the request, however empty the fleet is; `summary` begins with the reasons. */
  readonly isImpossible: boolean;
  /** In the order of execution: each with the number of hosts that it refused, and the reasons. */
  readonly filters: readonly FilterRefusals[];
  readonly hosts: readonly Verdict[];
  readonly relaxations: readonly { readonly sentence: string; readonly hosts: number }[];
  readonly conflict: readonly string[];
  /**
   * For a group that spreads over the zones of all cells: the zones for its next member, the chosen one first; then the
   * refused ones with reasons.
   */
  readonly zones: readonly ZoneVerdict[];
  readonly preemption: { readonly host: string; readonly victims: readonly string[] } | undefined;
}

export interface ZoneVerdict {
  readonly zone: string;
  readonly members: number;
  /** The cells to ask, best first. */
  readonly cells: readonly string[];
  /** A symbol; '' for a zone that the next member may go to. */
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
