import type { Allocations } from '#libs/domain/consumer';
import { addResources, capacityOf, type Inventories, type Inventory, type Resources } from '#libs/domain/inventory';
import { type Provider, SHARING_TRAIT } from '#libs/domain/provider';
import type { ProviderForest } from '#libs/placement/port/placement-view';

/** A host of one provider. */
interface FlatHost {
  readonly root: Provider;
  readonly inventories: Inventories;
  readonly free: Resources;
}

/**
 * The providers behind one host that has more than its root: its tree and those that share with it, with what is in use
 * of each, claims on their way included. The candidate search runs on it. Immutable.
 */
export class HostProviders implements ProviderForest {
  /** The root alone, of a flat host. */
  static ofRoot({ root, inventories, free }: FlatHost): HostProviders {
    const used = Object.entries(inventories).map(([name, one]) => [name, capacityOf(one) - (free[name] ?? 0)] as const);
    return new HostProviders([root], [], [], new Map([[root.uuid, Object.fromEntries(used)]]));
  }

  /** The tree, root first, then those that share with it. */
  readonly all: readonly Provider[];

  /**
   * @param others  the rest of the trees of `sharing`, which requests may name
   * @param used  amounts in use, by uuid, of the tree's providers and of those that share
   */
  constructor(
    private readonly ownTree: readonly Provider[],
    readonly sharing: readonly Provider[],
    private readonly others: readonly Provider[],
    private readonly used: ReadonlyMap<string, Resources>,
  ) {
    this.all = sharing.length > 0 ? [...ownTree, ...sharing] : ownTree;
  }

  /** The same with more in use. */
  withUse(allocations: Allocations): HostProviders {
    const used = new Map(this.used);
    for (const [uuid, resources] of Object.entries(allocations)) {
      const before = used.get(uuid);
      if (before !== undefined) used.set(uuid, addResources(before, resources));
    }
    return new HostProviders(this.ownTree, this.sharing, this.others, used);
  }

  /** Total and free amounts of all providers, by class; over-commitment on one provider is not taken from another. */
  amounts(): {
    readonly inventories: Inventories;
    readonly free: Resources;
    readonly freeAtOnce: Resources;
  } {
    const inventories: Record<string, Inventory> = {};
    const free: Record<string, number> = {};
    const freeAtOnce: Record<string, number> = {};
    for (const provider of this.all) {
      const used = this.usage(provider.uuid);
      for (const [name, inventory] of Object.entries(provider.inventories)) {
        const left = capacityOf(inventory) - (used[name] ?? 0);
        inventories[name] = inventories[name] ? merged(inventories[name], inventory) : inventory;
        free[name] = (free[name] ?? 0) + Math.max(0, left);
        freeAtOnce[name] = Math.max(freeAtOnce[name] ?? left, left);
      }
    }
    return { inventories, free, freeAtOnce };
  }

  /** True if both have the same providers with the same usage. */
  isSame(other: HostProviders): boolean {
    return (
      this.all.length === other.all.length &&
      this.sharing.length === other.sharing.length &&
      this.all.every((provider, i) => isSameProvider(provider, other.all[i] as Provider)) &&
      this.all.every(({ uuid }) => isSameAmounts(this.usage(uuid), other.usage(uuid)))
    );
  }

  provider(uuid: string): Provider | undefined {
    return this.all.find((one) => one.uuid === uuid) ?? this.others.find((one) => one.uuid === uuid);
  }

  tree(rootUuid: string): readonly Provider[] {
    return this.ownTree[0]?.uuid === rootUuid ? this.ownTree : [];
  }

  children(providerUuid: string): ReadonlySet<string> {
    const children = this.ownTree.filter(({ parentUuid }) => parentUuid === providerUuid);
    return new Set(children.map(({ uuid }) => uuid));
  }

  usage(providerUuid: string): Resources {
    return this.used.get(providerUuid) ?? {};
  }

  sharingProviders(): ReadonlySet<string> {
    const sharing = this.all.filter(({ traits }) => traits.includes(SHARING_TRAIT));
    return new Set(sharing.map(({ uuid }) => uuid));
  }
}

/** One more provider with the class: the sum of both, the widest units of both, and any step. */
function merged(a: Inventory, b: Inventory): Inventory {
  return {
    total: capacityOf(a) + capacityOf(b),
    reserved: 0,
    allocationRatio: 1,
    minUnit: Math.min(a.minUnit, b.minUnit),
    maxUnit: Math.max(a.maxUnit, b.maxUnit),
    stepSize: 1,
  };
}

/** True if two rows of a provider are equal but for the generation, which rises with each claim. */
export function isSameProvider(a: Provider, b: Provider): boolean {
  return (
    a.uuid === b.uuid &&
    a.parentUuid === b.parentUuid &&
    a.inventories === b.inventories &&
    a.traits === b.traits &&
    a.aggregates === b.aggregates &&
    a.device === b.device
  );
}

/** True if two amounts are equal in every class. */
export function isSameAmounts(a: Resources, b: Resources): boolean {
  for (const name in a) if (a[name] !== b[name]) return false;
  for (const name in b) if (!(name in a)) return false;
  return true;
}
