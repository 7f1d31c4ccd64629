import type { Allocations } from '#libs/domain/consumer';
import type { MirrorInput } from '#libs/placement/mirror/mirror';
import type { Rows } from '#libs/placement/port/placement-store';
import type { HardwareTaken } from '../decision/hardware-overlay';
import type { RecordedKind } from '../facts/nova-facts';
import type { WantedHardware } from '../hardware/wanted-hardware';
import type { SpecObject } from '../objects/tables';
import type { NovaConfig } from '../options';

/** Raised when entries of before can not be read any more. */
export const NOVA_FORMAT = 1;

/** Begins a segment of a scheduler for Nova. */
export interface NovaSegmentEntry {
  readonly kind: 'nova_segment';
  readonly format: number;
  /** Version of Berth: another may decide otherwise. */
  readonly version: string;
  /** Passwords, tokens and addresses are left out. */
  readonly config: NovaConfig;
  readonly startedAtMs: number;
  /** The mirror's; its rows follow as `dump`, what changes meanwhile between them. */
  readonly revision: number;
}

/** Rows of a kind of facts, as they are now. */
export type FactRows = readonly (readonly [key: string, row: unknown])[];

/** All rows are there: from here on each decision can be made again. */
export interface NovaReadyEntry {
  readonly kind: 'nova_ready';
  readonly facts: Readonly<Record<RecordedKind, FactRows>>;
  /** Claims on their way. */
  readonly claims: readonly NovaClaimEntry[];
  /** Hardware that was taken and that the facts do not show. */
  readonly hardware: readonly HardwareTaken[];
}

/** Facts that changed. */
export interface NovaFactsEntry {
  readonly kind: 'nova_facts';
  readonly of: RecordedKind;
  readonly put: FactRows;
  readonly gone: readonly string[];
}

/** Claims of a request are on their way. */
export interface NovaClaimEntry {
  readonly kind: 'nova_claim';
  readonly id: number;
  readonly atElapsedMs: number;
  readonly hosts: readonly { readonly rootUuid: string; readonly allocations: Allocations }[];
  /** Wanted on each host; undefined where that is nothing. */
  readonly hardware: WantedHardware | undefined;
}

/** They have come to their end. */
export interface NovaSettleEntry {
  readonly kind: 'nova_settle';
  readonly id: number;
  readonly isClaimed: boolean;
}

/** A decision: what was asked, and what came of it. */
export interface NovaDecideEntry {
  readonly kind: 'nova_decide';
  /** The mirror's. */
  readonly revision: number;
  readonly attempt: {
    readonly nowMs: number;
    readonly elapsedMs: number;
    readonly seed: number;
    readonly places: readonly (string | undefined)[];
    readonly namesInstances: boolean;
    readonly withAlternates: boolean;
    readonly isDryRun: boolean;
    /** Hosts that the store refused before, for the same request. */
    readonly refusedRoots: readonly string[];
  };
  readonly request: {
    readonly requestId: string;
    readonly instanceUuids: readonly string[];
    readonly userId: string;
    readonly spec: SpecObject;
  };
  readonly outcome: NovaOutcome;
}

/** The result of a decision, as it is compared: hosts with amounts by instance and alternates; or why there are none. */
export type NovaOutcome =
  | {
      readonly kind: 'decided';
      readonly destinations: readonly {
        readonly instanceUuid: string;
        readonly host: string;
        readonly allocations: Allocations;
        readonly alternates: readonly string[];
      }[];
    }
  | { readonly kind: 'refused'; readonly summary: string; readonly preemptsOn: undefined };

export type NovaFlightEntry =
  | NovaSegmentEntry
  | { readonly kind: 'dump'; readonly rows: Rows }
  | NovaReadyEntry
  | Exclude<MirrorInput, { kind: 'shown' }>
  | NovaFactsEntry
  | NovaClaimEntry
  | NovaSettleEntry
  | NovaDecideEntry;
