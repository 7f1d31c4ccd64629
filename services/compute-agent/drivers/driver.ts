import type { Inventories, Resources } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';

/**
 * What makes instances real on one host: the only part of an agent that knows how. A driver has no opinion: claims,
 * attempts, retries and reports are the agent's. Errors are BerthErrors whose reason is told to the client.
 */
export interface Driver {
  /** What the host has, now; asked for each report and each claim, so it must be cheap. */
  capacity(): HostCapacity;

  /**
   * Makes an instance and resolves when it runs. One call at a time for a uuid; calls for other uuids go on meanwhile.
   * When it throws, or the signal aborts it, nothing of the instance is left.
   *
   * @throws BerthError why the build failed.
   */
  build(instance: InstanceToBuild, signal: AbortSignal): Promise<void>;

  /** Ends an instance and resolves when nothing of it is left. What is not there is destroyed. */
  destroy(uuid: string): Promise<void>;

  /** All that runs on the host, whoever started it. What the agent does not carry is external usage. */
  list(): Promise<readonly Found[]>;

  /** Hears of each instance that was built, or seen by `list`, and stopped without being told to. One listener. */
  onExit(listener: (uuid: string, why: string) => void): void;

  /** Lets go of the host. Instances go on running if they can. */
  close(): Promise<void>;
}

export interface HostCapacity {
  readonly inventories: Inventories;
  readonly traits: readonly string[];
  /** What the image properties filter reads: `hw_architecture`, `img_hv_type`, `hw_vm_mode` to supported values. */
  readonly capabilities: Readonly<Record<string, readonly string[]>>;
}

export interface InstanceToBuild {
  readonly uuid: string;
  readonly name: string;
  readonly projectId: string;
  readonly resources: Resources;
  readonly requestSpec: RequestSpec;
}

/** Something that runs on a host: an instance by its uuid, anything else by a name that is no uuid. */
export interface Found {
  readonly id: string;
  readonly resources: Resources;
}

/** A host as its driver is told of it. */
export interface HostIdentity {
  readonly name: string;
  /** 0 for the first host that the process carries. */
  readonly index: number;
}

/** Opens the driver of a host. `carried` are uuids that ran when the agent was last here, from its journal. */
export type OpenDriver = (host: HostIdentity, carried: readonly string[]) => Promise<Driver>;
