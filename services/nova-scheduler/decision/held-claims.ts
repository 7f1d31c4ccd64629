import type { Allocations, Consumer } from '#libs/domain/consumer';
import { addResources, type Resources } from '#libs/domain/inventory';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { CandidateQuery } from '#libs/placement/search/query';
import type { NovaFacts } from '../facts/nova-facts';
import { namedHosts } from '../filters/named-hosts';
import type { NovaRequest } from '../request/nova-request';
import type { Pick } from './place-instances';

/**
 * Instances that hold, on a host that the request may use, just what it asks for: the claim of a call that was answered too late, or not at
 * all. They keep it. What an evacuated instance holds on its dead host is not that: the request ignores the host.
 */
export function heldClaims(
  request: NovaRequest,
  instanceUuids: readonly string[],
  queries: readonly CandidateQuery[],
  { view, facts }: { readonly view: PlacementView; readonly facts: NovaFacts },
): Map<string, Pick> {
  const wanted = queries.map(totalOf);
  const { check } = namedHosts(request);
  const held = new Map<string, Pick>();
  for (const uuid of instanceUuids) {
    const consumer = view.consumer(uuid);
    if (consumer === undefined || consumer.owner !== 'api') continue;
    for (const [root, allocations] of byRoot(consumer, view)) {
      const node = facts.node(root);
      if (node === undefined || !wanted.some((amounts) => isEqual(sumOf(allocations), amounts))) continue;
      if (check({ node }) !== undefined) continue;
      held.set(uuid, { node, candidate: { rootUuid: root, allocations, mappings: consumer.mappings } });
    }
  }
  return held;
}

function byRoot({ allocations }: Consumer, view: PlacementView): Map<string, Allocations> {
  const trees = new Map<string, Record<string, Resources>>();
  for (const [uuid, resources] of Object.entries(allocations)) {
    const root = view.provider(uuid)?.rootUuid;
    if (root === undefined) continue;
    const tree = trees.get(root) ?? {};
    trees.set(root, tree);
    tree[uuid] = resources;
  }
  return trees;
}

function totalOf({ groups }: CandidateQuery): Resources {
  return groups.reduce((sum, { resources }) => addResources(sum, resources), {} as Resources);
}

function sumOf(allocations: Allocations): Resources {
  return Object.values(allocations).reduce(addResources, {});
}

function isEqual(a: Resources, b: Resources): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
