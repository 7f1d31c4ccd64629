import type { Consumer } from '../../domain/consumer';
import type { Device } from '../../domain/devices/device';
import type { Aggregate } from '../../domain/grouping/aggregate';
import type { AdmissionTurn, Guarantee } from '../../domain/grouping/guarantee';
import type { Host } from '../../domain/host';
import type { Resources } from '../../domain/inventory';
import type { Provider } from '../../domain/provider';
import type { PlaceLease } from '../../domain/queueing/place-lease';
import type { Reservation } from '../../domain/queueing/reservation';
import type { ProjectQuota } from '../../domain/quotas/quota';
import type { StoredGroup } from '../../domain/server-group';

/** Amounts in use on a provider, with the generation that goes with them. */
export interface Usage {
  readonly providerUuid: string;
  readonly generation: number;
  readonly used: Resources;
}

/** The agent's last report of one provider; the rest of the provider was written by operators and API clients. */
export interface ReportedProvider {
  readonly uuid: string;
  readonly traits: readonly string[];
  /** The part of `reserved` that workloads outside Berth use. */
  readonly externalUsage: Resources;
  /** The device that the provider is, with operators' taints. */
  readonly device?: Device;
}

/** A custom resource class or trait. The standard ones are not in the store. */
export interface CatalogueName {
  readonly name: string;
  readonly createdAtMs: number;
}

/** Usage of a project. */
export interface ProjectUsage {
  readonly projectId: string;
  /** By resource class, and `instances`. */
  readonly used: Resources;
  /** Up to when `days` are counted: it holds `used` since then. */
  readonly atMs: number;
  /** Unit-milliseconds by day, counted from 1970, and class; of days that are over only those not settled yet. */
  readonly days: Readonly<Record<string, Resources>>;
}

/** An ended holding: amounts of one consumer of a project, unchanged over a time that is over. */
export interface UsageRecord {
  readonly consumerUuid: string;
  readonly userId: string;
  /** '' when it had none. */
  readonly flavor: string;
  /** By resource class, and `instances`. */
  readonly held: Resources;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Unit-milliseconds by day, counted from 1970, and by user and flavor. */
export type UsageParts = Readonly<Record<string, readonly (readonly [userId: string, flavor: string, Resources])[]>>;

/** Ended holdings of a project's consumers: each is in one of the two. */
export interface EndedUsage {
  readonly records: readonly UsageRecord[];
  readonly parts: UsageParts;
}

/** A sealed allocation request, and the UUID that it is referred to by. */
export interface KeptRequest {
  readonly id: string;
  readonly sealed: Uint8Array;
}

/** A candidate that a client was shown, opaque to the store, and the UUID that it may be claimed by. */
export interface KeptCandidate {
  readonly id: string;
  readonly content: string;
}

/** A candidate that was kept, and is no more. */
export interface TakenCandidate {
  readonly content: string;
  readonly expiresAtMs: number;
}

/** Time and number for which requests are kept, from now on. */
export interface KeepTerms {
  readonly atMs: number;
  readonly ttlMs: number;
  readonly most: number;
}

/** The same for candidates: beyond the most, those go of the owner who has most. */
export interface OwnedKeepTerms extends KeepTerms {
  /** Any text: those who share it share its part. */
  readonly owner: string;
}

/** A decision for some instances. */
export interface KeptDecision {
  /** Its own. */
  readonly id: string;
  /** Its instances and its request: it is found by each, until there is a later one. */
  readonly foundBy: readonly string[];
  /** Opaque to the store. */
  readonly content: Uint8Array;
}

/** A row with the revision of the commit that wrote it. */
export type Revised<T> = T & { readonly revision: number };

/** Rows of the store, deleted ones by their keys. A receiver ignores a row that is older than the one it has. */
export interface Rows {
  readonly providers?: readonly Revised<Provider>[];
  readonly usages?: readonly Revised<Usage>[];
  readonly hosts?: readonly Revised<Host>[];
  readonly consumers?: readonly Revised<Consumer>[];
  readonly resourceClasses?: readonly Revised<CatalogueName>[];
  readonly traits?: readonly Revised<CatalogueName>[];
  readonly aggregates?: readonly Revised<Aggregate>[];
  readonly serverGroups?: readonly Revised<StoredGroup>[];
  readonly quotas?: readonly Revised<ProjectQuota>[];
  readonly leases?: readonly Revised<PlaceLease>[];
  readonly guarantees?: readonly Revised<Guarantee>[];
  readonly reservations?: readonly Revised<Reservation>[];
  /** At most one. */
  readonly admissionTurns?: readonly Revised<AdmissionTurn>[];
  readonly deletedProviders?: readonly string[];
  readonly deletedHosts?: readonly string[];
  readonly deletedConsumers?: readonly string[];
  readonly deletedResourceClasses?: readonly string[];
  readonly deletedTraits?: readonly string[];
  readonly deletedAggregates?: readonly string[];
  /** By their `groupKey`. */
  readonly deletedServerGroups?: readonly string[];
  /** By project. */
  readonly deletedQuotas?: readonly string[];
  /** By instance. */
  readonly deletedLeases?: readonly string[];
  /** By name. */
  readonly deletedGuarantees?: readonly string[];
  /** By name. */
  readonly deletedReservations?: readonly string[];
}

/**
 * One entry of the change stream: the rows that changed, as they are at its revision. Commits that shared a batch share
 * their change.
 */
export interface Change extends Rows {
  readonly revision: number;
}
