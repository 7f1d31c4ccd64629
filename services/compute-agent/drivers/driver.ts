import { BerthError } from '#libs/domain/errors';
import type { PowerState } from '#libs/domain/instance';
import type { Inventories, Resources } from '#libs/domain/inventory';
import type { BootDevice, NodeOperation } from '#libs/domain/nodes/node';
import type { RequestSpec } from '#libs/domain/request-spec';

/**
 * Builds and destroys instances on one host (Nova's virt driver). It decides nothing: claims, attempts, retries and
 * reports are the agent's. It throws BerthErrors, whose reasons reach the client.
 */
export interface Driver {
  /** What the host has now. Called for each report and each claim, so it must be cheap. */
  capacity(): HostCapacity;

  /**
   * Makes an instance and resolves when it runs. One call at a time for a uuid; calls for other uuids go on meanwhile.
   * When it throws, or the signal aborts it, nothing of the instance is left.
   *
   * @throws BerthError why the build failed.
   */
  build(instance: InstanceToBuild, signal: AbortSignal): Promise<void>;

  /** Ends an instance and resolves when nothing of it is left. Destroying what does not exist succeeds. */
  destroy(uuid: string): Promise<void>;

  /** Stops an instance and keeps it: resolves when it does not run. Stopping what does not run succeeds. */
  stop(uuid: string): Promise<void>;

  /**
   * Starts an instance that was stopped, by this run of the agent or an earlier one, and resolves when it runs. Starting what
   * runs succeeds.
   *
   * @throws BerthError why it could not be started: then it is stopped.
   */
  start(uuid: string): Promise<void>;

  /** Moves instances; a driver without it has every move refused (`moves_unsupported`). */
  readonly moves?: DriverMoves;

  /** All that runs on the host, whoever started it. What the agent does not track is external usage. */
  list(): Promise<readonly RunningWorkload[]>;

  /** Sets the one listener, called for each instance that was built or listed and stopped without a `destroy` or a `stop`. */
  onExit(listener: (uuid: string, why: string) => void): void;

  /** Ends the driver. Instances go on running if they can. */
  close(): Promise<void>;

  /**
   * A build that was cut short goes on where it was when it is ordered again, by this run or another. Then what is half built
   * is left as it is when the agent ends, or another takes the host over, and goes on there.
   */
  readonly carriesOn?: true;

  /** Sets the one listener, called when the capacity has changed and placement must know at once. */
  onCapacityChange?(listener: () => void): void;

  /** Whether it is in the middle of something that another agent had better not take over now. */
  isBusy?(): boolean;

  /** Does what an operator wants of a node of bare metal. @throws BerthError `failed_precondition / node_state, node_changed`. */
  operate?(order: NodeOrder): Promise<void>;
}

/** What an operator wants of a node. */
export interface NodeOrder {
  readonly verb: NodeOperation;
  /** Why, of `maintain`. */
  readonly reason: string;
  /** Of `set_boot_device`. */
  readonly bootDevice?: BootDevice | undefined;
  /** When the node had changed last as whoever ordered it saw it; 0 for not known. */
  readonly restsOnUpdatedAtMs: number;
}

/** How a driver moves instances from one host to another, and from one size to another. */
export interface DriverMoves {
  /**
   * Stops an instance, keeps it, and resolves to what the driver of its destination needs of it: at most 64 KiB, where larger
   * things are to be found. Of one that is stopped already, the same. `isLive`: copies it while it runs, and stops it last.
   *
   * @throws BerthError why it could not: then it runs as before. `unimplemented / live_migration_unsupported`.
   */
  handOver(uuid: string, isLive: boolean, signal: AbortSignal): Promise<Uint8Array>;

  /** Makes an instance, as `build`, of what was handed over. */
  arrive(instance: InstanceToBuild, handover: Uint8Array, signal: AbortSignal): Promise<void>;

  /**
   * Runs an instance that is here, stopped or not, with other resources than before; or keeps it, if that is how it is built.
   *
   * @throws BerthError why it could not: then it is kept.
   */
  resize(instance: InstanceToBuild): Promise<void>;
}

/** What a host has to offer: its root provider, and what is nested in it. */
export interface HostCapacity {
  readonly inventories: Inventories;
  readonly traits: readonly string[];
  /** NUMA nodes, devices and the like, in any order. */
  readonly nested: readonly NestedCapacity[];
  /** Supported values of `hw_architecture`, `img_hv_type` and `hw_vm_mode`, for the image properties filter. */
  readonly capabilities: Readonly<Record<string, readonly string[]>>;
}

/** A provider below the root of a host. */
export interface NestedCapacity {
  /** Unique on the host: `numa0`, `0000:81:00.0`. */
  readonly name: string;
  /** The name of another one; '' for the root. */
  readonly parent: string;
  readonly inventories: Inventories;
  readonly traits: readonly string[];
}

/** An instance as a driver is given it. */
export interface InstanceToBuild {
  readonly uuid: string;
  readonly name: string;
  readonly projectId: string;
  /** All that it holds. */
  readonly resources: Resources;
  readonly requestSpec: RequestSpec;
  /** What it holds of each of the host's providers, by name, '' for the root; empty when the conductor did not say. */
  readonly claimed: Readonly<Record<string, Resources>>;
  /** Suffixes of request groups to the names of the host's providers that meet them. */
  readonly mappings: Readonly<Record<string, readonly string[]>>;
  /** Whether it runs when it is built; else it is kept until it is started. Folders of an older version do not say: it runs. */
  readonly powerState?: PowerState;
}

/** Something that runs on a host. */
export interface RunningWorkload {
  /** The uuid of an instance; of anything else a name that is no uuid. */
  readonly id: string;
  readonly resources: Resources;
}

/** A host, as its driver is opened with it. */
export interface HostIdentity {
  readonly name: string;
  /** Its number among the hosts of the process, from 0. */
  readonly index: number;
}

/** Opens the driver of a host. `remembered` are the uuids of instances that ran according to the journal. */
export type OpenDriver = (host: HostIdentity, remembered: readonly string[]) => Promise<Driver>;

/** Of a driver that can't. */
export function movesUnsupported(): BerthError {
  const message = 'the driver of this host can not move instances: terminate it and build it elsewhere';
  return new BerthError('unimplemented', 'moves_unsupported', message);
}

/** Of a driver that moves instances, but none that runs. @param what  an instance is to it */
export function liveMigrationUnsupported(what: string): BerthError {
  const message = `${what} can not be migrated while it runs: migrate it cold, then it begins anew`;
  return new BerthError('unimplemented', 'live_migration_unsupported', message);
}
