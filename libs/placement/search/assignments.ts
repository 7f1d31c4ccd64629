import { lookAhead } from './look-ahead';
import { type Choice, isSpread } from './plan';
import {
  type Chosen,
  capacityRule,
  isolationRule,
  NONE,
  nearRule,
  onePerTreeRule,
  type Rule,
  subtreeRule,
  traitRule,
} from './rules';
import type { TreeProblem } from './tree-problem';
import { symmetryClasses } from './tree-problem';

/** Work done by a search; `isComplete` turns false when it gave up before it had seen everything. */
export interface Effort {
  steps: number;
  isComplete: boolean;
  /** True once others should have a turn; never when not given. */
  readonly isPauseDue?: (() => boolean) | undefined;
}

export interface AssignmentOptions {
  readonly nestedAware: boolean;
  readonly symmetry: 'every' | 'distinct';
  readonly maxSteps: number;
}

/** The look-ahead of a step costs in proportion to the size of all domains: a step of a larger problem counts for more. */
export const USUAL_DOMAINS_SIZE = 128;

/**
 * Every assignment of providers to the problem's variables that keeps all rules, lazily, depth first. The yielded array is
 * reused: read it before asking for the next. Undefined stands for a pause that is due, again and again until it was made.
 *
 * A step is one provider tried; after each, a look-ahead makes sure that the rest can still be chosen. Symmetric devices
 * fail alike: when one led to no answer, the unused others are not tried. With `distinct` they are not tried after an
 * answer either, and symmetric groups take providers in ascending order (symmetry breaking).
 */
export function* assignments(
  problem: TreeProblem,
  options: AssignmentOptions,
  effort: Effort,
): Generator<Chosen | undefined> {
  const { variables, providers, plan } = problem;
  const chosen: Chosen = variables.map(() => NONE);
  const rules = rulesOf(problem, chosen, options.nestedAware);
  const hasFuture = lookAhead(problem, rules, chosen, plan.query.groupPolicy === 'isolate');
  if (!hasFuture()) return;
  const levels = levelsOf(problem, options.symmetry);
  const users = providers.map(() => 0);
  const stepCost = Math.ceil(variables.reduce((size, { domain }) => size + domain.length, 0) / USUAL_DOMAINS_SIZE);
  let stepsLeft = options.maxSteps;
  const usersOf = (provider: number) => users[provider] ?? 0;
  let classes: readonly number[] | undefined;
  const symmetryClassOf = (provider: number) => (classes ??= symmetryClasses(problem))[provider] ?? NONE;
  let found = 0;
  for (let depth = 0; depth >= 0; ) {
    const level = levels[depth] as Level;
    undo(level);
    const isTaken = takeNext(level);
    if (isTaken === undefined) {
      yield undefined;
    } else if (!isTaken) {
      if (stepsLeft <= 0) {
        effort.isComplete = false;
        return;
      }
      depth--;
    } else if (depth === levels.length - 1) {
      found++;
      yield chosen;
    } else {
      depth++;
      levels[depth]?.restart();
    }
  }

  /** Chooses the next possible provider for a variable; false when there is none, undefined when a pause is due before. */
  function takeNext(level: Level): boolean | undefined {
    const { variable, domain } = level;
    while (level.next < domain.length && stepsLeft > 0) {
      if (effort.isPauseDue?.() === true) return undefined;
      const provider = domain[level.next++] as number;
      if (isRepetition(level, provider) || !rules.every((rule) => rule.allows(variable, provider))) continue;
      effort.steps += stepCost;
      stepsLeft -= stepCost;
      chosen[variable] = provider;
      users[provider] = usersOf(provider) + 1;
      level.foundBefore = found;
      for (const rule of rules) rule.choose(variable, provider);
      if (variable === levels.length - 1 || hasFuture()) return true;
      undo(level);
    }
    return false;
  }

  function undo(level: Level): void {
    const provider = chosen[level.variable] ?? NONE;
    if (provider === NONE) return;
    chosen[level.variable] = NONE;
    users[provider] = usersOf(provider) - 1;
    for (const rule of rules) rule.undo(level.variable, provider);
    const isSettled = found === level.foundBefore || options.symmetry === 'distinct';
    if (isSettled && usersOf(provider) === 0) level.tried.add(symmetryClassOf(provider));
  }

  function isRepetition(level: Level, provider: number): boolean {
    if (level.tried.size > 0 && usersOf(provider) === 0 && level.tried.has(symmetryClassOf(provider))) return true;
    return level.isSymmetricToPrevious && provider < (chosen[level.variable - 1] ?? NONE);
  }
}

/** Where the search stands with one variable. */
interface Level {
  readonly variable: number;
  readonly domain: readonly number[];
  /** True if its group is symmetric to that of the variable before, so that swapping their providers gives the same. */
  readonly isSymmetricToPrevious: boolean;
  /** The place in the domain to go on from. */
  next: number;
  /** Symmetry classes that need not be tried again. */
  readonly tried: Set<number>;
  foundBefore: number;
  restart(): void;
}

function levelsOf({ variables, plan }: TreeProblem, symmetry: 'every' | 'distinct'): Level[] {
  const { sameSubtrees, near } = plan.query;
  const bonds = near === undefined ? sameSubtrees : [...sameSubtrees, near.groups, near.to];
  const subtreesOf = (suffix: string) => bonds.map((suffixes) => suffixes.includes(suffix)).join();
  const isLike = (a: Choice, b: Choice) =>
    !isSpread(a.group) &&
    !isSpread(b.group) &&
    a.symmetryKey === b.symmetryKey &&
    subtreesOf(a.group.suffix) === subtreesOf(b.group.suffix);
  return variables.map(({ choice, domain }, variable) => {
    const before = variables[variable - 1]?.choice;
    const isSymmetricToPrevious = symmetry === 'distinct' && before !== undefined && isLike(before, choice);
    return {
      variable,
      domain,
      isSymmetricToPrevious,
      next: 0,
      tried: new Set(),
      foundBefore: 0,
      restart() {
        this.next = 0;
        this.tried.clear();
      },
    };
  });
}

function rulesOf(problem: TreeProblem, chosen: Chosen, nestedAware: boolean): Rule[] {
  const { query, spreadGroup } = problem.plan;
  const rules = [capacityRule(problem)];
  if (query.groupPolicy === 'isolate') rules.push(isolationRule(problem));
  if (!nestedAware) rules.push(onePerTreeRule(problem, chosen));
  if (spreadGroup !== undefined && spreadGroup.requiredTraits.length > 0) rules.push(traitRule(problem, chosen));
  for (const suffixes of query.sameSubtrees) rules.push(subtreeRule(problem, suffixes, chosen));
  if (query.near !== undefined) rules.push(nearRule(problem, query.near, chosen));
  return rules;
}
