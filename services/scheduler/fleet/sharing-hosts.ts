import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { SharedUsers } from './fleet-snapshot';

/** Which hosts use which sharing providers, to find the hosts that a change of a sharing provider concerns. */
export class SharingHosts {
  private readonly users = new Map<string, Set<string>>();
  private readonly used = new Map<string, readonly string[]>();
  private asIndexes: SharedUsers | undefined = new Map();

  /** The sharing providers that a host can use now. */
  set(rootUuid: string, sharing: readonly Provider[]): void {
    const before = this.used.get(rootUuid) ?? [];
    const after = sharing.map((provider) => provider.uuid);
    if (before.length === after.length && after.every((uuid, i) => uuid === before[i])) return;
    this.asIndexes = undefined;
    for (const uuid of before) this.users.get(uuid)?.delete(rootUuid);
    for (const uuid of after) this.users.set(uuid, (this.users.get(uuid) ?? new Set()).add(rootUuid));
    if (after.length > 0) this.used.set(rootUuid, after);
    else this.used.delete(rootUuid);
  }

  /** Roots of the hosts that use a provider shared with them. */
  usersOf(providerUuid: string): ReadonlySet<string> {
    return this.users.get(providerUuid) ?? NOBODY;
  }

  /** The same by index, of all sharing providers, for a snapshot. */
  byIndex(indexOf: (rootUuid: string) => number | undefined): SharedUsers {
    this.asIndexes ??= new Map(
      [...this.users].map(([uuid, roots]) => [uuid, [...roots].map(indexOf).filter((index) => index !== undefined)]),
    );
    return this.asIndexes;
  }

  /** Roots of other trees that a change in this tree concerns: those that used what it shares, and that may use it now. */
  affectedBy(view: PlacementView, rootUuid: string): Iterable<string> {
    return this.users.size === 0 && view.sharingProviders().size === 0 ? NOBODY : this.affectedNow(view, rootUuid);
  }

  private *affectedNow(view: PlacementView, rootUuid: string): Iterable<string> {
    yield* this.usersOf(rootUuid);
    for (const provider of view.tree(rootUuid)) {
      yield* this.usersOf(provider.uuid);
      if (!view.sharingProviders().has(provider.uuid)) continue;
      for (const aggregate of provider.aggregates) {
        for (const member of view.membersOf(aggregate)) yield view.provider(member)?.rootUuid ?? member;
      }
    }
  }
}

const NOBODY: ReadonlySet<string> = new Set();
