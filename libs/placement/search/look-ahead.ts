import { isSpread } from './plan';
import { type Chosen, NONE, type Rule } from './rules';
import type { TreeProblem } from './tree-problem';

/**
 * Checks early whether the variables that are left can possibly be chosen, so that a search backtracks early.
 *
 * Rules look at one choice at a time. Nine groups that want one of eight devices each pass them all until the last, and a
 * plain search goes through 8! ways to find that out. But variables that compete for the same thing (a class, or a
 * provider of their own) need seats at the same time: if they can't be matched to seats, there is no answer (Hall's
 * marriage theorem). A provider's seats are an upper bound, counted with the smallest amounts first, so no answer is lost.
 * It costs a matching of the variables that are left at each step, some microseconds for eight groups.
 */
export function lookAhead(
  problem: TreeProblem,
  rules: readonly Rule[],
  chosen: Chosen,
  isolate: boolean,
): () => boolean {
  const { variables } = problem;
  const contests = contestsOf(problem, isolate);
  const options: number[][] = variables.map(() => []);
  return () => {
    for (let variable = 0; variable < variables.length; variable++) {
      if (chosen[variable] !== NONE) continue;
      const possible = (variables[variable]?.domain ?? []).filter((p) =>
        rules.every((rule) => rule.allows(variable, p)),
      );
      if (possible.length === 0) return false;
      options[variable] = possible;
    }
    return contests.every((contest) => {
      const seekers = contest.members.filter((variable) => chosen[variable] === NONE);
      return (
        seekers.length < 2 || canSeat(seekers, options, (provider) => contest.seats(provider, seekers, options, chosen))
      );
    });
  };
}

interface Contest {
  /** Smallest demand first. */
  readonly members: readonly number[];
  /** Upper bound of the seekers that a provider can take. */
  seats(provider: number, seekers: readonly number[], options: readonly (readonly number[])[], chosen: Chosen): number;
}

function contestsOf(problem: TreeProblem, isolate: boolean): Contest[] {
  const contests = problem.plan.classes.map((_name, classIndex) => classContest(problem, classIndex));
  if (isolate) contests.push(isolationContest(problem));
  return contests.filter(({ members }) => members.length > 1);
}

function classContest({ plan, variables, available }: TreeProblem, classIndex: number): Contest {
  const amounts = variables.map(
    ({ choice }) => choice.demands.find((demand) => demand.classIndex === classIndex)?.amount ?? 0,
  );
  const amountOf = (variable: number) => amounts[variable] ?? 0;
  const members = [...variables.keys()].filter((variable) => amountOf(variable) > 0);
  members.sort((a, b) => amountOf(a) - amountOf(b));
  return {
    members,
    seats(provider, seekers, options, chosen) {
      let left = available[provider * plan.classes.length + classIndex] ?? 0;
      for (const member of members) if (chosen[member] === provider) left -= amountOf(member);
      let seats = 0;
      for (const seeker of seekers) {
        if (!options[seeker]?.includes(provider)) continue;
        left -= amountOf(seeker);
        if (left < 0) break;
        seats++;
      }
      return seats;
    },
  };
}

function isolationContest({ variables }: TreeProblem): Contest {
  const members = [...variables.keys()].filter((variable) => {
    const choice = variables[variable]?.choice;
    return choice !== undefined && !isSpread(choice.group);
  });
  return { members, seats: () => 1 };
}

/** True if each seeker gets a seat at one of its options: Kuhn's augmenting paths. */
export function canSeat(
  seekers: readonly number[],
  options: readonly (readonly number[])[],
  seatsOf: (provider: number) => number,
): boolean {
  const seated = new Map<number, { readonly seats: number; readonly by: number[] }>();
  const seat = (seeker: number, visited: Set<number>): boolean => {
    for (const provider of options[seeker] ?? []) {
      if (visited.has(provider)) continue;
      visited.add(provider);
      let bench = seated.get(provider);
      if (bench === undefined) seated.set(provider, (bench = { seats: seatsOf(provider), by: [] }));
      if (bench.by.length < bench.seats) {
        bench.by.push(seeker);
        return true;
      }
      for (let i = 0; i < bench.by.length; i++) {
        if (!seat(bench.by[i] as number, visited)) continue;
        bench.by[i] = seeker;
        return true;
      }
    }
    return false;
  };
  return seekers.every((seeker) => seat(seeker, new Set()));
}
