import { capacityOf } from '#libs/domain/inventory';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Candidate } from '#libs/placement/search/query';
import type { NovaAggregate, NovaFacts, NovaNode, NovaService } from '../facts/nova-facts';
import type { UsageOverlay } from './usage-overlay';

/** Classes whose free amounts weigh. */
export type WeighedClass = 'VCPU' | 'MEMORY_MB' | 'DISK_GB';
/** Amounts of a root provider that nobody holds. */
export type FreeAmounts = Readonly<Record<WeighedClass, number>>;

/** Sources of a host's state. */
export interface HostSources {
  readonly view: PlacementView;
  readonly facts: NovaFacts;
  /** Free amounts of a root provider, kept until its tree changes. */
  readonly freeAmounts: (rootUuid: string) => FreeAmounts;
  readonly taken: UsageOverlay;
  /** Roots of hosts that got an instance in this decision, by how many. */
  readonly placed: ReadonlyMap<string, number>;
}

/** A compute node as filters and weighers see it in one decision. */
export class HostState {
  constructor(
    readonly node: NovaNode,
    /** Ways to claim there, best first; none where nothing is to be claimed. */
    readonly candidates: readonly Candidate[],
    private readonly sources: HostSources,
  ) {}

  get service(): NovaService | undefined {
    return this.sources.facts.service(this.node.host);
  }
  get aggregates(): readonly NovaAggregate[] {
    return this.sources.facts.aggregatesOf(this.node.host);
  }
  /** Traits of the root provider. */
  get traits(): readonly string[] {
    return this.sources.view.provider(this.node.uuid)?.traits ?? [];
  }

  /** An amount of the root provider that is not taken. */
  free(resourceClass: WeighedClass): number {
    const { freeAmounts, taken } = this.sources;
    const free = freeAmounts(this.node.uuid)[resourceClass];
    return taken.isEmpty ? free : free - taken.of(this.node.uuid, resourceClass);
  }

  get instanceCount(): number {
    const { facts, view } = this.sources;
    const { uuid, host } = this.node;
    return Math.max(facts.instancesOn(host).size, view.consumersOn(uuid).size) + this.#placedHere;
  }

  /** Instances in the middle of an operation, those placed before in this decision among them. */
  get ioOps(): number {
    return this.node.ioOps + this.#placedHere;
  }

  get #placedHere(): number {
    const { placed } = this.sources;
    return placed.size === 0 ? 0 : (placed.get(this.node.uuid) ?? 0);
  }

  /** The first way to claim that fits beside what is taken. */
  get fittingCandidate(): Candidate | undefined {
    const { taken, view } = this.sources;
    return this.candidates.find(({ allocations }) => taken.fits(allocations, view));
  }
}

/** Free amounts of a root provider in a view. */
export function freeAmountsOf(view: PlacementView, rootUuid: string): FreeAmounts {
  const inventories = view.provider(rootUuid)?.inventories;
  const used = view.usage(rootUuid);
  const free = (name: WeighedClass) => {
    const inventory = inventories?.[name];
    return inventory === undefined ? 0 : capacityOf(inventory) - (used[name] ?? 0);
  };
  return { VCPU: free('VCPU'), MEMORY_MB: free('MEMORY_MB'), DISK_GB: free('DISK_GB') };
}
