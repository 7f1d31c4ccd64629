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
  readonly preemption: { readonly host: string; readonly victims: readonly string[] } | undefined;
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
