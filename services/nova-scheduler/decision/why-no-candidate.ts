import { refusalOf } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { CandidateQuery } from '#libs/placement/search/query';
import type { NovaNode } from '../facts/nova-facts';

/** Why placement has no allocation candidate on a node: the first need that its tree by itself can not meet. */
export function whyNoCandidate(
  { groups, rootForbiddenTraits, ...query }: CandidateQuery,
  node: NovaNode,
  view: PlacementView,
): string {
  const tree = view.tree(node.uuid);
  const root = tree[0];
  if (root === undefined) return 'it has no resource provider';
  const forbidden = rootForbiddenTraits.find((trait) => root.traits.includes(trait));
  if (forbidden === 'COMPUTE_STATUS_DISABLED') return 'its nova-compute is disabled';
  if (forbidden !== undefined) return `trait ${forbidden} is forbidden`;
  const missing = query.rootRequiredTraits.find((trait) => !root.traits.includes(trait));
  if (missing !== undefined) return `trait ${missing} is missing`;
  for (const group of groups) {
    if (group.inTree !== undefined && group.inTree !== node.uuid && group.suffix === '')
      return 'another host is requested';
    const inAll = group.memberOf.every((anyOf) =>
      tree.some(({ aggregates }) => anyOf.some((one) => aggregates.includes(one))),
    );
    if (!inAll && group.suffix === '') return 'it is not in the aggregates asked for (zone, tenant, destination)';
    if (group.forbiddenAggregates.some((one) => root.aggregates.includes(one))) return 'it is in a forbidden aggregate';
    for (const anyOf of group.requiredTraits) {
      if (!tree.some(({ traits }) => anyOf.some((trait) => traits.includes(trait))))
        return `trait ${anyOf.join(' or ')} is missing`;
    }
    const present = group.forbiddenTraits.find((trait) => root.traits.includes(trait));
    if (present !== undefined && group.suffix === '') return `trait ${present} is forbidden`;
    for (const [name, amount] of Object.entries(group.resources)) {
      const why = whyNot(tree, name, amount, view);
      if (why !== undefined) return why;
    }
  }
  return 'no combination of its providers meets all request groups';
}

function whyNot(tree: readonly Provider[], name: string, amount: number, view: PlacementView): string | undefined {
  let why = `it has no ${name}`;
  for (const { uuid, inventories } of tree) {
    const inventory = inventories[name];
    if (inventory === undefined) continue;
    const refusal = refusalOf(inventory, view.usage(uuid)[name] ?? 0, amount);
    if (refusal === undefined) return undefined;
    why =
      refusal === 'capacity' ? `too little ${name} is free` : `${name} can not be taken in such an amount (${refusal})`;
  }
  return sharesIt(name, view) ? undefined : why;
}

function sharesIt(name: string, view: PlacementView): boolean {
  return [...view.sharingProviders()].some((uuid) => view.provider(uuid)?.inventories[name] !== undefined);
}
