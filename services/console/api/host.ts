import type { TriedAttempt } from './builds';
import type { FleetHost } from './fleet';
import type { HistoryOf } from './history';
import type { Drain } from './stream';

/** What the page of a host shows. */
export interface HostPage {
  readonly host: FleetHost;
  readonly cell: string;
  readonly serviceHost: string;
  readonly disabledReason: string;
  readonly externalInstances: number;
  readonly lastFailure: string;
  /** 0 when it is trusted, or no scheduler says. */
  readonly quarantinedUntilMs: number;
  /** Root first, parents before children. */
  readonly providers: readonly ProviderRow[];
  readonly instances: readonly HostInstance[];
  /** All that there are, when `instances` has the first of them only. */
  readonly instanceCount: number;
  readonly attempts: readonly TriedAttempt[];
  readonly history: HistoryOf;
  readonly doubts: readonly DoubtRow[];
  readonly drain: Drain | undefined;
}

export interface ProviderRow {
  readonly uuid: string;
  readonly name: string;
  readonly depth: number;
  readonly inventories: readonly InventoryRow[];
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
}

export interface InventoryRow {
  readonly resourceClass: string;
  readonly used: number;
  readonly capacity: number;
  readonly total: number;
  /** What is kept from allocation: by operators, and by what Berth does not manage. */
  readonly reserved: number;
  readonly allocationRatio: number;
}

export interface HostInstance {
  readonly uuid: string;
  readonly name: string;
  readonly state: string;
  readonly projectId: string;
  readonly resources: Readonly<Record<string, number>>;
  readonly updatedAtMs: number;
}

export interface DoubtRow {
  readonly instanceUuid: string;
  readonly host: string;
  readonly finding: string;
  readonly message: string;
  readonly sinceMs: number;
}
