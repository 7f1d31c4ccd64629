import type { TriedAttempt } from './builds';
import type { FleetHost } from './fleet';
import type { HistoryOf } from './history';
import type { Drain } from './stream';

/** The data of a host's page. */
export interface HostPage {
  readonly host: FleetHost;
  readonly cell: string;
  readonly serviceHost: string;
  readonly disabledReason: string;
  readonly externalInstances: number;
  readonly lastFailure: string;
  /** 0 when it is trusted, or no scheduler answers. */
  readonly quarantinedUntilMs: number;
  /** Root first, parents before children. */
  readonly providers: readonly ProviderRow[];
  readonly instances: readonly HostInstance[];
  /** The number of all its instances; `instances` may hold only the first. */
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
  /** Traits that its agent reported. */
  readonly agentTraits: readonly string[];
  /** Traits that operators and API clients wrote, including Berth's own on their behalf (a disabled host). */
  readonly otherTraits: readonly string[];
  readonly aggregates: readonly string[];
}

export interface InventoryRow {
  readonly resourceClass: string;
  readonly used: number;
  readonly capacity: number;
  readonly total: number;
  /** The amount kept from allocation. */
  readonly reserved: number;
  /** Usage that Berth does not manage; also kept from allocation. */
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
  /** The instance's uuid; '' for a doubt about the host. */
  readonly uuid: string;
  readonly host: string;
  readonly finding: string;
  readonly message: string;
  readonly sinceMs: number;
}
