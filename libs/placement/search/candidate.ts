import type { Provider } from '../../domain/provider';
import type { PlacementView } from '../port/placement-view';
import { hasAnyOf, hasEach, isAsDescribedInTree, offers } from './fit';
import { isSpread, type Plan } from './plan';
import type { Candidate } from './query';
import type { Chosen } from './rules';
import type { TreeProblem } from './tree-problem';

/** The candidate that an assignment stands for. */
export function candidateOf({ plan, rootUuid, providers, variables }: TreeProblem, chosen: Chosen): Candidate {
  const allocations: Record<string, Record<string, number>> = {};
  // A map until the end: clients name groups as they like, `__proto__` too.
  const mappings = new Map<string, string[]>(plan.query.groups.map(({ suffix }) => [suffix, []]));
  variables.forEach(({ choice }, variable) => {
    const uuid = providers[chosen[variable] ?? -1]?.uuid ?? '';
    const mapped = mappings.get(choice.group.suffix);
    if (mapped?.includes(uuid) === false) mapped.push(uuid);
    for (const { resourceClass, amount } of choice.demands) {
      allocations[uuid] ??= {};
      const resources = allocations[uuid];
      resources[resourceClass] = (resources[resourceClass] ?? 0) + amount;
    }
  });
  return { rootUuid, allocations, mappings: Object.fromEntries(mappings) };
}

/** True if only sharing providers meet it, so that another tree may have the same candidate. */
export function isShared(plan: Plan, { mappings }: Candidate): boolean {
  const sharing = plan.view.sharingProviders();
  return sharing.size > 0 && Object.values(mappings).every((uuids) => uuids.every((uuid) => sharing.has(uuid)));
}

/** Equal for candidates that differ only in the tree that they are for. */
export function keyOf({ allocations, mappings }: Candidate): string {
  const byName = (entries: [string, unknown][]) => entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([
    byName(Object.entries(allocations).map(([uuid, resources]) => [uuid, byName(Object.entries(resources))])),
    byName(Object.entries(mappings).map(([suffix, uuids]) => [suffix, [...uuids].sort()])),
  ]);
}

/**
 * True for a tree that needs no search: one provider, one group without a suffix, and no sharing provider for its classes.
 * Most fleets and most requests are so.
 */
export function isPlain({ view, choices }: Plan, rootUuid: string): boolean {
  return (
    choices.every(({ group, sharers }) => isSpread(group) && sharers.length === 0) && view.children(rootUuid).size === 0
  );
}

/** The only candidate that a plain tree can have: the same as the search finds, sooner. */
export function plainCandidate({ view, query, choices, spreadGroup }: Plan, root: Provider): Candidate | undefined {
  if (spreadGroup === undefined) return undefined;
  for (const { demands, inTreeRoot } of choices) {
    if (inTreeRoot !== undefined && inTreeRoot !== root.uuid) return undefined;
    if (!offers(view, root, demands)) return undefined;
  }
  const isFit =
    isAsDescribedInTree(root, root, spreadGroup) &&
    hasEach(root.traits, spreadGroup.requiredTraits) &&
    query.rootRequiredTraits.every((trait) => root.traits.includes(trait)) &&
    !hasAnyOf(root.traits, query.rootForbiddenTraits);
  if (!isFit) return undefined;
  return { rootUuid: root.uuid, allocations: { [root.uuid]: spreadGroup.resources }, mappings: { '': [root.uuid] } };
}

/** The roots of the trees that candidates take from, each once. */
export function rootsOf(view: PlacementView, candidates: readonly Candidate[]): string[] {
  const roots = new Set<string>();
  const hasSharing = view.sharingProviders().size > 0;
  for (const { rootUuid, allocations } of candidates) {
    if (!hasSharing) roots.add(rootUuid);
    else {
      for (const uuid of Object.keys(allocations)) {
        const root = view.provider(uuid)?.rootUuid;
        if (root !== undefined) roots.add(root);
      }
    }
  }
  return [...roots];
}
