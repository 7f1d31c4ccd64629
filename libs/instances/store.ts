import { BerthError } from '../domain/errors';
import type { Instance, InstanceState } from '../domain/instance';

/**
 * The instance records of one cell. Adapters: `redis` and `memory`, one contract suite
 * (`libs/testing/instances/instance-store-contract`). All methods throw BerthError `unavailable` when the store is away.
 */
export interface InstanceStore {
  /**
   * Stores all, or none when the request id is known; answers with the instances stored for the request, in order.
   *
   * @throws BerthError `already_exists / instance_exists` when another request has one of the uuids; nothing is stored.
   */
  create(
    requestId: string,
    instances: readonly Instance[],
  ): Promise<{ readonly created: boolean; readonly instances: Instance[] }>;

  /** Missing ones are left out. */
  get(uuids: readonly string[]): Promise<Instance[]>;

  /**
   * Writes the record if the stored version is `next.version - 1`. The state machine is the caller's to keep
   * (`canTransition`). Answers with what is stored after: `next`, or what somebody else wrote.
   */
  update(next: Instance): Promise<{ readonly updated: boolean; readonly instance: Instance | undefined }>;

  /** By uuid, after `marker`, at most `limit` that match. */
  list(filter: InstanceFilter, marker: string | undefined, limit: number): Promise<Instance[]>;

  /**
   * Instances whose `dueAtMs` has come, longest due first. Each is due again `leaseMs` from now, so that only one
   * conductor gets it at a time; the record itself is not written.
   */
  takeDue(nowMs: number, leaseMs: number, limit: number): Promise<Instance[]>;

  /** Every instance, in chunks, for the audit. */
  scan(onRows: (rows: readonly Instance[]) => Promise<void>): Promise<void>;

  /**
   * Forgets instances that were deleted, or ended in error and are not due, last written before `beforeMs`, and
   * requests with no instance left. Answers how many.
   */
  forget(beforeMs: number, limit: number): Promise<number>;

  close(): Promise<void>;
}

export interface InstanceFilter {
  readonly requestId?: string;
  readonly projectId?: string;
  readonly state?: InstanceState;
  readonly host?: string;
}

/** Whether an instance is what a filter asks for. */
export function matches(filter: InstanceFilter, instance: Instance): boolean {
  return (
    (filter.requestId === undefined || filter.requestId === instance.requestId) &&
    (filter.projectId === undefined || filter.projectId === instance.projectId) &&
    (filter.state === undefined || filter.state === instance.state) &&
    (filter.host === undefined || filter.host === instance.host)
  );
}

/** What `create` throws when a uuid is taken. */
export function instanceExists(uuid: string): BerthError {
  return new BerthError('already_exists', 'instance_exists', `instance ${uuid} exists and belongs to another request`, {
    details: { instanceUuid: uuid },
  });
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
