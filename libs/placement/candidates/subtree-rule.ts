import type { Provider } from '../../domain/provider';
import type { PlacementView } from '../view';
import { type Chosen, NONE, nothing, type Rule } from './rules';
import type { TreeProblem } from './tree-problem';

/**
 * same_subtree: of the providers of these groups, one is an ancestor of all others (or there is only one). A choice is
 * allowed while there is such a top: one chosen, or one that a group without a choice might take.
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
    take: nothing,
    giveBack: nothing,
  };
}

/** Whether a provider is another's ancestor or itself, both by their places. */
function ancestry(view: PlacementView, providers: readonly Provider[]): (above: number, below: number) => boolean {
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

function parentOf(view: PlacementView, provider: Provider): Provider | undefined {
  return provider.parentUuid === undefined ? undefined : view.provider(provider.parentUuid);
}
