import type { Allocations, Consumer, ConsumerOwner } from '../domain/consumer';
import type { Host } from '../domain/host';
import type { Inventories, Refusal, Resources } from '../domain/inventory';
import type { Provider } from '../domain/provider';
import type { ServerGroup } from '../domain/server-group';

/**
 * The truth about providers, hosts and consumers of one cell. Adapters: `redis` and `memory`, which pass one contract
 * suite (`libs/testing/placement-store-contract`).
 *
 * Every commit is atomic: guards are checked first, then everything is written, the revision rises by one and one change
 * record goes to the stream. A commit answers with its change, so that a mirror can read its own writes; a refused
 * commit changes nothing and says why as a value. Exceptions are for the store being away (`unavailable`).
 */
export interface PlacementStore {
  /**
   * Applies one commit.
   *
   * @throws BerthError `unavailable / store_away` (nothing was done), `unavailable / outcome_unknown` (the connection broke
   *   under way: send it again, commands are guarded or replace what they wrote before); `aborted / contention`;
   *   `invalid_argument / duplicate_consumer`, `invalid_argument / malformed_amount`.
   */
  commit(command: Command): Promise<CommitResult>;

  /** The revision of the last commit. */
  revision(): Promise<number>;

  /**
   * All rows, in chunks, then the revision to follow from. Rows may be newer than that revision; following the stream
   * from it converges, because changes carry whole rows and each row its revision.
   */
  snapshot(onRows: (rows: Rows) => void): Promise<number>;

  /**
   * Changes after `revision`, in order, without a gap, until the signal aborts. Ends by throwing
   * `failed_precondition / revision_trimmed` when the stream no longer reaches back that far (or the store is a new
   * one): take a snapshot again. Throws `unavailable` when the store goes away: likewise. Changes that the reader has
   * seen already, because its own process made them, may come without their rows.
   */
  follow(
    revision: number,
    onChanges: (changes: readonly Change[]) => void,
    signal: AbortSignal,
    hasSeen?: (revision: number) => boolean,
  ): Promise<void>;

  /**
   * Takes a report that says what the store has already, without a commit: notes its sequence, and that the agent lives
   * (read by `sweep_hosts`). `stale` as for `report_host`; `changed` when the rows are others by now, and then the whole
   * report must be committed.
   */
  heartbeat(beat: Heartbeat): Promise<HeartbeatResult>;

  /** The consumers as they are in the store now, for who has no mirror. Missing ones are left out. */
  consumers(uuids: readonly string[]): Promise<Consumer[]>;

  /** Every consumer, in chunks, for the audit. */
  scanConsumers(onRows: (rows: readonly Consumer[]) => Promise<void>): Promise<void>;

  close(): Promise<void>;
}

/** Amounts in use on a provider, with the generation that goes with them. */
export interface Usage {
  readonly providerUuid: string;
  readonly generation: number;
  readonly used: Resources;
}

/** Rows as they are after a commit; deleted ones by their keys. A receiver ignores a row older than the one it has. */
export interface Rows {
  readonly providers?: readonly Revised<Provider>[];
  readonly usages?: readonly Revised<Usage>[];
  readonly hosts?: readonly Revised<Host>[];
  readonly consumers?: readonly Revised<Consumer>[];
  readonly resourceClasses?: readonly Revised<CatalogueName>[];
  readonly traits?: readonly Revised<CatalogueName>[];
  readonly deletedProviders?: readonly string[];
  readonly deletedHosts?: readonly string[];
  readonly deletedConsumers?: readonly string[];
  readonly deletedResourceClasses?: readonly string[];
  readonly deletedTraits?: readonly string[];
}

/** A row with the revision of the commit that wrote it. */
export type Revised<T> = T & { readonly revision: number };

/** A custom resource class or trait. The standard ones are not in the store. */
export interface CatalogueName {
  readonly name: string;
  readonly createdAtMs: number;
}

export interface Change extends Rows {
  readonly revision: number;
}

export type CommitResult =
  /** Done. `change` has the rows; its revision is the claim token of every consumer it wrote. */
  | { readonly kind: 'committed'; readonly change: Change }
  /** The command changes nothing (released already, applied already): the state is as it asks. */
  | { readonly kind: 'unchanged' }
  /** What it takes does not fit. `usage` is the provider's row now, for the mirror. */
  | {
      readonly kind: 'capacity';
      readonly providerUuid: string;
      readonly resourceClass: string;
      readonly refusal: Refusal;
      readonly usage: Revised<Usage>;
    }
  /** A generation or claim token is not the present one; undefined when there is no such thing. */
  | {
      readonly kind: 'generation';
      readonly subject: 'provider' | 'consumer';
      readonly uuid: string;
      readonly present: number | undefined;
    }
  /** The group's policy forbids the host. */
  | { readonly kind: 'group'; readonly groupId: string; readonly host: string }
  /** `key` is a uuid or a name; for an inventory that a claim misses, `<provider uuid> <class>`. */
  | { readonly kind: 'not_found'; readonly subject: Subject; readonly key: string }
  | { readonly kind: 'exists'; readonly subject: Subject; readonly key: string }
  /**
   * In use, so it can't go: allocations on an inventory or provider, children of a provider, providers of a class or
   * trait. With subject `parent`: the new parent is the provider itself or below it.
   */
  | {
      readonly kind: 'in_use';
      readonly subject: Subject;
      readonly key: string;
      readonly by: 'allocations' | 'children' | 'inventories' | 'providers';
    }
  /** A report older than one already applied. */
  | { readonly kind: 'stale'; readonly present: number };

export type Subject = 'provider' | 'inventory' | 'host' | 'consumer' | 'resource_class' | 'trait' | 'parent';

/** Everything that can be committed. `atMs` stamps the rows. */
export type Command = { readonly atMs: number } & (
  | WriteAllocations
  | ReleaseClaim
  | PutProvider
  | DeleteProvider
  | WriteInventories
  | WriteTraits
  | WriteAggregates
  | Reshape
  | CatalogueCommand
  | ReportHost
  | SetHostEnabled
  | RecordFailure
  | SweepHosts
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
}

export interface ConsumerWrite {
  readonly uuid: string;
  readonly projectId: string;
  readonly userId: string;
  readonly consumerType: string | undefined;
  readonly owner: ConsumerOwner;
  readonly allocations: Allocations;
  readonly mappings: Readonly<Record<string, readonly string[]>>;
  /** What it gives back raises generations too: a client of Placement's API replaces allocations with none. */
  readonly raisesReleased?: boolean;
  /** Guard on the consumer as it is now. */
  readonly expect: ConsumerGuard;
  /** Membership held while the allocations are, checked against `host` in the same commit. */
  readonly group?: { readonly group: ServerGroup; readonly host: string };
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
  | { readonly kind: 'claim'; readonly claimRevision: number };

/** Gives a claim back; `unchanged` when the consumer is gone or holds a newer claim. */
export interface ReleaseClaim {
  readonly kind: 'release_claim';
  readonly consumerUuid: string;
  readonly claimRevision: number;
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
 * is not in the catalogue; only `report_host` creates what it names. Renaming is for microversions 1.2 to 1.6.
 */
export type CatalogueCommand =
  | {
      readonly kind: 'create_name' | 'delete_name';
      readonly catalogue: 'resource_class' | 'trait';
      readonly name: string;
    }
  | { readonly kind: 'rename_class'; readonly name: string; readonly newName: string };

/**
 * An agent's report: the root provider is created or updated to what the agent says (it is the authority), without a
 * generation guard; the host's row likewise. `stale` when the run's sequence was seen. Inventories of a class in use
 * that the report leaves out are kept with total as it is. Commits nothing (`unchanged`) when only the sequence moved;
 * the sequence is then kept beside the heartbeat.
 */
export interface ReportHost {
  readonly kind: 'report_host';
  readonly host: string;
  readonly providerUuid: string;
  readonly cell: string;
  readonly serviceHost: string;
  readonly availabilityZone: string;
  readonly agentRun: string;
  readonly sequence: number;
  /** `reserved` includes what unmanaged workloads use. */
  readonly inventories: Inventories;
  readonly traits: readonly string[];
  /** Left as they are when undefined. */
  readonly aggregates: readonly string[] | undefined;
  readonly capabilities: Host['capabilities'];
  readonly ioOps: number;
  readonly externalInstances: number;
}

/** A report of a host, and the revisions of the rows that say the same. */
export interface Heartbeat extends Pick<ReportHost, 'host' | 'providerUuid' | 'agentRun' | 'sequence'> {
  readonly atMs: number;
  readonly hostRevision: number;
  readonly providerRevision: number;
}

export type HeartbeatResult =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'changed' }
  | { readonly kind: 'stale'; readonly present: number };

export interface SetHostEnabled {
  readonly kind: 'set_host_enabled';
  readonly host: string;
  readonly enabled: boolean;
  readonly reason: string;
}

/** One more build failed on the host; `halfLifeMs` lets earlier ones decay first. */
export interface RecordFailure {
  readonly kind: 'record_failure';
  readonly host: string;
  readonly halfLifeMs: number;
}

/** Takes as down every up host whose last heartbeat is older than `silentSinceMs`, at most `limit` of them. */
export interface SweepHosts {
  readonly kind: 'sweep_hosts';
  readonly silentSinceMs: number;
  readonly limit: number;
}
