import { explore } from '#libs/simulation/explore';
import { type Fault, OneInstance } from './one-instance';

async function main(): Promise<void> {
  const faults = process.argv.slice(2) as Fault[];
  for (const fault of faults) {
    const startedMs = performance.now();
    const { stateCount, transitionCount, depth, violation } = await explore(() => OneInstance.begin(fault), 20_000);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    console.log(`${fault}: ${stateCount} states, ${transitionCount} transitions, depth ${depth}, ${seconds} s`);
    if (violation) console.log(violation);
  }
}
void main();
