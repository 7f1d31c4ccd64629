import { availableIn } from '../../domain/inventory';
import type { Provider } from '../../domain/provider';
import { type Random, randomInt } from '../../domain/random';
import type { ProviderForest } from '../port/placement-view';
import { hasAnyOf, isAsDescribed, isAsDescribedInTree, offers } from './fit';
import { type Choice, isSpread, type Plan } from './plan';

/**
 * The search in one tree as an assignment problem: each variable (a choice of the plan) takes a provider of its domain.
 * Providers are known by their place in `providers`.
 */
export interface TreeProblem {
  readonly plan: Plan;
  readonly rootUuid: string;
  /** The tree, then the providers that share with it. */
  readonly providers: readonly Provider[];
  /** Fewest possible providers first, symmetric groups side by side. */
  readonly variables: readonly Variable[];
  /** Available amount of class c at provider p, at `p * plan.classes.length + c`. */
  readonly available: readonly number[];
}

export interface Variable {
  readonly choice: Choice;
  /** Ascending. */
  readonly domain: readonly number[];
}

/** The problem of a tree; undefined when the providers, each looked at by itself, show that it has no answer. */
export function problemOf(plan: Plan, rootUuid: string, random?: Random): TreeProblem | undefined {
  const tree = plan.view.tree(rootUuid);
  const root = tree[0];
  if (root === undefined || !isRootAllowed(plan, root)) return undefined;
  const providers = [...tree, ...sharersWith(plan, tree)];
  if (random !== undefined) shuffle(providers, random);
  const variables: Variable[] = [];
  for (const choice of plan.choices) {
    const domain = domainOf(plan.view, choice, root, providers);
    if (domain.length === 0) return undefined;
    variables.push({ choice, domain });
  }
  variables.sort((a, b) => a.domain.length - b.domain.length || (a.choice.symmetryKey < b.choice.symmetryKey ? -1 : 1));
  return { plan, rootUuid, providers, variables, available: availableAt(plan, providers) };
}

/**
 * The symmetry class of each provider, as a number: two have the same exactly when swapping them changes nothing for the
 * query. These are devices (no children) of the same parent with the same amounts available, that can meet the same groups
 * and have the same wanted traits.
 */
export function symmetryClasses({ plan, providers, variables, available }: TreeProblem): number[] {
  const classCount = plan.classes.length;
  const wanted = plan.spreadGroup?.requiredTraits ?? [];
  const numbers = new Map<string, number>();
  const domains = variables.map(({ domain }) => new Set(domain));
  return providers.map((provider, place) => {
    const isDevice = provider.parentUuid !== undefined && plan.view.children(provider.uuid).size === 0;
    const key = isDevice
      ? JSON.stringify([
          provider.parentUuid,
          domains.map((domain) => domain.has(place)),
          wanted.map((anyOf) => hasAnyOf(provider.traits, anyOf)),
          available.slice(place * classCount, (place + 1) * classCount),
        ])
      : provider.uuid;
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  });
}

function isRootAllowed({ query, spreadGroup }: Plan, root: Provider): boolean {
  return (
    query.rootRequiredTraits.every((trait) => root.traits.includes(trait)) &&
    !hasAnyOf(root.traits, query.rootForbiddenTraits) &&
    !(spreadGroup !== undefined && hasAnyOf(root.aggregates, spreadGroup.forbiddenAggregates))
  );
}

/** Providers of other trees that share an aggregate with any provider of this one. */
function sharersWith({ choices }: Plan, tree: readonly Provider[]): Provider[] {
  const sharers = new Set<Provider>();
  for (const choice of choices) {
    for (const sharer of choice.sharers) {
      if (sharer.rootUuid === tree[0]?.rootUuid) continue;
      if (tree.some((provider) => hasAnyOf(provider.aggregates, sharer.aggregates))) sharers.add(sharer);
    }
  }
  return [...sharers];
}

function domainOf(view: ProviderForest, choice: Choice, root: Provider, providers: readonly Provider[]): number[] {
  const domain: number[] = [];
  providers.forEach((provider, index) => {
    const own = provider.rootUuid === root.rootUuid;
    if (own ? isPossible(view, choice, root, provider) : choice.sharers.includes(provider)) domain.push(index);
  });
  return domain;
}

function isPossible(view: ProviderForest, choice: Choice, root: Provider, provider: Provider): boolean {
  if (choice.inTreeRoot !== undefined && choice.inTreeRoot !== provider.rootUuid) return false;
  if (!offers(view, provider, choice.demands)) return false;
  return isSpread(choice.group)
    ? isAsDescribedInTree(provider, root, choice.group)
    : isAsDescribed(provider, choice.group);
}

function availableAt({ view, classes }: Plan, providers: readonly Provider[]): number[] {
  const available: number[] = [];
  for (const { uuid, inventories } of providers) {
    const used = view.usage(uuid);
    for (const resourceClass of classes) {
      const inventory = inventories[resourceClass];
      available.push(inventory === undefined ? 0 : availableIn(inventory, used[resourceClass] ?? 0));
    }
  }
  return available;
}

/** Fisher and Yates. */
function shuffle(providers: Provider[], random: Random): void {
  for (let i = providers.length - 1; i > 0; i--) {
    const j = randomInt(random, i + 1);
    [providers[i], providers[j]] = [providers[j] as Provider, providers[i] as Provider];
  }
}
