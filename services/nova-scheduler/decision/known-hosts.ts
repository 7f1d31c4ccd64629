import { capacityOf } from '#libs/domain/inventory';
import { KeptByTree } from '#libs/placement/index/kept-by-tree';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { NovaAggregate, NovaFacts, NovaNode, NovaService } from '../facts/nova-facts';

/** Classes whose free amounts weigh. */
export type WeighedClass = 'VCPU' | 'MEMORY_MB' | 'DISK_GB';
/** Amounts of a root provider that nobody holds. */
export type FreeAmounts = Readonly<Record<WeighedClass, number>>;

/** A compute node with what all decisions need of it. */
export interface KnownHost {
  readonly node: NovaNode;
  readonly service: NovaService | undefined;
  readonly aggregates: readonly NovaAggregate[];
  readonly free: FreeAmounts;
}

/**
 * Nodes as decisions see them, by root provider.
 *
 * The naive way asks for each host's service, aggregates and free amounts where filters and weighers need them: a dozen lookups by
 * name for each host of each decision, which are most of its time on thousands of hosts. So they are put together once, until the
 * tree or a fact changes: a claim changes one tree, and facts are read every few seconds.
 */
export class KnownHosts {
  readonly #kept: KeptByTree<KnownHost | undefined>;
  #revision = -1;

  constructor(
    view: PlacementView,
    private readonly facts: NovaFacts,
  ) {
    this.#kept = new KeptByTree(view, (root) => {
      const node = facts.node(root);
      if (node === undefined) return undefined;
      const { host } = node;
      return {
        node,
        service: facts.service(host),
        aggregates: facts.aggregatesOf(host),
        free: freeAmountsOf(view, root),
      };
    });
  }

  /** Undefined for a root that is no compute node that Nova's API told of. */
  of(rootUuid: string): KnownHost | undefined {
    if (this.#revision !== this.facts.revision) {
      this.#kept.clear();
      this.#revision = this.facts.revision;
    }
    return this.#kept.of(rootUuid);
  }

  close(): void {
    this.#kept.close();
  }
}

function freeAmountsOf(view: PlacementView, rootUuid: string): FreeAmounts {
  const inventories = view.provider(rootUuid)?.inventories;
  const used = view.usage(rootUuid);
  const free = (name: WeighedClass) => {
    const inventory = inventories?.[name];
    return inventory === undefined ? 0 : capacityOf(inventory) - (used[name] ?? 0);
  };
  return { VCPU: free('VCPU'), MEMORY_MB: free('MEMORY_MB'), DISK_GB: free('DISK_GB') };
}
