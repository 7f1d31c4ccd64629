/**
 * A compute host: the root of a provider tree together with what only Berth knows of it. Written by the agent's reports,
 * by operators (enable, disable) and by the sweep that takes silent hosts as down.
 */
export interface Host {
  readonly name: string;
  /** The root provider that holds the host's own inventory. */
  readonly providerUuid: string;
  readonly cell: string;
  /** The agent process that carries it and takes its orders (Nova's service host, of a node); an ordinary host is its own. */
  readonly serviceHost: string;
  /** Uuids of the host aggregates that operators put it into; its zone is what their metadata say. */
  readonly aggregates: readonly string[];
  /** What an operator wants. */
  readonly enabled: boolean;
  readonly disabledReason: string;
  /** What the fleet sees: reports arrive. */
  readonly up: boolean;
  /** Facts the image properties filter reads: `hw_architecture`, `img_hv_type`, `hw_vm_mode` → supported values. */
  readonly capabilities: Readonly<Record<string, readonly string[]>>;
  /** Builds and other heavy work in progress, as last reported (Nova's num_io_ops). */
  readonly ioOps: number;
  /** Instances on the host that Berth does not manage, as last reported. */
  readonly externalInstances: number;
  /** Of the last report: rises with each holder of the host; 0 when its agent holds none. */
  readonly epoch: number;
  /** Which run of the agent reported, and its last sequence: a lower sequence of the same run is stale. */
  readonly agentRun: string;
  readonly sequence: number;
  /** Recent build failures: a count and the time of the last; the weigher lets it decay. */
  readonly failures: number;
  readonly lastFailureAtMs: number;
  /** Of these, how many came one after the other, each begun after the one before, with nothing that went well since. */
  readonly failuresInARow: number;
  /** Projects whose builds failed there lately. */
  readonly failedFor?: readonly FailedFor[] | undefined;
  /** Why the last one failed; empty when none did. */
  readonly lastFailure: string;
  /**
   * A report that said all that runs here, as it was after this time by the store's clock, was worked on: what a store has lost since
   * before then is known again. Nothing when none was.
   */
  readonly heardInFullAtMs?: number;
  readonly updatedAtMs: number;
}

/** A project whose build failed on a host. */
export interface FailedFor {
  readonly projectId: string;
  /** When it weighed last. */
  readonly atMs: number;
  /** True when it counts in the present row. */
  readonly isInRow: boolean;
}

/** Bound of the projects whose failed builds a host remembers. */
export const MAX_FAILED_FOR = 16;

/** True when nothing was worked on that said all that was on it after a time. */
export function isUnheard({ heardInFullAtMs = 0 }: Pick<Host, 'heardInFullAtMs'>, sinceMs: number): boolean {
  return heardInFullAtMs <= sinceMs;
}
