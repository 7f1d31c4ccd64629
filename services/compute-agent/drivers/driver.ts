import type { PowerState } from '#libs/domain/instance';
import type { Inventories, Resources } from '#libs/domain/inventory';
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

  /** All that runs on the host, whoever started it. What the agent does not track is external usage. */
  list(): Promise<readonly RunningWorkload[]>;

  /** Sets the one listener, called for each instance that was built or listed and stopped without a `destroy` or a `stop`. */
  onExit(listener: (uuid: string, why: string) => void): void;

  /** Ends the driver. Instances go on running if they can. */
  close(): Promise<void>;
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
