import type { Tally } from './builds';

/** The data of the instances page. */
export interface InstancesPage {
  /** All instances of the store by state, whatever the filter. */
  readonly states: readonly Tally[];
  /** Number of matches among those that were read. */
  readonly matched: number;
  /** True when the store has more than were read: the filter must be narrower. */
  readonly isPartial: boolean;
  readonly read: number;
  /** The matches that changed last, newest first. */
  readonly instances: readonly InstanceRow[];
}

export interface InstanceRow {
  readonly uuid: string;
  readonly name: string;
  readonly state: string;
  readonly host: string;
  /** Its host's zone, else the one that it asks for; '' for any. */
  readonly zone: string;
  readonly projectId: string;
  readonly flavor: string;
  readonly attempts: number;
  /** Reason of its fault, or of its wait. */
  readonly reason: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** `GET /api/choices`: what pickers offer. */
export interface Choices {
  readonly flavors: readonly { readonly name: string; readonly resources: Readonly<Record<string, number>> }[];
  readonly zones: readonly string[];
  readonly aggregates: readonly string[];
  readonly projects: readonly string[];
  readonly traits: readonly string[];
  /** Metadata of aggregates with hosts: `rack=r12`. */
  readonly metadata: readonly string[];
}

/** `POST /api/instances/actions`: the outcome of an action on several instances. */
export interface BulkOutcome {
  readonly done: number;
  readonly refused: readonly { readonly uuid: string; readonly reason: string; readonly message: string }[];
}

/** Limit of the instances of one action. */
export const MAX_BULK = 200;
