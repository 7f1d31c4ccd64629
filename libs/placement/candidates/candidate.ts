import type { Plan } from './plan';
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

/** Whether only sharing providers meet it, so that another tree may have the very same candidate. */
export function isShared(plan: Plan, { mappings }: Candidate): boolean {
  const sharing = plan.view.sharingProviders();
  return sharing.size > 0 && Object.values(mappings).every((uuids) => uuids.every((uuid) => sharing.has(uuid)));
}

/** The same text for two candidates that are the same but for the tree they are for. */
export function keyOf({ allocations, mappings }: Candidate): string {
  const byName = (entries: [string, unknown][]) => entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([
    byName(Object.entries(allocations).map(([uuid, resources]) => [uuid, byName(Object.entries(resources))])),
    byName(Object.entries(mappings).map(([suffix, uuids]) => [suffix, [...uuids].sort()])),
  ]);
}
