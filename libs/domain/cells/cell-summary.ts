/**
 * A cell as the top of a fleet knows it: no hosts, but classes of similar hosts. Its size is bounded however many hosts
 * the cell has; where it is inexact it errs towards too much capacity.
 */
export interface CellSummary {
  /** Equal contents have equal digests. */
  readonly digest: number;
  readonly hostCount: number;
  /** Up, enabled, and not in quarantine: only these are in the classes. */
  readonly availableCount: number;
  readonly instanceCount: number;
  /** Traits that every available host has. */
  readonly commonTraits: ReadonlySet<string>;
  readonly classes: readonly HostClass[];
  readonly refused: readonly RefusedShape[];
  /** Zones that the aggregates of the cell's hosts name, whatever state the hosts are in; sorted. */
  readonly zones: readonly string[];
  /**
   * True when the summary leaves out traits or resource classes to stay within its limits: a host may have one that no
   * class names.
   */
  readonly isAbridged: boolean;
}

/** Similar hosts: same zone, same traits, about the same free amounts. */
export interface HostClass {
  /** '' when the class merges hosts of several zones. */
  readonly zone: string;
  readonly hostCount: number;
  /** Traits that all of these hosts have, besides the common ones. */
  readonly traits: ReadonlySet<string>;
  /** Traits that only some of them have. */
  readonly someTraits: ReadonlySet<string>;
  /** Free amounts by resource class. */
  readonly free: Readonly<Record<string, FreeAmount>>;
}

export interface FreeAmount {
  /** The largest free amount on one host. */
  readonly most: number;
  /** The sum over all hosts of the class. */
  readonly total: number;
}

/** A shape that no host of the cell took lately; it refuses `count` instances and more. */
export interface RefusedShape {
  readonly shape: string;
  readonly count: number;
}

export const MAX_HOST_CLASSES = 128;
export const MAX_REFUSED_SHAPES = 32;
/** Limit of the zones that a summary names and that a group may spread over; more are left out. */
export const MAX_ZONES = 256;
/** Limit of the traits and resource classes in a summary; those of the most hosts are kept. */
export const MAX_TOLD_TRAITS = 512;
export const MAX_TOLD_RESOURCES = 256;
/** Longer shapes are not remembered. */
export const MAX_SHAPE_CHARS = 512;

/** An operator's settings of a cell, with the reason. */
export interface CellRecord {
  readonly name: string;
  readonly state: CellState;
  readonly reason: string;
  readonly changedAtMs: number;
}

/** `disabled` gets no new builds; `draining` gets none either, and its instances are moved away. */
export type CellState = 'enabled' | 'disabled' | 'draining';
