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
  /** What its agent reported. */
  readonly agentTraits: readonly string[];
  /** What operators and API clients wrote, Berth itself for them among them (a host that is disabled). */
  readonly otherTraits: readonly string[];
  readonly aggregates: readonly string[];
}

export interface InventoryRow {
  readonly resourceClass: string;
  readonly used: number;
  readonly capacity: number;
  readonly total: number;
  /** What is kept from allocation. */
  readonly reserved: number;
  /** What workloads use that Berth does not manage; kept from allocation, too. */
  readonly external: number;
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
  /** Of the instance; '' when it is about the host. */
  readonly uuid: string;
  readonly host: string;
  readonly finding: string;
  readonly message: string;
  readonly sinceMs: number;
}
