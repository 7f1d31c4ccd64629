/**
 * A compute host: the root of a provider tree with the fields that only Berth has. The agent's reports, operators
 * (enable, disable) and the sweep that marks silent hosts down write it.
 */
export interface Host {
  readonly name: string;
  /** The root provider that holds the host's own inventory. */
  readonly providerUuid: string;
  readonly cell: string;
  /**
   * The agent process that runs it and takes its orders (Nova's service host of a node); an ordinary host is its own
   * service host.
   */
  readonly serviceHost: string;
  /** Uuids of its host aggregates; their metadata name its zone. */
  readonly aggregates: readonly string[];
  /** Set by operators. */
  readonly enabled: boolean;
  readonly disabledReason: string;
  /** True while reports arrive. */
  readonly up: boolean;
  /** Facts the image properties filter reads: `hw_architecture`, `img_hv_type`, `hw_vm_mode` → supported values. */
  readonly capabilities: Readonly<Record<string, readonly string[]>>;
  /** Builds and other heavy work in progress, as last reported (Nova's num_io_ops). */
  readonly ioOps: number;
  /** Instances on the host that Berth does not manage, as last reported. */
  readonly externalInstances: number;
  /** Epoch of the last report: rises with each holder of the host; 0 when its agent holds none. */
  readonly epoch: number;
  /** The agent run of the last report, and its sequence: a lower sequence of the same run is stale. */
  readonly agentRun: string;
  readonly sequence: number;
  /** Recent build failures and the time of the last; the weigher lets the count decay. */
  readonly failures: number;
  readonly lastFailureAtMs: number;
  /** Consecutive failures: each build began after the one before, with no success since. */
  readonly failuresInARow: number;
  /** Projects whose builds failed here lately. */
  readonly failedFor?: readonly FailedFor[] | undefined;
  /** Reason of the last failure; empty when none failed. */
  readonly lastFailure: string;
  /**
   * Time, by the store's clock, of the last full report that was processed: writes that the store lost before it are
   * known again. Undefined before the first.
   */
  readonly heardInFullAtMs?: number;
  /** Time, by the store's clock, at which an operator said that it is dead. Undefined once a report of it is taken. */
  readonly deadAtMs?: number | undefined;
  readonly updatedAtMs: number;
}

/** A project whose build failed on a host. */
export interface FailedFor {
  readonly projectId: string;
  /** Time of its last failure that counts for the weigher. */
  readonly atMs: number;
  /** True when it counts in the present row of failures. */
  readonly isInRow: boolean;
}

/** Limit of the projects that a host remembers failed builds of. */
export const MAX_FAILED_FOR = 16;

/** True when no full report made after `sinceMs` was processed. */
export function isUnheard({ heardInFullAtMs = 0 }: Pick<Host, 'heardInFullAtMs'>, sinceMs: number): boolean {
  return heardInFullAtMs <= sinceMs;
}

/** True when it was neither heard in full after `sinceMs` nor declared dead after it: anything may run there. */
export function mayRunForgotten(host: Pick<Host, 'heardInFullAtMs' | 'deadAtMs'>, sinceMs: number): boolean {
  return isUnheard(host, sinceMs) && (host.deadAtMs ?? 0) <= sinceMs;
}
