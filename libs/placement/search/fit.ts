import { type Resources, refusalOf } from '../../domain/inventory';
import { isNodeClass } from '../../domain/nodes/node';
import type { Provider } from '../../domain/provider';
import type { RequestGroup } from '../../domain/request-spec';
import type { ProviderForest } from '../port/placement-view';

/** An amount of one class that must come from one provider. `classIndex` is the class's place in {@link Plan.classes}. */
export interface Demand {
  readonly resourceClass: string;
  readonly classIndex: number;
  readonly amount: number;
}

/** True if some of `wanted` are in `names`. */
export function hasAnyOf(names: readonly string[], wanted: readonly string[]): boolean {
  return wanted.some((name) => names.includes(name));
}

/** True if at least one of each list is in `names`. */
export function hasEach(names: readonly string[], lists: readonly (readonly string[])[]): boolean {
  return lists.every((list) => hasAnyOf(names, list));
}

/** True if the provider has inventory for each of the demands, and capacity for it now. */
export function offers(view: ProviderForest, provider: Provider, demands: readonly Demand[]): boolean {
  const used = demands.length === 0 ? {} : view.usage(provider.uuid);
  if (isTakenNode(provider, used)) return false;
  return demands.every(({ resourceClass, amount }) => {
    const inventory = provider.inventories[resourceClass];
    return inventory !== undefined && refusalOf(inventory, used[resourceClass] ?? 0, amount) === undefined;
  });
}

/** A node of bare metal is one consumer's, whatever else it shows of itself: a claim of any of it would be refused. */
function isTakenNode({ inventories }: Provider, used: Resources): boolean {
  const isUsed = Object.values(used).some((amount) => amount > 0);
  return isUsed && Object.keys(inventories).some(isNodeClass);
}

/** True if the provider by itself has the traits and aggregates that the group wants. */
export function isAsDescribed(provider: Provider, group: RequestGroup): boolean {
  return (
    hasEach(provider.traits, group.requiredTraits) &&
    !hasAnyOf(provider.traits, group.forbiddenTraits) &&
    hasEach(provider.aggregates, group.memberOf) &&
    !hasAnyOf(provider.aggregates, group.forbiddenAggregates)
  );
}

/**
 * The same for a provider that is one of several which meet the group together: its traits need not be all that is
 * wanted, and the aggregates of its tree's root count as its own.
 */
export function isAsDescribedInTree(provider: Provider, root: Provider, group: RequestGroup): boolean {
  return (
    !hasAnyOf(provider.traits, group.forbiddenTraits) &&
    (hasEach(provider.aggregates, group.memberOf) || hasEach(root.aggregates, group.memberOf)) &&
    !hasAnyOf(provider.aggregates, group.forbiddenAggregates) &&
    !hasAnyOf(root.aggregates, group.forbiddenAggregates)
  );
}
