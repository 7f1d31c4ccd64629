import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/view';

/** Which trees use which sharing providers, to find the hosts that a change of a sharing provider concerns. */
export class SharedUse {
  private readonly users = new Map<string, Set<string>>();
  private readonly used = new Map<string, readonly string[]>();

  /** The sharing providers that a tree can use now. */
  set(rootUuid: string, sharing: readonly Provider[]): void {
    for (const uuid of this.used.get(rootUuid) ?? []) this.users.get(uuid)?.delete(rootUuid);
    if (sharing.length === 0) {
      this.used.delete(rootUuid);
      return;
    }
    this.used.set(
      rootUuid,
      sharing.map((provider) => provider.uuid),
    );
    for (const { uuid } of sharing) {
      const users = this.users.get(uuid) ?? new Set();
      this.users.set(uuid, users.add(rootUuid));
    }
  }

  /** Roots of the trees that use a provider shared with them. */
  usersOf(providerUuid: string): ReadonlySet<string> {
    return this.users.get(providerUuid) ?? NOBODY;
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
