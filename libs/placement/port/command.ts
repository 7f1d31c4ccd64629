import type { Allocations, ConsumerOwner } from '../../domain/consumer';
import type { Guarantee } from '../../domain/grouping/guarantee';
import type { Host } from '../../domain/host';
import type { Inventories, Resources } from '../../domain/inventory';
import type { Provider } from '../../domain/provider';
import type { PlaceLease } from '../../domain/queueing/place-lease';
import type { Reservation } from '../../domain/queueing/reservation';
import type { RecentUse } from '../../domain/quotas/recent-use';
import type { GroupSettings, Membership } from '../../domain/server-group';

/** Everything that can be committed. `atMs` stamps the rows. */
export type Command = { readonly atMs: number } & (
  | WriteAllocations
  | ReleaseClaim
  | PutProvider
  | DeleteProvider
  | DeleteHost
  | WriteInventories
  | WriteTraits
  | WriteAggregates
  | Reshape
  | RaiseGenerations
  | CatalogueCommand
  | SetHostEnabled
  | TaintDevice
  | RecordFailure
  | AggregateCommand
  | GroupCommand
  | ClearFailures
  | NoteHeard
  | NoteDead
  | SweepHosts
  | WriteQuota
  | SettleProject
  | FoldUsage
  | NoteRecentUse
  | WriteLease
  | EndLeases
  | WriteGuarantee
  | DeleteGuarantee
  | TakeAdmissionTurn
  | GoOn
  | WriteReservation
  | DeleteReservation
);

/**
 * Replaces, for each consumer, all that it holds; empty allocations remove it. Claim, release, replace, move and claims
 * of many consumers are all this command: all of it happens, or nothing. What a consumer held before is given back
 * before the new amounts are checked; an over-committed provider accepts what does not make it worse. Generations of the
 * providers that something is taken from rise; giving back alone raises none, but for `raisesReleased`.
 */
export interface WriteAllocations {
  readonly kind: 'write_allocations';
  readonly consumers: readonly ConsumerWrite[];
  /** Take even what does not fit: only for what runs already (a report that heals the store). */
  readonly force?: boolean;
  /** For forced claims: refuse a sum of holdings above the total, whatever is reserved of it: more never ran there. */
  readonly withinTotal?: boolean;
  /** Refuse what would exceed a quota of the consumers' projects, forced or not. Without it they are taken all the same. */
  readonly withinQuota?: boolean;
  /**
   * Consumers on the same providers that end in time, or use a reservation themselves: reservations keep less because of them.
   * A claim that names none may be refused more. Each consumer must be as it is until the commit.
   */
  readonly besides?: readonly string[];
  /** Revision of the turn to admit under which it was decided: refused as `stale` once the turn is another's. */
  readonly admissionTurn?: number | undefined;
}

export interface ConsumerWrite {
  /** For forced claims `withinTotal`: the host's total by class when the claim was sealed, whatever its agent says now. */
  readonly capacities?: Resources | undefined;
  readonly uuid: string;
  readonly projectId: string;
  readonly userId: string;
  readonly consumerType: string | undefined;
  /** A consumer that has another owner is refused, and for a conductor one of another type or project. */
  readonly owner: ConsumerOwner;
  readonly allocations: Allocations;
  readonly mappings: Readonly<Record<string, readonly string[]>>;
  /** Released amounts raise generations too: a client of Placement's API replaces allocations with none. */
  readonly raisesReleased?: boolean;
  /** Guard on the consumer as it is now. */
  readonly expect: ConsumerGuard;
  /** Membership held while the allocations are, checked against `host` in the same commit. */
  readonly group?: Membership;
  /** As of a consumer. */
  readonly priority?: number | undefined;
  readonly isProtected?: boolean | undefined;
  /** As of a consumer. What has it is a part of a claim that was made before: units of inventories do not bind it. */
  readonly counted?: Resources | undefined;
  /** As of a consumer. */
  readonly flavor?: string | undefined;
  /** As of a consumer. */
  readonly reservation?: string | undefined;
  readonly endsAtMs?: number | undefined;
}

/**
 * - `any`        whatever is there is replaced
 * - `absent`     must not exist
 * - `generation` must have this generation
 * - `claim`      must hold the claim with this token
 */
export type ConsumerGuard =
  | { readonly kind: 'any' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'generation'; readonly generation: number }
  | { readonly kind: 'claim'; readonly claimToken: number };

/**
 * Gives a conductor's claim back; `unchanged` when the consumer is gone, or another's, or of another kind or project, or holds a newer
 * claim.
 */
export interface ReleaseClaim {
  readonly kind: 'release_claim';
  readonly consumerUuid: string;
  readonly claimToken: number;
  /** INSTANCE unless given. */
  readonly consumerType?: string | undefined;
  /** Any project's unless given: for claims that have no record. */
  readonly projectId?: string | undefined;
}

/**
 * Creates (refuses an existing uuid or name) or updates a provider's name and parent, which moves all below it. Neither
 * raises the generation.
 */
export interface PutProvider {
  readonly kind: 'put_provider';
  readonly uuid: string;
  readonly name: string;
  readonly parentUuid: string | undefined;
  readonly mode: 'create' | 'update';
}

export interface DeleteProvider {
  readonly kind: 'delete_provider';
  readonly uuid: string;
}

/** Deletes a host with its whole provider tree, and who holds it, while nothing is allocated on any provider of it. */
export interface DeleteHost {
  readonly kind: 'delete_host';
  readonly host: string;
}

/** Sets the given inventories; with `replace`, exactly these, else those and whatever was there. `remove` takes some away. */
export interface WriteInventories {
  readonly kind: 'write_inventories';
  readonly providerUuid: string;
  readonly generation: number | undefined;
  readonly inventories: Inventories;
  readonly replace: boolean;
  readonly remove?: readonly string[];
}

export interface WriteTraits {
  readonly kind: 'write_traits';
  readonly providerUuid: string;
  readonly generation: number | undefined;
  readonly traits: readonly string[];
}

export interface WriteAggregates {
  readonly kind: 'write_aggregates';
  readonly providerUuid: string;
  /** Guards and raises the generation when given; before microversion 1.19 it does neither. */
  readonly generation: number | undefined;
  readonly aggregates: readonly string[];
}

/** Inventories of several providers and allocations of several consumers at once (Placement's reshaper). */
export interface Reshape {
  readonly kind: 'reshape';
  readonly inventories: readonly {
    readonly providerUuid: string;
    readonly generation: number;
    readonly inventories: Inventories;
  }[];
  readonly consumers: readonly ConsumerWrite[];
}

/**
 * Custom resource classes and traits. Every command that names a `CUSTOM_` class or trait refuses (`not_found`) one that
 * is not in the catalogue; only a host's report creates what it names. Renaming is for microversions 1.2 to 1.6.
 */
export type CatalogueCommand =
  | {
      readonly kind: 'create_name' | 'delete_name';
      readonly catalogue: 'resource_class' | 'trait';
      readonly name: string;
    }
  | { readonly kind: 'rename_class'; readonly name: string; readonly newName: string };

/** An operator taints a device of a host, or takes such a taint off. Reports of its agent keep it. */
export interface TaintDevice {
  readonly kind: 'taint_device';
  readonly host: string;
  /** The name that its agent gives it. */
  readonly device: string;
  readonly key: string;
  /** '' takes the taint off. */
  readonly value: string;
  /** True to move away who has the device, too. */
  readonly noExecute?: boolean;
  /** Limit of the taints of the device, those of its agent among them. */
  readonly most: number;
}

export interface SetHostEnabled {
  readonly kind: 'set_host_enabled';
  readonly host: string;
  readonly enabled: boolean;
  readonly reason: string;
}

/**
 * A build failed on the host that ran on another one, or a report of it was refused; `halfLifeMs` lets earlier ones decay first. Of one
 * project failures count once a half-life, and once in the row.
 */
export interface RecordFailure {
  readonly kind: 'record_failure';
  readonly host: string;
  readonly halfLifeMs: number;
  /**
   * One that was under way when the one before failed is the same trouble: it does not count in the row. Nor does one of
   * which it is not the host that says that it failed: then undefined.
   */
  readonly startedAtMs: number | undefined;
  readonly reason: string;
  /** Project of the build; undefined if none has to do with it. */
  readonly projectId?: string | undefined;
  /** When it failed, if that was earlier. */
  readonly failedAtMs?: number | undefined;
}

/** All that a host reported as it was after a time was worked on. */
export interface NoteHeard {
  readonly kind: 'note_heard';
  readonly host: string;
  /** By the store's clock. */
  readonly saidAfterMs: number;
}

/** An operator says that a host, which is down and fenced, is dead. */
export interface NoteDead {
  readonly kind: 'note_dead';
  readonly host: string;
}

/** The host can build again: it did, or an operator says so. */
export interface ClearFailures {
  readonly kind: 'clear_failures';
  readonly host: string;
}

/**
 * Host aggregates. A host's membership stands in its row, and as an aggregate of its root provider for clients of the
 * placement API, whose own aggregates stay. A host is in one availability zone at most (`zone`), and while something is
 * allocated on it, it stays where it is (`in_use`); an aggregate with hosts can't be deleted.
 */
export type AggregateCommand =
  | {
      readonly kind: 'create_aggregate';
      readonly uuid: string;
      readonly name: string;
      readonly metadata: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'update_aggregate';
      readonly uuid: string;
      /** Left as it is when undefined. */
      readonly name: string | undefined;
      readonly set: Readonly<Record<string, string>>;
      readonly unset: readonly string[];
    }
  | { readonly kind: 'delete_aggregate'; readonly uuid: string }
  | { readonly kind: 'add_aggregate_host' | 'remove_aggregate_host'; readonly uuid: string; readonly host: string };

/** Server groups that stand by themselves; each is its project's, under a name. Members are none of this. */
export type GroupCommand =
  | ({ readonly kind: 'create_group'; readonly projectId: string; readonly name: string } & GroupSettings)
  | { readonly kind: 'delete_group'; readonly projectId: string; readonly name: string };

/** Takes as down every up host whose last heartbeat is older than `silentSinceMs`, at most `limit` of them. */
export interface SweepHosts {
  readonly kind: 'sweep_hosts';
  readonly silentSinceMs: number;
  readonly limit: number;
}

/** Changes the quota of a project, or of `DEFAULT_PROJECT`: what is not named stays as it is. */
export interface WriteQuota {
  readonly kind: 'write_quota';
  readonly projectId: string;
  /** The version that is meant to be changed; 0 for whichever there is. */
  readonly version: number;
  readonly limits: Resources;
  readonly borrowLimits: Resources;
  /** None unless given. */
  readonly lendLimits?: Resources;
  /** '' for none. */
  readonly cohort: string | undefined;
  /** Classes whose limits go; `all`: the quota itself. */
  readonly unset: readonly string[] | 'all';
}

/**
 * Raises generations to at least those that another placement service had, never lowers one: a guard that a client read there
 * then matches only the state that it knows. Unknown uuids, and consumers that Berth places, are left out.
 */
export interface RaiseGenerations {
  readonly kind: 'raise_generations';
  /** By uuid. */
  readonly providers: Readonly<Record<string, number>>;
  readonly consumers: Readonly<Record<string, number>>;
}

/** Settles what is counted of a project's use: finished days go to its history, old ones are forgotten. */
export interface SettleProject {
  readonly kind: 'settle_project';
  readonly projectId: string;
  /** Days of history that are kept. */
  readonly keepDays: number;
  /** Usage by the rows of its consumers, if the usage row still has this revision; 0: there is none. */
  readonly correction?: { readonly used: Resources; readonly revision: number };
}

/** Sums up what consumers of a project held and hold no more, but for the last records, which stay by name. */
export interface FoldUsage {
  readonly kind: 'fold_usage';
  readonly projectId: string;
  readonly keepRecords: number;
  /** Days of history that are kept. */
  readonly keepDays: number;
  /** Looks for what is too old though there are no more records than are kept. */
  readonly forgetsOld: boolean;
}

/** Keeps samples of what projects held lately instead of those before, and forgets those of some. Mirrors don't see it. */
export interface NoteRecentUse {
  readonly kind: 'note_recent_use';
  readonly samples: readonly RecentUse[];
  /** Projects. */
  readonly forgotten: readonly string[];
}

/** Leases places for an instance, instead of whatever was leased for it. Refused as `full` when there are as many as may be. */
export interface WriteLease {
  readonly kind: 'write_lease';
  readonly lease: PlaceLease;
}

/** Ends leases of instances, whatever is left of them; those that are not there are not missed. */
export interface EndLeases {
  readonly kind: 'end_leases';
  readonly consumerUuids: readonly string[];
  /** Only those that end by themselves at this time or before; all, when not given. */
  readonly expiredAtMs?: number | undefined;
}

/** Sets a guarantee, instead of the one of that name. */
export interface WriteGuarantee {
  readonly kind: 'write_guarantee';
  readonly guarantee: Omit<Guarantee, 'updatedAtMs'>;
}

export interface DeleteGuarantee {
  readonly kind: 'delete_guarantee';
  readonly name: string;
}

/** Takes the turn to admit under guarantees, for `holdMs` at least; refused as `exists` while another holds it. */
export interface TakeAdmissionTurn {
  readonly kind: 'take_admission_turn';
  readonly by: string;
  readonly holdMs: number;
}

/** Fixes until when writes may be lost, after another server went on (`StoreIdentity.isUnwritten`). */
export interface GoOn {
  readonly kind: 'go_on';
}

/**
 * Sets a reservation, instead of the one of that name. Its units must fit on their hosts at the start of its window and of each
 * that begins in it: else it is refused by `reserved`.
 */
export interface WriteReservation {
  readonly kind: 'write_reservation';
  readonly reservation: Omit<Reservation, 'updatedAtMs'>;
  /** Revision of the row that is replaced; undefined: there is none. Another is refused by `exists`, and none by `not_found`. */
  readonly replaces: number | undefined;
  /** As of `WriteAllocations`. */
  readonly besides?: readonly string[];
}

export interface DeleteReservation {
  readonly kind: 'delete_reservation';
  readonly name: string;
  /** Only if its window has ended by then; in any case, when not given. */
  readonly endedAtMs?: number | undefined;
}

/** An agent's report of its host (update_resource_stats). */
export interface HostReport {
  readonly atMs: number;
  /** The agent, as the broker knows it: what it brings into the catalogue is counted for it. The host, unless given. */
  readonly reporter?: string;
  readonly host: string;
  readonly providerUuid: string;
  /** An operator lets the host have that provider, though it is there and no host's. */
  readonly mayTake?: boolean | undefined;
  readonly cell: string;
  readonly serviceHost: string;
  /** Which run of the agent, and which of its reports: one that is not after the last of the same run is `stale`. */
  readonly agentRun: string;
  readonly sequence: number;
  /** By which the agent holds the host (`acquireHosts`); 0: it holds none, and is heard while nobody holds it. */
  readonly epoch: number;
  /** `reserved` includes what unmanaged workloads use. */
  readonly inventories: Inventories;
  /** Usage outside Berth, as part of `reserved`: it adds to what an operator reserves. */
  readonly externalUsage?: Resources;
  readonly traits: readonly string[];
  /** The providers below the root, in any order; none unless given. Inventories, traits and usage above are the root's. */
  readonly nested?: readonly NestedReport[];
  /** Left as they are when undefined. */
  readonly aggregates: readonly string[] | undefined;
  readonly capabilities: Host['capabilities'];
  readonly ioOps: number;
  readonly externalInstances: number;
  /** The agent's memory that an operator disabled the host, for a store that does not know the host (any more). */
  readonly disabled?: { readonly reason: string } | undefined;
}

/** A report of a provider below its host's root. They form a tree: each parent is the root or one of them. */
export interface NestedReport extends Pick<HostReport, 'inventories' | 'externalUsage' | 'traits'> {
  /** `nestedProviderUuid` of the root's. */
  readonly uuid: string;
  readonly name: string;
  readonly parentUuid: string;
  /** When it is a device; its inventories are those of `deviceInventories`. */
  readonly device?: Provider['device'];
}

/** A run of an agent, on behalf of its service host. */
export interface HostHolder {
  readonly agentRun: string;
  readonly serviceHost: string;
}

/** A run wants to hold hosts. */
export interface AcquireHosts extends HostHolder {
  /** For stores without a clock of their own. */
  readonly atMs: number;
  readonly hosts: readonly string[];
  /** A host without an accepted report for so long may be given to another run. */
  readonly leaseMs: number;
  /** A run of the same service host that is dead: what it holds is given at once. Nobody's unless given. */
  readonly formerRun?: string;
}

/** Grant of a host to a run; if refused, the present holder, and the least time left. */
export type HostGrant =
  | { readonly kind: 'granted'; readonly epoch: number }
  | { readonly kind: 'taken'; readonly holder: HostHolder; readonly leftMs: number };

/** A run gives hosts back. */
export interface ReleaseHosts extends HostHolder {
  readonly hosts: readonly string[];
}
