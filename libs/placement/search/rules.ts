import { NUMA_ROOT } from '../../domain/extra-specs/topology';
import type { Provider } from '../../domain/provider';
import type { ProviderForest } from '../port/placement-view';
import { hasAnyOf } from './fit';
import { isSpread } from './plan';
import type { Nearness } from './query';
import type { TreeProblem } from './tree-problem';

/**
 * A constraint between the choices of one candidate. The search reports each choice and its undoing to the rule, and asks
 * it whether a provider may be chosen next, for any variable that has none yet: allowed is what the choices so far do not
 * forbid, whatever comes later.
 */
export interface Rule {
  allows(variable: number, provider: number): boolean;
  choose(variable: number, provider: number): void;
  undo(variable: number, provider: number): void;
}

/** The provider of each variable, or {@link NONE}; kept by the search, read by rules. */
export type Chosen = number[];

export const NONE = -1;

/** All groups together must fit a provider. */
export function capacityRule({ variables, available, plan }: TreeProblem): Rule {
  const left = available.slice();
  const classCount = plan.classes.length;
  const demandsOf = variables.map(({ choice }) => choice.demands);
  const shift = (variable: number, provider: number, sign: number) => {
    for (const demand of demandsOf[variable] ?? []) {
      const place = provider * classCount + demand.classIndex;
      left[place] = (left[place] ?? 0) + sign * demand.amount;
    }
  };
  return {
    allows(variable, provider) {
      for (const demand of demandsOf[variable] ?? [])
        if ((left[provider * classCount + demand.classIndex] ?? 0) < demand.amount) return false;
      return true;
    },
    choose: (variable, provider) => shift(variable, provider, -1),
    undo: (variable, provider) => shift(variable, provider, 1),
  };
}

/** group_policy=isolate: each group with a suffix has a provider of its own. */
export function isolationRule({ variables, providers }: TreeProblem): Rule {
  const isApart = variables.map(({ choice }) => !isSpread(choice.group));
  const taken = providers.map(() => false);
  const set = (variable: number, provider: number, value: boolean) => {
    if (isApart[variable]) taken[provider] = value;
  };
  return {
    allows: (variable, provider) => !isApart[variable] || taken[provider] === false,
    choose: (variable, provider) => set(variable, provider, true),
    undo: (variable, provider) => set(variable, provider, false),
  };
}

/** For clients before microversion 1.29, which know no trees: resources come from no two providers of the same tree. */
export function onePerTreeRule({ variables, providers }: TreeProblem, chosen: Chosen): Rule {
  const takes = variables.map(({ choice }) => choice.demands.length > 0);
  const rootOf = (provider: number) => providers[provider]?.rootUuid;
  return {
    allows: (variable, provider) =>
      takes[variable] === false ||
      chosen.every(
        (other, i) => other === NONE || other === provider || takes[i] === false || rootOf(other) !== rootOf(provider),
      ),
    choose: nothing,
    undo: nothing,
  };
}

/**
 * The group without a suffix finds its required traits on any of the providers that it uses, together. A choice is
 * allowed while each trait still missing is on a provider that another of the group's choices might take.
 */
export function traitRule({ plan, variables, providers }: TreeProblem, chosen: Chosen): Rule {
  const wanted = plan.spreadGroup?.requiredTraits ?? [];
  const covers = wanted.map((anyOf) => providers.map((provider) => hasAnyOf(provider.traits, anyOf)));
  const spread = variables.flatMap(({ choice }, variable) => (isSpread(choice.group) ? [variable] : []));
  const canCover = covers.map((covered) =>
    variables.map(({ domain }) => domain.some((provider) => covered[provider] === true)),
  );
  return {
    allows(variable, provider) {
      if (!spread.includes(variable)) return true;
      return covers.every(
        (covered, trait) =>
          covered[provider] === true ||
          spread.some((other) => {
            const taken = chosen[other] ?? NONE;
            return other !== variable && (taken === NONE ? canCover[trait]?.[other] === true : covered[taken] === true);
          }),
      );
    },
    choose: nothing,
    undo: nothing,
  };
}

/**
 * same_subtree: of the providers of these groups, one is an ancestor of all others (or there is only one). A choice is
 * allowed while such a top is possible: a provider that is chosen, or one that a group without a choice might take.
 */
export function subtreeRule(
  { plan, variables, providers }: TreeProblem,
  suffixes: readonly string[],
  chosen: Chosen,
): Rule {
  const members = variables.flatMap(({ choice }, variable) =>
    suffixes.includes(choice.group.suffix) ? [variable] : [],
  );
  const isAbove = ancestry(plan.view, providers);
  const isTop = (top: number, variable: number, provider: number) =>
    isAbove(top, provider) &&
    members.every((other) => {
      const taken = chosen[other] ?? NONE;
      return other === variable || taken === NONE || isAbove(top, taken);
    });
  return {
    allows(variable, provider) {
      if (!members.includes(variable)) return true;
      if (isTop(provider, variable, provider)) return true;
      return members.some((other) => {
        if (other === variable) return false;
        const taken = chosen[other] ?? NONE;
        if (taken !== NONE) return isTop(taken, variable, provider);
        return variables[other]?.domain.some((top) => isTop(top, variable, provider));
      });
    },
    choose: nothing,
    undo: nothing,
  };
}

/**
 * Devices near NUMA nodes: each provider of the bound groups is at or below one of those that they are to be near to, whichever. A choice is
 * allowed while such a node is chosen, or a group without a choice might take one.
 */
export function nearRule({ plan, variables, providers }: TreeProblem, near: Nearness, chosen: Chosen): Rule {
  const withSuffix = (suffixes: readonly string[]) =>
    variables.flatMap(({ choice }, variable) => (suffixes.includes(choice.group.suffix) ? [variable] : []));
  const [bound, nodes] = [withSuffix(near.groups), withSuffix(near.to)];
  const isAbove = ancestry(plan.view, providers);
  const isAway = providers.map(
    (_, place) =>
      near.mayBeAway && !providers.some(({ traits }, top) => traits.includes(NUMA_ROOT) && isAbove(top, place)),
  );
  const isNear = (device: number, takenBy: (node: number) => number) =>
    isAway[device] === true ||
    nodes.some((node) => {
      const taken = takenBy(node);
      return taken === NONE ? variables[node]?.domain.some((top) => isAbove(top, device)) : isAbove(taken, device);
    });
  return {
    allows(variable, provider) {
      const takenBy = (other: number) => (other === variable ? provider : (chosen[other] ?? NONE));
      const looked = nodes.includes(variable) ? bound : bound.filter((one) => one === variable);
      return looked.every((one) => takenBy(one) === NONE || isNear(takenBy(one), takenBy));
    },
    choose: nothing,
    undo: nothing,
  };
}

/** Answers whether a provider is another's ancestor or itself, by their places. */
function ancestry(view: ProviderForest, providers: readonly Provider[]): (above: number, below: number) => boolean {
  const places = new Map(providers.map((provider, place) => [provider.uuid, place]));
  const table = providers.map((provider) => {
    const above = new Uint8Array(providers.length);
    for (let at: Provider | undefined = provider; at !== undefined; at = parentOf(view, at)) {
      const place = places.get(at.uuid);
      if (place !== undefined) above[place] = 1;
    }
    return above;
  });
  return (above, below) => table[below]?.[above] === 1;
}

function parentOf(view: ProviderForest, provider: Provider): Provider | undefined {
  return provider.parentUuid === undefined ? undefined : view.provider(provider.parentUuid);
}

/** For rules without state of their own: they read `chosen`. */
function nothing(): void {}
