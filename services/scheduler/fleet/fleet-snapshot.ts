import type { HostState } from './host-state';
import { withAmountsKept, withClaim, withoutClaim, withoutOwnClaim } from './host-state';
import type { PendingClaim } from './pending-claims';
import type { PersistentVector } from './persistent-vector';

/** Indexes of the hosts that use a provider shared with them, by its uuid. */
export type SharedUsers = ReadonlyMap<string, readonly number[]>;

/**
 * The hosts of the fleet as of one moment: what a decision is made on. Immutable, and two snapshots share every host that
 * is the same in both, so that taking one is free and comparing two costs as much as they differ.
 */
export class FleetSnapshot {
  constructor(
    /** By index; places of hosts that are gone are empty. */
    readonly hosts: PersistentVector<HostState>,
    readonly hostCount: number,
    private readonly sharedUsers: SharedUsers,
  ) {}

  /** The host at a place; undefined without a place, and at one of a host that is gone. */
  at(index: number | undefined): HostState | undefined {
    return index === undefined ? undefined : this.hosts.at(index);
  }

  /**
   * The fleet as it is once a claim is made (kube-scheduler's assume): the next instance of a request is placed on that.
   * Nothing needs to be taken back when the request is refused; the snapshots are dropped.
   */
  assume(claim: PendingClaim): FleetSnapshot {
    return this.#changed(claim, withClaim);
  }

  /** The fleet as it would be without a claim that is made. */
  without(claim: PendingClaim): FleetSnapshot {
    return this.#changed(claim, withoutClaim);
  }

  /** The fleet without amounts that reservations keep from a request; `by` says which. Below 0 it has more. */
  keep(amounts: PendingClaim, by: string): FleetSnapshot {
    return this.#changed(amounts, (state, claim) => withAmountsKept(state, claim, by));
  }

  /** The fleet for whoever has a claim and replaces it on its host: there it is free, and to other hosts it is not. */
  withoutOwn(claim: PendingClaim): FleetSnapshot {
    const state = this.hosts.at(claim.hostIndex);
    if (!state) return this;
    const hosts = this.hosts.set(claim.hostIndex, withoutOwnClaim(state, claim));
    return new FleetSnapshot(hosts, this.hostCount, this.sharedUsers);
  }

  #changed(claim: PendingClaim, change: (state: HostState, claim: PendingClaim) => HostState): FleetSnapshot {
    let { hosts } = this;
    for (const index of this.concernedBy(claim)) {
      const state = hosts.at(index);
      if (state) hosts = hosts.set(index, change(state, claim));
    }
    return new FleetSnapshot(hosts, this.hostCount, this.sharedUsers);
  }

  /** The claim's host, and those that share what it takes. */
  private concernedBy({ hostIndex, allocations }: PendingClaim): Iterable<number> {
    if (this.sharedUsers.size === 0) return [hostIndex];
    const users = Object.keys(allocations).flatMap((uuid) => this.sharedUsers.get(uuid) ?? []);
    return new Set([hostIndex, ...users]);
  }
}
