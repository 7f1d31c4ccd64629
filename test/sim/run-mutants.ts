import type { Mutant } from './mutants/mutant';
import { MOST_SEEDS } from './mutants/registry';
import type { RunOptions, Violation } from './world/run';
import { runSeed } from './world/worlds';

/** The seed that caught a mutant, and how; undefined when none did. */
export interface Caught {
  readonly mutant: string;
  readonly by: { readonly options: RunOptions; readonly violation: Violation } | undefined;
}

/**
 * Runs one seed after the other with a mutant until an invariant breaks. A seed that breaks one without the mutant, too, says nothing
 * about it.
 */
export async function catchMutant(mutant: Mutant, actionCount: number): Promise<Caught> {
  const { name, focus, world } = mutant;
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const options = { world, seed, actionCount, focus };
    const violation = await violationWith(mutant, options);
    if (violation === undefined) continue;
    if ((await runSeed(options)).violation === undefined) return { mutant: name, by: { options, violation } };
  }
  return { mutant: name, by: undefined };
}

async function violationWith({ apply }: Mutant, options: RunOptions): Promise<Violation | undefined> {
  const putBack = apply();
  try {
    return (await runSeed(options)).violation;
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
