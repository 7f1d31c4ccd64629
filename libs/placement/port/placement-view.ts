import type { Consumer } from '../../domain/consumer';
import type { Aggregate } from '../../domain/grouping/aggregate';
import type { AdmissionTurn, Guarantee } from '../../domain/grouping/guarantee';
import type { Host } from '../../domain/host';
import type { Resources } from '../../domain/inventory';
import type { Provider } from '../../domain/provider';
import type { PlaceLease } from '../../domain/queueing/place-lease';
import type { Reservation } from '../../domain/queueing/reservation';
import type { ProjectQuota, QuotaState } from '../../domain/quotas/quota';
import type { StoredGroup } from '../../domain/server-group';
import type { CatalogueName, Revised } from './rows';

/**
 * A mirror's content: all of a cell's placement, in memory, as of `revision`. Reads are synchronous and cheap (maps and
 * sets, no copies); what they return is read-only. Decisions on it may be stale: the commit checks them.
 */
export interface PlacementView {
  readonly revision: number;

  provider(uuid: string): Provider | undefined;
  providerByName(name: string): Provider | undefined;
  providers(): Iterable<Provider>;
  readonly providerCount: number;
  /** Amounts in use, by class; empty when nothing is. */
  usage(providerUuid: string): Resources;
  /** Every provider of the tree, root first, parents before children. */
  tree(rootUuid: string): readonly Provider[];
  children(providerUuid: string): ReadonlySet<string>;
  /** Uuids of providers in an aggregate. */
  membersOf(aggregate: string): ReadonlySet<string>;
  /** Uuids of providers with a trait. */
  providersWithTrait(trait: string): ReadonlySet<string>;
  /** Uuids of providers with inventory of a class. */
  providersWithClass(resourceClass: string): ReadonlySet<string>;
  /** Providers that have SHARING_TRAIT. */
  sharingProviders(): ReadonlySet<string>;

  host(name: string): Host | undefined;
  hosts(): Iterable<Host>;
  /** The host whose tree has this root. */
  hostOfRoot(rootUuid: string): Host | undefined;

  /** A host aggregate. */
  aggregate(uuid: string): Aggregate | undefined;
  aggregates(): Iterable<Aggregate>;
  /** Names of the hosts in a host aggregate. */
  hostsIn(aggregate: string): ReadonlySet<string>;
  /** A server group that stands by itself, by its `groupKey`. */
  serverGroup(key: string): StoredGroup | undefined;
  serverGroups(): Iterable<StoredGroup>;

  consumer(uuid: string): Consumer | undefined;
  consumers(): Iterable<Consumer>;
  /** Uuids of consumers that hold anything on a provider. */
  consumersOn(providerUuid: string): ReadonlySet<string>;
  /** Uuids of consumers of a project. */
  consumersOf(projectId: string): ReadonlySet<string>;
  /** Uuids of consumers in a server group, by its `groupKey`. */
  groupMembers(group: string): ReadonlySet<string>;
  /** Uuids of migrations that keep places for members of a group to go back to. */
  keptPlaces(group: string): ReadonlySet<string>;

  /** Leases that have a place on the host with this root. Those whose time is over are among them until somebody ends them. */
  leasesOn(rootUuid: string): Iterable<PlaceLease>;
  leases(): Iterable<PlaceLease>;
  readonly leaseCount: number;
  /** Those by which room is made for somebody; most often none. */
  nominations(): readonly PlaceLease[];

  /** Standing guarantees; the same list until one changes. */
  guarantees(): readonly Guarantee[];
  /** The turn to admit under them; undefined until somebody takes it. */
  admissionTurn(): Revised<AdmissionTurn> | undefined;
  /** Reservations; the same list until one changes. Those whose window has ended are among them until somebody deletes them. */
  reservations(): readonly Revised<Reservation>[];

  hasResourceClass(name: string): boolean;
  hasTrait(name: string): boolean;
  /** Custom and standard, sorted. `createdAtMs` is 0 for standard ones. */
  resourceClasses(): readonly CatalogueName[];
  traits(): readonly CatalogueName[];

  /** Quotas, and what projects hold. */
  readonly quotas: ProjectQuotas;

  /**
   * Notifies of what changed, after each applied change, or of `all` after a resync. Returns how to stop.
   */
  onChange(listener: (changed: Changed | 'all') => void): () => void;
}

/** Quotas by project, as the rule reads them. */
export interface ProjectQuotas extends QuotaState {
  quota(projectId: string): ProjectQuota | undefined;
  /** Projects that have a quota, and those that hold something. */
  projects(): readonly string[];
}

/** The part of a view that a search in one tree looks at. */
export type ProviderForest = Pick<PlacementView, 'provider' | 'tree' | 'children' | 'usage' | 'sharingProviders'>;

/**
 * The roots of trees in which a provider, its usage, its host or an aggregate of it changed; and consumers and host
 * aggregates that changed or are gone.
 */
export interface Changed {
  readonly roots: ReadonlySet<string>;
  readonly consumers: ReadonlySet<string>;
  readonly aggregates: ReadonlySet<string>;
}
