import { hasAnyOf } from './fit';
import { isSpread } from './plan';
import { type Chosen, NONE, nothing, type Rule } from './rules';
import type { TreeProblem } from './tree-problem';

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
    take: nothing,
    giveBack: nothing,
  };
}
