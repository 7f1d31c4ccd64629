import type { HostHolder } from './command';

/**
 * Pools of nodes that several agents share, and what is remembered of each node so that whoever manages it next goes on with
 * it. None of it is seen by mirrors.
 */
export interface PoolStore {
  /**
   * Makes a run of a service host a member of a pool until its lease runs out by the store's time, or renews that. Members whose
   * leases have run out are none any more. The epoch of the pool rises whenever its members or their weights change.
   *
   * @throws BerthError `unavailable`, as `PlacementStore.commit`.
   */
  joinPool(wanted: JoinPool): Promise<PoolGrant>;

  /** Ends a membership, if it is the run's. */
  leavePool(member: HostHolder & { readonly pool: string }): Promise<void>;

  /** Replaces what is remembered of a node, if the epoch is that of its present holder (`acquireHosts`). */
  writeNode(write: NodeWrite): Promise<NodeWriteResult>;

  /** Records of nodes, in order. */
  nodes(hosts: readonly string[]): Promise<(string | undefined)[]>;

  /** Holders of hosts (`PlacementStore.acquireHosts`), in order, their leases run out or not; undefined for none. */
  holders(hosts: readonly string[]): Promise<(HeldBy | undefined)[]>;

  /** The names of all nodes that are remembered, sorted. */
  nodeNames(): Promise<string[]>;
}

export interface JoinPool extends HostHolder {
  /** For stores without a clock of their own. */
  readonly atMs: number;
  readonly pool: string;
  /** Above 0. */
  readonly weight: number;
  readonly leaseMs: number;
  /** A run of the same service host that is dead: its place is given at once. Nobody's unless given. */
  readonly formerRun?: string;
}

/** Membership of a run; if refused, another live run of its service host is a member, for this time at least. */
export type PoolGrant =
  | { readonly kind: 'member'; readonly pool: Pool }
  | { readonly kind: 'taken'; readonly holder: HostHolder; readonly leftMs: number };

export interface Pool {
  readonly epoch: number;
  /** Sorted by service host. */
  readonly members: readonly PoolMember[];
}

export interface PoolMember extends HostHolder {
  readonly weight: number;
}

/** Holder of a host, and the epoch of its lease. */
export interface HeldBy extends HostHolder {
  readonly epoch: number;
}

export interface NodeWrite {
  readonly host: string;
  readonly epoch: number;
  /** Rises with each change of the node: of one epoch, a write that comes after a later one is left out. */
  readonly updatedAtMs: number;
  /** A text that only agents read. */
  readonly content: string;
}

/** With the epoch of the present holder when it is another; undefined when the store knows of none. */
export type NodeWriteResult =
  | { readonly kind: 'written' }
  | { readonly kind: 'epoch'; readonly present: number | undefined };
