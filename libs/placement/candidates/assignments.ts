import { alikeProviders } from './alike';
import { lookAhead } from './look-ahead';
import { type Choice, isSpread } from './plan';
import { type Chosen, isolationRule, NONE, onePerTreeRule, type Rule, roomRule } from './rules';
import { subtreeRule } from './subtree-rule';
import { traitRule } from './trait-rule';
import type { TreeProblem } from './tree-problem';

/** What a search has done; `isComplete` turns false when it gave up before it had seen everything. */
export interface Effort {
  steps: number;
  isComplete: boolean;
}

export interface AssignmentOptions {
  readonly nestedAware: boolean;
  readonly symmetry: 'every' | 'distinct';
  readonly maxSteps: number;
}

/** The look ahead of a step costs as much as all domains are large together: a step of a larger problem counts for more. */
const USUAL_DOMAINS_SIZE = 128;

/**
 * Every assignment of providers to the problem's variables that keeps all rules, lazily, depth first. The array that it
 * yields is its own: read it before asking for the next.
 *
 * A step is a provider tried. After each one a look ahead makes sure that the rest can still be chosen, and devices
 * that are alike fail alike: when one led to nothing, the others that nobody uses yet are not tried. With `distinct`
 * they are not tried when the first led to something either, and alike groups take providers in ascending order.
 */
export function* assignments(problem: TreeProblem, options: AssignmentOptions, effort: Effort): Generator<Chosen> {
  const { variables, providers, plan } = problem;
  const chosen: Chosen = variables.map(() => NONE);
  const rules = rulesOf(problem, chosen, options.nestedAware);
  const hasFuture = lookAhead(problem, rules, chosen, plan.query.groupPolicy === 'isolate');
  if (!hasFuture()) return;
  const levels = levelsOf(problem, options.symmetry);
  const users = providers.map(() => 0);
  const stepCost = Math.ceil(variables.reduce((size, { domain }) => size + domain.length, 0) / USUAL_DOMAINS_SIZE);
  let stepsLeft = options.maxSteps;
  let alike: readonly number[] | undefined;
  let found = 0;
  for (let depth = 0; depth >= 0; ) {
    const level = levels[depth] as Level;
    giveBack(level);
    if (!takeNext(level)) {
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

  /** Chooses the next possible provider for a variable; false when there is none. */
  function takeNext(level: Level): boolean {
    const { variable, domain } = level;
    while (level.next < domain.length && stepsLeft > 0) {
      const provider = domain[level.next++] as number;
      if (isRepetition(level, provider) || !rules.every((rule) => rule.allows(variable, provider))) continue;
      effort.steps += stepCost;
      stepsLeft -= stepCost;
      chosen[variable] = provider;
      users[provider] = usersOf(provider) + 1;
      level.foundBefore = found;
      for (const rule of rules) rule.take(variable, provider);
      if (variable === levels.length - 1 || hasFuture()) return true;
      giveBack(level);
    }
    return false;
  }

  function giveBack(level: Level): void {
    const provider = chosen[level.variable] ?? NONE;
    if (provider === NONE) return;
    chosen[level.variable] = NONE;
    users[provider] = usersOf(provider) - 1;
    for (const rule of rules) rule.giveBack(level.variable, provider);
    const isNothingNew = found === level.foundBefore || options.symmetry === 'distinct';
    if (isNothingNew && usersOf(provider) === 0) level.tried.add(alikeness(provider));
  }

  function isRepetition(level: Level, provider: number): boolean {
    if (level.tried.size > 0 && usersOf(provider) === 0 && level.tried.has(alikeness(provider))) return true;
    return level.isLikeTheLast && provider < (chosen[level.variable - 1] ?? NONE);
  }

  function alikeness(provider: number): number {
    alike ??= alikeProviders(problem);
    return alike[provider] ?? NONE;
  }

  function usersOf(provider: number): number {
    return users[provider] ?? 0;
  }
}

/** Where the search stands with one variable. */
interface Level {
  readonly variable: number;
  readonly domain: readonly number[];
  /** Whether its group is like that of the variable before, so that swapping their providers is nothing new. */
  readonly isLikeTheLast: boolean;
  /** The place in the domain to go on from. */
  next: number;
  /** Numbers of alike providers that need not be tried again. */
  readonly tried: Set<number>;
  foundBefore: number;
  restart(): void;
}

function levelsOf({ variables, plan }: TreeProblem, symmetry: 'every' | 'distinct'): Level[] {
  const subtreesOf = (suffix: string) => plan.query.sameSubtrees.map((suffixes) => suffixes.includes(suffix)).join();
  const isLike = (a: Choice, b: Choice) =>
    !isSpread(a.group) &&
    !isSpread(b.group) &&
    a.likeness === b.likeness &&
    subtreesOf(a.group.suffix) === subtreesOf(b.group.suffix);
  return variables.map(({ choice, domain }, variable) => {
    const before = variables[variable - 1]?.choice;
    const isLikeTheLast = symmetry === 'distinct' && before !== undefined && isLike(before, choice);
    return {
      variable,
      domain,
      isLikeTheLast,
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
  const rules = [roomRule(problem)];
  if (query.groupPolicy === 'isolate') rules.push(isolationRule(problem));
  if (!nestedAware) rules.push(onePerTreeRule(problem, chosen));
  if (spreadGroup !== undefined && spreadGroup.requiredTraits.length > 0) rules.push(traitRule(problem, chosen));
  for (const suffixes of query.sameSubtrees) rules.push(subtreeRule(problem, suffixes, chosen));
  return rules;
}
