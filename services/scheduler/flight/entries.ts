import type { MirrorInput } from '#libs/placement/mirror/mirror';
import type { Rows } from '#libs/placement/port/placement-store';
import type { CompleteSpec, SelectRequest } from '../decision/complete-request';
import type { Attempt } from '../decision/start-decision';
import type { PricedShape } from '../demand/prices';
import type { FleetPlaces } from '../fleet/fleet';
import type { PendingClaim } from '../fleet/pending-claims';
import type { SchedulerConfig } from '../options';

/** Raised when entries of before can not be read any more. */
export const FORMAT = 1;

/** Begins a segment: what it takes to decide as the scheduler did, but for the fleet. */
export interface SegmentEntry {
  readonly kind: 'segment';
  readonly format: number;
  /** Version of Berth: another may decide otherwise. */
  readonly version: string;
  /** Its key is left out. */
  readonly config: SchedulerConfig;
  readonly startedAtMs: number;
  /** The mirror's; its rows follow as `dump`, what changes meanwhile between them. */
  readonly revision: number;
}

/** All rows are there: from here on each decision can be made again. */
export interface ReadyEntry {
  readonly kind: 'ready';
  readonly nowMs: number;
  readonly places: FleetPlaces;
  readonly pending: readonly RecordedClaim[];
  readonly prices: readonly PricedShape[];
}

/** A claim on its way, by a number of the record. */
export type RecordedClaim = readonly [id: number, claim: PendingClaim];

/** A decision: what was asked, and what came of it. */
export interface DecideEntry {
  readonly kind: 'decide';
  /** The mirror's. */
  readonly revision: number;
  readonly attempt: Omit<Attempt, 'asIf'>;
  readonly request: Omit<SelectRequest, 'spec' | 'equivalenceClass'>;
  /** Specs are written once a segment. */
  readonly specId: number;
  readonly spec: CompleteSpec | undefined;
  readonly outcome: DecisionOutcome;
}

/** The result of a decision, as it is compared: hosts with amounts by instance and alternates; or why there are none. */
export type DecisionOutcome =
  | { readonly kind: 'decided'; readonly destinations: readonly RecordedDestination[] }
  | { readonly kind: 'refused'; readonly summary: string; readonly preemptsOn: string | undefined };

export interface RecordedDestination {
  readonly instanceUuid: string;
  readonly host: string;
  readonly allocations: PendingClaim['allocations'];
  readonly alternates: readonly string[];
}

export type FlightEntry =
  | SegmentEntry
  | { readonly kind: 'dump'; readonly rows: Rows }
  | ReadyEntry
  | Exclude<MirrorInput, { kind: 'shown' }>
  | { readonly kind: 'read'; readonly nowMs: number }
  | { readonly kind: 'hold'; readonly isAssumed: boolean; readonly claims: readonly RecordedClaim[] }
  | { readonly kind: 'settle'; readonly ids: readonly number[] }
  | { readonly kind: 'prices'; readonly prices: readonly PricedShape[] }
  | DecideEntry;
