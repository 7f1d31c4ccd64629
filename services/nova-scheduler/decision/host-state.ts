import { capacityOf } from '#libs/domain/inventory';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Candidate } from '#libs/placement/search/query';
import type { NovaAggregate, NovaFacts, NovaNode, NovaService } from '../facts/nova-facts';
import type { UsageOverlay } from './usage-overlay';

/** A compute node as filters and weighers see it in one decision. */
export interface HostState {
  readonly node: NovaNode;
  readonly service: NovaService | undefined;
  readonly aggregates: readonly NovaAggregate[];
  /** Traits of the root provider. */
  readonly traits: readonly string[];
  /** Ways to claim there, best first; none where nothing is to be claimed. */
  readonly candidates: readonly Candidate[];
  /** An amount of the root provider that is not taken, of VCPU, MEMORY_MB or DISK_GB. */
  free(resourceClass: string): number;
  readonly instanceCount: number;
  /** Instances in the middle of an operation, those placed before in this decision among them. */
  readonly ioOps: number;
}

/** What hosts are read from. */
export interface HostSources {
  readonly view: PlacementView;
  readonly facts: NovaFacts;
  readonly taken: UsageOverlay;
  /** Roots of hosts that got an instance in this decision, by how many. */
  readonly placed: ReadonlyMap<string, number>;
}

export function hostState(node: NovaNode, candidates: readonly Candidate[], sources: HostSources): HostState {
  const { view, facts, taken, placed } = sources;
  const root = view.provider(node.uuid);
  const used = view.usage(node.uuid);
  return {
    node,
    service: facts.service(node.host),
    aggregates: facts.aggregatesOf(node.host),
    traits: root?.traits ?? [],
    candidates,
    free(resourceClass) {
      const inventory = root?.inventories[resourceClass];
      if (inventory === undefined) return 0;
      return capacityOf(inventory) - (used[resourceClass] ?? 0) - taken.of(node.uuid, resourceClass);
    },
    get instanceCount() {
      const here = Math.max(facts.instancesOn(node.host).size, view.consumersOn(node.uuid).size);
      return here + (placed.get(node.uuid) ?? 0);
    },
    get ioOps() {
      return node.ioOps + (placed.get(node.uuid) ?? 0);
    },
  };
}

/** The first way to claim on a host that fits beside what is taken. */
export function fittingCandidate(
  host: HostState,
  { view, taken }: Pick<HostSources, 'view' | 'taken'>,
): Candidate | undefined {
  return host.candidates.find(({ allocations }) => taken.fits(allocations, view));
}
