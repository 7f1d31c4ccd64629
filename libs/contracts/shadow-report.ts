/**
 * The finding for one instance of a shadow: `alternate` when Nova chose one of Berth's alternates; `unseen` when Nova's choice can not be
 * seen, because a rebuild claims nothing, or the claim was there before the shadow had the call.
 */
export const SHADOW_OUTCOMES = [
  'same',
  'alternate',
  'different',
  'neither',
  'only_nova',
  'only_berth',
  'unseen',
] as const;
export type ShadowOutcome = (typeof SHADOW_OUTCOMES)[number];

/** One scheduler's choice for an instance. */
export interface ShadowChoice {
  /** Service hosts: the choice, then alternates; of Nova the choice only. Empty for no host. */
  readonly hosts: readonly string[];
  /** The weight of the choice, by Berth; undefined for a refused or unknown host. */
  readonly weight: number | undefined;
  /** The part of each weigher in it, by Nova's names. */
  readonly weights: Readonly<Record<string, number>>;
}

/** An instance for which the schedulers chose differently. */
export interface ShadowDifference {
  readonly atMs: number;
  readonly requestId: string;
  readonly instanceUuid: string;
  readonly outcome: ShadowOutcome;
  readonly berth: ShadowChoice;
  readonly nova: ShadowChoice;
  /** A symbol: `equal_weight`, `less_weight`, or the step that refuses Nova's host. */
  readonly cause: string;
  /** The explanation, in a sentence. */
  readonly why: string;
  readonly berthMs: number;
  /** From the call to the claim; undefined without a claim. */
  readonly novaMs: number | undefined;
}

export interface ShadowTimes {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The report of a shadow: JSON at `/shadow` of its operations endpoint. */
export interface ShadowReport {
  readonly sinceMs: number;
  readonly outcomes: Readonly<Record<ShadowOutcome, number>>;
  /** Differences by cause. */
  readonly causes: Readonly<Record<string, number>>;
  /** Times of the last decisions; undefined before the first. */
  readonly berthTimes: ShadowTimes | undefined;
  readonly novaTimes: ShadowTimes | undefined;
  /** The last differences, newest first. */
  readonly differences: readonly ShadowDifference[];
}
