import type { Violation } from './checker';
import type { Mutant } from './mutants/mutant';
import { MOST_SEEDS } from './mutants/registry';
import { type RunOptions, runSeed } from './run-seed';

/** The seed that caught a mutant, and how; undefined when none did. */
export interface Caught {
  readonly mutant: Mutant;
  readonly by: { readonly options: RunOptions; readonly violation: Violation } | undefined;
}

/** Runs one seed after the other with a mutant until an invariant breaks. */
export async function catchMutant(mutant: Mutant, actionCount: number): Promise<Caught> {
  const putBack = mutant.apply();
  try {
    for (let seed = 1; seed <= MOST_SEEDS; seed++) {
      const options = { seed, actionCount };
      const { violation } = await runSeed(options);
      if (violation) return { mutant, by: { options, violation } };
    }
    return { mutant, by: undefined };
  } finally {
    putBack();
  }
}

/** A line of the table: the mutant, the seed that caught it, the invariant that it broke. */
export function tableLine({ mutant, by }: Caught): string {
  const seed = by === undefined ? 'none' : String(by.options.seed);
  return `  ${mutant.name.padEnd(34)}${seed.padStart(5)}  ${by?.violation.invariant ?? 'NOT CAUGHT'}`;
}
