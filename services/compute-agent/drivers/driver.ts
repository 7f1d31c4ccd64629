import type { Device } from '#libs/domain/devices/device';
import { BerthError } from '#libs/domain/errors';
import type { PowerState } from '#libs/domain/instance';
import type { Inventories, Resources } from '#libs/domain/inventory';
import type { BootDevice, NodeOperation } from '#libs/domain/nodes/node';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Fence } from './fenced';

/**
 * Builds and destroys instances on one host (Nova's virt driver). It decides nothing: claims, attempts, retries and
 * reports belong to the agent. It throws BerthErrors, whose reasons reach the client.
 */
export interface Driver {
  /** The present capacity of the host. Called for each report and each claim, so it must be cheap. */
  capacity(): HostCapacity;

  /**
   * Creates an instance and resolves when it runs. One call at a time for a uuid; calls for other uuids run
   * concurrently. When it throws, or the signal aborts it, nothing of the instance is left.
   *
   * @throws BerthError why the build failed.
   */
  build(instance: InstanceToBuild, signal: AbortSignal): Promise<void>;

  /** Ends an instance and resolves when nothing of it is left. Destroying a missing one succeeds. */
  destroy(uuid: string): Promise<void>;

  /** Stops an instance and keeps it; resolves when it does not run. Stopping a stopped one succeeds. */
  stop(uuid: string): Promise<void>;

  /**
   * Starts an instance that this or an earlier run of the agent stopped, and resolves when it runs. Starting a running
   * one succeeds.
   *
   * @throws BerthError why it could not be started; it is stopped then.
   */
  start(uuid: string, fence?: Fence): Promise<void>;

  /** Moves instances; without it every move is refused (`moves_unsupported`). */
  readonly moves?: DriverMoves;

  /** All workloads on the host, whoever started them. Those that the agent does not track are external usage. */
  list(): Promise<readonly RunningWorkload[]>;

  /** Sets the only listener, called for each built or listed instance that stopped without a `destroy` or a `stop`. */
  onExit(listener: (uuid: string, why: string) => void): void;

  /** Closes the driver. Instances keep running if they can. */
  close(): Promise<void>;

  /**
   * True when an interrupted build continues where it was when it is ordered again, by this run or another. A
   * half-built instance is then left as it is when the agent ends, or another takes the host over.
   */
  readonly carriesOn?: true;

  /** Sets the only listener, called when a changed capacity must reach placement at once. */
  onCapacityChange?(listener: () => void): void;

  /** True while a takeover by another agent would interrupt work. */
  isBusy?(): boolean;

  /**
   * Executes an operator's order on a node of bare metal. @throws BerthError `failed_precondition / node_state,
   * node_changed`.
   */
  operate?(order: NodeOrder): Promise<void>;
}

/** An operator's order for a node. */
export interface NodeOrder {
  readonly verb: NodeOperation;
  /** The reason of `maintain`. */
  readonly reason: string;
  /** The device of `set_boot_device`. */
  readonly bootDevice?: BootDevice | undefined;
  /** `updatedAtMs` of the node that the operator saw; 0 when unknown. */
  readonly restsOnUpdatedAtMs: number;
}

/** Moves instances between hosts, and resizes them. */
export interface DriverMoves {
  /**
   * Stops an instance, keeps it, and resolves to the handover for the destination's driver: at most 64 KiB, with the
   * location of larger data. A stopped one is handed over alike. `isLive`: copies it while it runs, and stops it last.
   *
   * @throws BerthError why it failed; the instance runs as before then. `unimplemented / live_migration_unsupported`.
   */
  handOver(uuid: string, isLive: boolean, signal: AbortSignal): Promise<Uint8Array>;

  /** Creates an instance, like `build`, from a handover. */
  arrive(instance: InstanceToBuild, handover: Uint8Array, signal: AbortSignal): Promise<void>;

  /**
   * Runs a local instance, stopped or not, with other resources; or keeps it, if it is to be built stopped.
   *
   * @throws BerthError why it failed; the instance is kept then.
   */
  resize(instance: InstanceToBuild, fence?: Fence): Promise<void>;
}

/** The capacity of a host: its root provider, and the nested ones. */
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
  /** When it is a device; its inventories follow from it. */
  readonly device?: Device | undefined;
}

/** An instance in the form for drivers. */
export interface InstanceToBuild {
  readonly uuid: string;
  readonly name: string;
  readonly projectId: string;
  /** All its allocated resources. */
  readonly resources: Resources;
  readonly requestSpec: RequestSpec;
  /** Its allocations on the host's providers, by name, '' for the root; empty when the conductor sent none. */
  readonly claimed: Readonly<Record<string, Resources>>;
  /** Suffixes of request groups, and `device:<name>` of requests for devices, to the names of the host's providers that meet them. */
  readonly mappings: Readonly<Record<string, readonly string[]>>;
  /**
   * The power state after the build; a stopped instance is kept until it is started. Undefined in an older version's
   * folder: it runs.
   */
  readonly powerState?: PowerState;
}

/** A workload on a host. */
export interface RunningWorkload {
  /** The uuid of an instance; for other workloads a name that is no uuid. */
  readonly id: string;
  readonly resources: Resources;
  /** The project of an instance, where the driver knows it. */
  readonly projectId?: string | undefined;
}

/** A host, as its driver is opened for it. */
export interface HostIdentity {
  readonly name: string;
  /** Its number among the hosts of the process, from 0. */
  readonly index: number;
}

/** Opens the driver of a host. `remembered` are the uuids of running instances in the journal. */
export type OpenDriver = (host: HostIdentity, remembered: readonly string[]) => Promise<Driver>;

/** The error of a driver without moves. */
export function movesUnsupported(): BerthError {
  const message = 'the driver of this host can not move instances: terminate it and build it elsewhere';
  return new BerthError('unimplemented', 'moves_unsupported', message);
}

/** The error of a driver that moves only stopped instances. @param what  its kind of instance */
export function liveMigrationUnsupported(what: string): BerthError {
  const message = `${what} can not be migrated while it runs: migrate it cold, then it begins anew`;
  return new BerthError('unimplemented', 'live_migration_unsupported', message);
}
