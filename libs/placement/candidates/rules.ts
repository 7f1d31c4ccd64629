import { isSpread } from './plan';
import type { TreeProblem } from './tree-problem';

/**
 * What holds between the choices of one candidate. The search tells a rule of each choice made and taken back, and asks
 * it whether a provider may be chosen next, for any variable that has none yet: "may" means that what is chosen so far
 * does not forbid it, whatever comes later.
 */
export interface Rule {
  allows(variable: number, provider: number): boolean;
  take(variable: number, provider: number): void;
  giveBack(variable: number, provider: number): void;
}

/** The provider of each variable, or {@link NONE}; kept by the search, read by rules. */
export type Chosen = number[];

export const NONE = -1;

/** All that is taken from a provider, by whichever groups, must fit together. */
export function roomRule({ variables, room, plan }: TreeProblem): Rule {
  const left = room.slice();
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
    take: (variable, provider) => shift(variable, provider, -1),
    giveBack: (variable, provider) => shift(variable, provider, 1),
  };
}

/** group_policy isolate: groups with a suffix have a provider each. */
export function isolationRule({ variables, providers }: TreeProblem): Rule {
  const isApart = variables.map(({ choice }) => !isSpread(choice.group));
  const taken = providers.map(() => false);
  const set = (variable: number, provider: number, value: boolean) => {
    if (isApart[variable]) taken[provider] = value;
  };
  return {
    allows: (variable, provider) => !isApart[variable] || taken[provider] === false,
    take: (variable, provider) => set(variable, provider, true),
    giveBack: (variable, provider) => set(variable, provider, false),
  };
}

/** For clients that do not know of trees: resources come from no two providers of the same tree. */
export function onePerTreeRule({ variables, providers }: TreeProblem, chosen: Chosen): Rule {
  const takes = variables.map(({ choice }) => choice.demands.length > 0);
  const rootOf = (provider: number) => providers[provider]?.rootUuid;
  return {
    allows: (variable, provider) =>
      takes[variable] === false ||
      chosen.every(
        (other, i) => other === NONE || other === provider || takes[i] === false || rootOf(other) !== rootOf(provider),
      ),
    take: nothing,
    giveBack: nothing,
  };
}

/** What a rule does that keeps no books because it reads them in `chosen`. */
export function nothing(): void {}
