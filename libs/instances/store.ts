import { BerthError } from '../domain/errors';
import type { Instance, InstanceRow, InstanceState } from '../domain/instance';
import type { DoubtStore } from './doubts';

/**
 * The instance records of one cell, and the outbox of their events. Adapters: `redis` and `memory`, one contract suite
 * (`libs/testing/instances/instance-store-contract`). All methods throw BerthError `unavailable` when the store is away.
 *
 * The naive way to tell of a change is to write the record and then to publish. It fails when the writer dies in between:
 * nobody ever hears of that version, and who waits for it waits for ever. So the record and its event are one write, and
 * the event stays in the outbox until somebody has published it: the writer at once, or, when it can't, any conductor that
 * finds it there. It costs a second copy of what is on its way, and that events may come twice. (Transactional outbox;
 * Richardson, "Microservices Patterns", 3.2.7.)
 */
export interface InstanceStore<Row extends InstanceRow = Instance> extends DoubtStore {
  /**
   * Stores all, or none when the request id is known; answers with the instances stored for the request, in order. Those
   * that were created are in the outbox.
   *
   * A request that comes again after its instances were forgotten must not be built again, and to keep the ids of all
   * requests for that would have no bound. So the store keeps one time, when the newest instance that it has forgotten was
   * created: a request that is newer than that was not forgotten, one that is older may have been and is refused.
   *
   * @throws BerthError `already_exists / instance_exists` when another request has one of the uuids; `failed_precondition /
   *   request_expired`; `resource_exhausted / too_many_records`; `unavailable / outbox_full`. Nothing is stored.
   */
  create(
    requestId: string,
    instances: readonly Row[],
    terms?: CreateTerms,
  ): Promise<{ readonly created: boolean; readonly instances: Row[] }>;

  /** Missing ones are left out. */
  get(uuids: readonly string[]): Promise<Row[]>;

  /**
   * Writes the record if the stored version is `next.version - 1`. The state machine is the caller's to keep
   * (`canTransition`). Answers with what is stored after: `next`, or what somebody else wrote.
   *
   * @param guards  what must be so in the same commit
   */
  update(next: Row, guards?: UpdateGuards): Promise<UpdateResult<Row>>;

  /** The events of an instance up to this version are published: takes them out of the outbox, with or before the next write. */
  markPublished(uuid: string, version: number): Promise<void>;

  /**
   * Instances that have been in the outbox for `minAgeMs` or more by the store's clock, in chunks: for each its versions,
   * oldest first, as `versionOf` makes them. Answers what the whole outbox held.
   */
  scanOutbox(minAgeMs: number, onRows: (rows: readonly (readonly Row[])[]) => Promise<void>): Promise<OutboxSize>;

  /** Counts PENDING instances, of all projects or of one, without reading them. */
  countPending(projectId?: string): Promise<number>;

  /**
   * Counts instances by state, without reading those at rest; empty states are left out. Beyond `MAX_COUNTED` instances in transit
   * the rest is in no count.
   */
  countStates(): Promise<ReadonlyMap<InstanceState, number>>;

  /** The uuids of instances that are PENDING, in order, at most `limit`, without reading them. */
  pendingUuids(limit: number): Promise<string[]>;

  /** By uuid, after `marker`, at most `limit` that match. */
  list(filter: InstanceFilter, marker: string | undefined, limit: number): Promise<Row[]>;

  /** Hosts that instances are on, in order, after `marker`, at most `limit`, without reading the instances. */
  hosts(marker: string, limit: number): Promise<string[]>;

  /**
   * Instances whose `dueAtMs` has come, longest due first, then by uuid. Each is due again `leaseMs` from now, so that only one
   * conductor gets it at a time; the record itself is not written.
   */
  takeDue(nowMs: number, leaseMs: number, limit: number): Promise<Row[]>;

  /** Instances that are due next, soonest first, then by uuid; nothing of them changes. */
  nextDue(afterMs: number, limit: number): Promise<Row[]>;

  /** Every instance, in chunks, for the audit. */
  scan(onRows: (rows: readonly Row[]) => Promise<void>): Promise<void>;

  /**
   * Forgets instances that were deleted, or ended in error and are not due, last written before `beforeMs`, and
   * requests with no instance left, but none that is in the outbox. Answers how many it forgot or put off.
   */
  forget(beforeMs: number, limit: number, kept?: KeptEnded): Promise<number>;

  close(): Promise<void>;
}

export interface CreateTerms {
  /** When the request was published at the earliest; without, it is taken as new. */
  readonly publishedAtMs?: number | undefined;
  /**
   * So many instances its project has on record at most, those that ended and are not forgotten among them; no bound without. Requests
   * that are stored by one run of a script may exceed it by what they have together.
   */
  readonly maxOfProject?: number;
}

/** Ended instances that are not forgotten yet: those created up to a time, until `beforeMs` is past another. */
export interface KeptEnded {
  readonly createdUpToMs: number;
  readonly untilMs: number;
}

export function isKept({ createdAtMs }: InstanceRow, beforeMs: number, kept: KeptEnded | undefined): boolean {
  return kept !== undefined && createdAtMs <= kept.createdUpToMs && beforeMs <= kept.untilMs;
}

export interface UpdateGuards {
  readonly fence?: Fence | undefined;
  /**
   * `updatedAtMs` of the stored version: a store that has lost writes numbers the next ones as it numbered those, and a record that was
   * read before the loss is not the one of that version.
   */
  readonly storedAtMs?: number;
}

/** A host is held by that epoch, and its holder's lease lasts: nobody else is heard in its name, and nobody was since. */
export interface Fence {
  readonly host: string;
  readonly epoch: number;
}

export interface UpdateResult<Row extends InstanceRow> {
  readonly updated: boolean;
  readonly instance: Row | undefined;
  /** It is as it was, because its fence is down. */
  readonly isUnfenced?: boolean;
  /** When it was updated: the versions in the outbox, oldest first, `instance` the last. */
  readonly unpublished: readonly Row[];
}

export interface OutboxSize {
  readonly instanceCount: number;
  /** Age of the first of them. */
  readonly ageMs: number;
}

/**
 * The outbox holds the events of so many instances; then it takes no new instance, while those that are there go on to
 * their end. So a broker that is away, or a listener's queue that refuses events, holds up new requests in the end, and
 * loses none.
 */
export const MAX_OUTBOX = 100_000;

/** About a kilobyte of the store each. */
export const MAX_RECORDS_OF_PROJECT = 200_000;

/** A version as the outbox keeps it: all that an event says. */
export function versionOf<Row extends InstanceRow>(instance: Row): Row {
  return {
    ...instance,
    requestSpec: NO_BYTES,
    alternates: NO_BYTES,
    allocationRequest: NO_BYTES,
    dueAtMs: undefined,
  };
}

const NO_BYTES = new Uint8Array();

/** Instances in transit that are counted by their states. */
export const MAX_COUNTED = 50_000;

export interface InstanceFilter {
  readonly requestId?: string;
  readonly projectId?: string;
  readonly state?: InstanceState;
  readonly host?: string;
}

/** True if an instance passes a filter. */
export function matches(filter: InstanceFilter, instance: InstanceRow): boolean {
  return (
    (filter.requestId === undefined || filter.requestId === instance.requestId) &&
    (filter.projectId === undefined || filter.projectId === instance.projectId) &&
    (filter.state === undefined || filter.state === instance.state) &&
    (filter.host === undefined || filter.host === instance.host)
  );
}

/** Thrown by `create` when a uuid is taken. */
export function instanceExists(uuid: string): BerthError {
  return new BerthError('already_exists', 'instance_exists', `instance ${uuid} exists and belongs to another request`, {
    details: { instanceUuid: uuid },
  });
}

/** Thrown by `create` when the request may have been here before. */
export function requestExpired(requestId: string): BerthError {
  const message = `request ${requestId} is so old that its instances may have been forgotten: send a new one`;
  return new BerthError('failed_precondition', 'request_expired', message);
}

/** Thrown by `create` when a project has too many records. */
export function tooManyRecords(projectId: string, most: number): BerthError {
  const message = `project '${projectId}' has ${most} instances on record, or would have more; those that ended count until they are forgotten`;
  return new BerthError('resource_exhausted', 'too_many_records', message);
}

/** Thrown by `create` when the outbox is full. */
export function outboxFull(): BerthError {
  return new BerthError('unavailable', 'outbox_full', 'too many events wait to be published; retry later');
}

/**
 * Leases: at most one holder at a time, for a time. The epoch rises with each change of holder, so that what an old
 * holder still does can be told apart (fencing; Kleppmann, "How to do distributed locking").
 */
export interface LeaseStore {
  /** Takes or renews; undefined when somebody else holds it. A lease that ran out has a new epoch, whoever takes it. */
  acquire(name: string, holder: string, ttlMs: number): Promise<{ readonly epoch: number } | undefined>;
  /** Gives it back if it is still the holder's. */
  release(name: string, holder: string): Promise<void>;
}
