import { capacityOf, refusalOf } from '../../domain/inventory';
import type { Provider } from '../../domain/provider';
import type { RequestGroup } from '../../domain/request-spec';
import type { PlacementView } from '../../placement/port/placement-view';
import type { Candidate, CandidateQuery, Nearness } from '../../placement/search/query';

/**
 * The candidates of a query by definition: the product of all ways to meet each group, without those that break a rule.
 * Slow and plain; the search must find the same.
 */
export function candidatesByDefinition(view: PlacementView, query: CandidateQuery, nestedAware = true): Candidate[] {
  const roots = [...view.providers()].filter(({ parentUuid }) => parentUuid === undefined);
  return roots.filter((root) => isAnchor(root, query)).flatMap((root) => ofRoot(view, query, root, nestedAware));
}

/** One way to meet one group: the provider of each class. */
type Way = readonly { readonly provider: Provider; readonly resourceClass: string; readonly amount: number }[];

interface Part {
  readonly group: RequestGroup;
  readonly providers: readonly Provider[];
  readonly way: Way;
}

function isAnchor(root: Provider, query: CandidateQuery): boolean {
  return (
    query.rootRequiredTraits.every((trait) => root.traits.includes(trait)) &&
    !query.rootForbiddenTraits.some((trait) => root.traits.includes(trait))
  );
}

function ofRoot(view: PlacementView, query: CandidateQuery, root: Provider, nestedAware: boolean): Candidate[] {
  const tree = view.tree(root.uuid);
  const aggregates = new Set(tree.flatMap((provider) => provider.aggregates));
  const sharers = [...view.providers()].filter(
    (provider) =>
      provider.rootUuid !== root.uuid &&
      view.sharingProviders().has(provider.uuid) &&
      provider.aggregates.some((aggregate) => aggregates.has(aggregate)),
  );
  const ways = query.groups.map((group) =>
    group.suffix === '' ? spreadWays(view, group, root, tree, sharers) : singleWays(view, group, [...tree, ...sharers]),
  );
  return product(ways)
    .filter((parts) => keepsRules(view, query, parts, nestedAware))
    .map((parts) => candidateOf(root, parts));
}

function singleWays(view: PlacementView, group: RequestGroup, providers: readonly Provider[]): Part[] {
  const wanted = Object.entries(group.resources);
  return providers
    .filter(
      (provider) =>
        inTree(view, group, provider) &&
        wanted.every(([resourceClass, amount]) => gives(view, provider, resourceClass, amount)) &&
        covers(provider.traits, group.requiredTraits) &&
        !overlaps(provider.traits, group.forbiddenTraits) &&
        covers(provider.aggregates, group.memberOf) &&
        !overlaps(provider.aggregates, group.forbiddenAggregates),
    )
    .map((provider) => ({
      group,
      providers: [provider],
      way: wanted.map(([resourceClass, amount]) => ({ provider, resourceClass, amount })),
    }));
}

function spreadWays(
  view: PlacementView,
  group: RequestGroup,
  root: Provider,
  tree: readonly Provider[],
  sharers: readonly Provider[],
): Part[] {
  const isAllowed = (provider: Provider) =>
    !overlaps(provider.traits, group.forbiddenTraits) &&
    !overlaps([...provider.aggregates, ...root.aggregates], group.forbiddenAggregates);
  const own = tree.filter(
    (provider) => covers(provider.aggregates, group.memberOf) || covers(root.aggregates, group.memberOf),
  );
  const others =
    group.inTree === undefined ? sharers.filter(({ aggregates }) => covers(aggregates, group.memberOf)) : [];
  const possible = [...own, ...others].filter((provider) => isAllowed(provider) && inTree(view, group, provider));
  const perClass = Object.entries(group.resources).map(([resourceClass, amount]) =>
    possible
      .filter((provider) => gives(view, provider, resourceClass, amount))
      .map((provider) => ({ provider, resourceClass, amount })),
  );
  return product(perClass)
    .map((way) => ({ group, way, providers: [...new Set(way.map(({ provider }) => provider))] }))
    .filter(({ providers }) => {
      const traits = providers.flatMap((provider) => provider.traits);
      return covers(traits, group.requiredTraits);
    });
}

function keepsRules(view: PlacementView, query: CandidateQuery, parts: readonly Part[], nestedAware: boolean): boolean {
  const single = parts.filter(({ group }) => group.suffix !== '').flatMap(({ providers }) => providers);
  if (query.groupPolicy === 'isolate' && new Set(single).size < single.length) return false;
  for (const suffixes of query.sameSubtrees) {
    const members = parts.filter(({ group }) => suffixes.includes(group.suffix)).flatMap(({ providers }) => providers);
    if (!members.some((top) => members.every((member) => isUnder(view, member, top)))) return false;
  }
  if (query.near !== undefined && !isNear(view, query.near, parts)) return false;
  const ways = parts.flatMap(({ way }) => way);
  const users = [...new Set(ways.map(({ provider }) => provider))];
  if (!nestedAware && new Set(users.map(({ rootUuid }) => rootUuid)).size < users.length) return false;
  return ways.every(({ provider, resourceClass }) => {
    const same = ways.filter((other) => other.provider === provider && other.resourceClass === resourceClass);
    const total = same.reduce((sum, { amount }) => sum + amount, 0);
    const inventory = provider.inventories[resourceClass];
    const used = view.usage(provider.uuid)[resourceClass] ?? 0;
    return inventory !== undefined && used + total <= capacityOf(inventory) && total <= inventory.maxUnit;
  });
}

function isNear(view: PlacementView, { groups, to, mayBeAway }: Nearness, parts: readonly Part[]): boolean {
  const of = (suffixes: readonly string[]) =>
    parts.filter(({ group }) => suffixes.includes(group.suffix)).flatMap(({ providers }) => providers);
  const isAway = (provider: Provider) =>
    ![...view.providers()].some((top) => top.traits.includes('HW_NUMA_ROOT') && isUnder(view, provider, top));
  return of(groups).every(
    (device) => of(to).some((node) => isUnder(view, device, node)) || (mayBeAway && isAway(device)),
  );
}

function candidateOf(root: Provider, parts: readonly Part[]): Candidate {
  const allocations: Record<string, Record<string, number>> = {};
  for (const { provider, resourceClass, amount } of parts.flatMap(({ way }) => way)) {
    const resources = (allocations[provider.uuid] ??= {});
    resources[resourceClass] = (resources[resourceClass] ?? 0) + amount;
  }
  const mappings = parts.map(({ group, providers }) => [group.suffix, providers.map(({ uuid }) => uuid)] as const);
  return { rootUuid: root.uuid, allocations, mappings: Object.fromEntries(mappings) };
}

function inTree(view: PlacementView, { inTree: wanted }: RequestGroup, provider: Provider): boolean {
  return wanted === undefined || view.provider(wanted)?.rootUuid === provider.rootUuid;
}

function gives(view: PlacementView, provider: Provider, resourceClass: string, amount: number): boolean {
  const inventory = provider.inventories[resourceClass];
  const used = view.usage(provider.uuid)[resourceClass] ?? 0;
  return inventory !== undefined && refusalOf(inventory, used, amount) === undefined;
}

function isUnder(view: PlacementView, provider: Provider, top: Provider): boolean {
  if (provider.uuid === top.uuid) return true;
  const parent = provider.parentUuid === undefined ? undefined : view.provider(provider.parentUuid);
  return parent !== undefined && isUnder(view, parent, top);
}

function covers(names: readonly string[], wanted: readonly (readonly string[])[]): boolean {
  return wanted.every((anyOf) => overlaps(names, anyOf));
}

function overlaps(names: readonly string[], others: readonly string[]): boolean {
  return names.some((name) => others.includes(name));
}

function product<T>(lists: readonly (readonly T[])[]): T[][] {
  return lists.reduce<T[][]>((tuples, list) => tuples.flatMap((tuple) => list.map((item) => [...tuple, item])), [[]]);
}
