import type { ScopeJob } from '../parallel/job';
import { runJobs } from '../parallel/run-jobs';
import type { Bound, Fault } from './one-instance';

const A_FAILED_BUILD: Bound = { failures: 1, terminates: 0 };
const A_TERMINATE: Bound = { failures: 0, terminates: 1 };
/** With a terminate these take half a minute each: for `--large`. */
const MANY_STATES: readonly Fault[] = ['message twice', 'answer lost', 'store refuses'];

/** Goes through every state of one instance with each fault, in several threads; resolves to the number of searches that found a violation. */
export async function runSmallScope(
  faults: readonly Fault[],
  isLarge: boolean,
  threadCount: number,
  print: (text: string) => void,
): Promise<number> {
  const jobs = faults.flatMap((fault): ScopeJob[] => {
    const isSmall = isLarge || !MANY_STATES.includes(fault);
    return (isSmall ? [A_FAILED_BUILD, A_TERMINATE] : [A_FAILED_BUILD]).map((bound) => ({
      kind: 'scope',
      fault,
      bound,
    }));
  });
  let [wrong, n] = [0, 0];
  const sum = { states: 0, transitions: 0 };
  for await (const { stateCount, transitionCount, depth, violation, seconds } of runJobs(jobs, threadCount)) {
    const { fault, bound } = jobs[n++] as ScopeJob;
    sum.states += stateCount;
    sum.transitions += transitionCount;
    const counts = `${stateCount} states, ${transitionCount} transitions, at most ${depth} steps deep`;
    print(`one instance, two hosts, fault "${fault}"${also(bound)}: ${counts}, ${seconds.toFixed(1)} s`);
    if (violation === undefined) continue;
    wrong++;
    print(`  ${violation.message}, after\n    ${violation.path.join('\n    ')}`);
  }
  print(`${sum.states} states, ${sum.transitions} transitions in all; ${wrong} searches found a violation`);
  return wrong;
}

function also({ failures, terminates }: Bound): string {
  return `${failures > 0 ? ', a failed build' : ''}${terminates > 0 ? ', a terminate' : ''}`;
}
