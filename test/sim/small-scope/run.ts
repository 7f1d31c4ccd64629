import { explore } from '#libs/simulation/explore';
import { type Bound, FAULTS, type Fault, OneInstance } from './one-instance';

const A_FAILED_BUILD: Bound = { failures: 1, terminates: 0 };
const A_TERMINATE: Bound = { failures: 0, terminates: 1 };
/** With a terminate these take half a minute each: for `--large`. */
const MANY_STATES: readonly Fault[] = ['message twice', 'answer lost', 'store refuses'];

/** Goes through every state of one instance with each fault in turn; answers in how many something is wrong. */
export async function runSmallScope(faults: readonly Fault[] = FAULTS, isLarge = false): Promise<number> {
  let wrong = 0;
  const sum = { states: 0, transitions: 0 };
  for (const fault of faults) {
    const isSmall = isLarge || !MANY_STATES.includes(fault);
    for (const bound of isSmall ? [A_FAILED_BUILD, A_TERMINATE] : [A_FAILED_BUILD]) {
      const startedMs = performance.now();
      const { stateCount, transitionCount, depth, violation } = await explore(() => OneInstance.begin(fault, bound));
      sum.states += stateCount;
      sum.transitions += transitionCount;
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      const counts = `${stateCount} states, ${transitionCount} transitions, at most ${depth} steps deep`;
      print(`one instance, two hosts, fault "${fault}"${also(bound)}: ${counts}, ${seconds} s`);
      if (violation === undefined) continue;
      wrong++;
      print(`  ${violation.message}, after\n    ${violation.path.join('\n    ')}`);
    }
  }
  print(`${sum.states} states, ${sum.transitions} transitions in all; ${wrong} searches found a violation`);
  return wrong;
}

function also({ failures, terminates }: Bound): string {
  return `${failures > 0 ? ', a failed build' : ''}${terminates > 0 ? ', a terminate' : ''}`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
