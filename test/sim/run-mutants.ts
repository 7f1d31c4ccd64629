import type { Mutant } from './mutants/mutant';
import { MOST_SEEDS } from './mutants/registry';
import type { RunOptions, RunResult, Violation } from './world/run';
import { runSeed } from './world/worlds';

/** The seed that caught a mutant, and how; undefined when none did. */
export interface Caught {
  readonly mutant: string;
  readonly by: { readonly options: RunOptions; readonly violation: Violation } | undefined;
}

/**
 * Runs one seed after the other with a mutant until an invariant breaks. A seed that breaks one without the mutant, too, says nothing
 * about it.
 *
 * @param isByTrace  whether only the model of the protocol counts
 */
export async function catchMutant(mutant: Mutant, actionCount: number, isByTrace = false): Promise<Caught> {
  const violationOf = ({ violation, brokenTrace }: RunResult) =>
    isByTrace ? brokenTrace && { invariant: 'its trace', message: brokenTrace } : violation;
  const { name, focus, world } = mutant;
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const options = { world, seed, actionCount, focus };
    const violation = violationOf(await runWith(mutant, options)) || undefined;
    if (violation === undefined) continue;
    if (!violationOf(await runSeed(options))) return { mutant: name, by: { options, violation } };
  }
  return { mutant: name, by: undefined };
}

async function runWith({ apply }: Mutant, options: RunOptions): Promise<RunResult> {
  const putBack = apply();
  try {
    return await runSeed(options);
  } finally {
    putBack();
  }
}

/** A line of the table: the mutant, the seed that caught it, the invariant that it broke, and what it said. */
export function tableLine({ mutant, by }: Caught): string {
  const seed = by === undefined ? 'none' : String(by.options.seed);
  const { invariant, message } = by?.violation ?? { invariant: 'NOT CAUGHT', message: '' };
  return `  ${mutant.padEnd(36)}${seed.padStart(4)}  ${invariant.padEnd(34)}  ${message}`.trimEnd();
}
