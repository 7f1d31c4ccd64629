import type { FilterRefusals, Verdict } from './explain';

/** The data of the page of Nova. */
export interface NovaPage {
  /** Schedulers for Nova that were seen, and those of them that are ready. */
  readonly schedulers: { readonly seen: number; readonly ready: number };
  readonly shadow: ShadowView;
  /** Decisions for Nova among the last that are kept, the newest first. */
  readonly decisions: readonly NovaDecisionRow[];
  /** The decision that the address asks for: undefined when it asks for none, or it is not kept. */
  readonly asked: NovaDecisionView | undefined;
}

/** The report of a shadow; `none` where none is configured. */
export type ShadowView =
  | { readonly kind: 'none' }
  | { readonly kind: 'away'; readonly why: string }
  | {
      readonly kind: 'report';
      readonly sinceMs: number;
      /** Instances whose choices could be compared, and those for which both chose alike. */
      readonly compared: number;
      readonly alike: number;
      /** Instances by outcome, and differences by cause. */
      readonly outcomes: readonly (readonly [outcome: string, count: number])[];
      readonly causes: readonly (readonly [cause: string, count: number])[];
      readonly berthTook: ShadowTimes | undefined;
      readonly novaTook: ShadowTimes | undefined;
      /** The last, the newest first. */
      readonly differences: readonly ShadowDifference[];
    };

export interface ShadowTimes {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** An instance for which the schedulers chose differently; '' for no host. */
export interface ShadowDifference {
  readonly atMs: number;
  readonly requestId: string;
  readonly instanceUuid: string;
  readonly berth: string;
  readonly nova: string;
  readonly why: string;
}

export interface NovaDecisionRow {
  /** Nova's, with `req-`. */
  readonly requestId: string;
  readonly projectId: string;
  readonly decidedAtMs: number;
  /** Hosts by instance; empty for no valid host. */
  readonly selected: Readonly<Record<string, string>>;
  /** Nova's reason, or how many hosts pass. */
  readonly summary: string;
}

export interface NovaDecisionView extends NovaDecisionRow {
  readonly considered: number;
  readonly passed: number;
  readonly filters: readonly FilterRefusals[];
  readonly hosts: readonly Verdict[];
}
