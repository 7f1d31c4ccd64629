import { explore } from '#libs/simulation/explore';
import { FAULTS, type Fault, OneInstance } from './one-instance';

/** Goes through every state of one instance with each fault in turn; answers in how many something is wrong. */
export async function runSmallScope(faults: readonly Fault[] = FAULTS, mostStates = Infinity): Promise<number> {
  let wrong = 0;
  for (const fault of faults) {
    const startedMs = performance.now();
    const { stateCount, transitionCount, depth, violation } = await explore(() => OneInstance.begin(fault), mostStates);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    const counts = `${stateCount} states, ${transitionCount} transitions, at most ${depth} steps deep`;
    process.stdout.write(`one instance, two hosts, fault "${fault}": ${counts}, ${seconds} s\n`);
    if (violation === undefined) continue;
    wrong++;
    process.stdout.write(`  ${violation.message}, after\n    ${violation.path.join('\n    ')}\n`);
  }
  return wrong;
}
