/**
 * What the top of a fleet knows of a cell: never its hosts, but classes of hosts that are alike. Of bounded size however many
 * hosts the cell has; where it says too little it says too much room, not too little.
 */
export interface CellSummary {
  /** Equal for equal contents. */
  readonly digest: number;
  readonly hostCount: number;
  /** Up, enabled, and not in quarantine: only these are in the classes. */
  readonly availableCount: number;
  readonly instanceCount: number;
  /** That all available hosts have. */
  readonly commonTraits: ReadonlySet<string>;
  readonly classes: readonly HostClass[];
  readonly refused: readonly RefusedShape[];
  /** All that aggregates of its hosts name, whatever state those hosts are in; in order of text. */
  readonly zones: readonly string[];
  /** Whether traits or resource classes were left out, as there are too many: a host may have one that no class names. */
  readonly isAbridged: boolean;
}

/** Hosts that are alike: of one zone, with the same traits, and with about as much free. */
export interface HostClass {
  /** '' where hosts of several zones had to be put together. */
  readonly zone: string;
  readonly hostCount: number;
  /** That all of these hosts have, besides the common ones. */
  readonly traits: ReadonlySet<string>;
  /** That only some of them have. */
  readonly someTraits: ReadonlySet<string>;
  /** By resource class. */
  readonly free: Readonly<Record<string, FreeAmount>>;
}

export interface FreeAmount {
  /** That one host has. */
  readonly most: number;
  /** Of all hosts together. */
  readonly total: number;
}

/** What no host of the cell took lately: so many instances of a shape, and any more. */
export interface RefusedShape {
  readonly shape: string;
  readonly count: number;
}

export const MAX_HOST_CLASSES = 128;
export const MAX_REFUSED_SHAPES = 32;
/** Zones that a cell tells of, and that a group may spread over: more are left out. */
export const MAX_ZONES = 256;
/** Traits and resource classes that a cell tells of: those that the most hosts have. */
export const MAX_TOLD_TRAITS = 512;
export const MAX_TOLD_RESOURCES = 256;
/** A shape that takes more to say is not remembered. */
export const MAX_SHAPE_CHARS = 512;

/** What operators say of a cell, and why. */
export interface CellRecord {
  readonly name: string;
  readonly state: CellState;
  readonly reason: string;
  readonly changedAtMs: number;
}

/** `disabled` gets no new builds; `draining` neither, and is to become empty. */
export type CellState = 'enabled' | 'disabled' | 'draining';
