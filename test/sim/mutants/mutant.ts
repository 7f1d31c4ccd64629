import type { ActionKind } from '../plan';
import type { WorldName } from '../world/run';

/** Berth with one thing taken out: what keeps an invariant must be missed when it is gone. */
export interface Mutant {
  readonly name: string;
  /** What is taken out, in a few words. */
  readonly without: string;
  /** Takes it out; the returned function puts it back. */
  readonly apply: () => () => void;
  /** Kinds of actions that bring it out, for one that a general plan rarely shows: its seeds all have them, and more of them. */
  readonly focus?: readonly string[];
  /** In which it shows; the fleet unless given. */
  readonly world?: WorldName;
}

export function withFocus(on: Mutant, ...focus: readonly ActionKind[]): Mutant {
  return { ...on, focus };
}

/** One that another world than the fleet shows, with kinds of what happens there. */
export function inWorld(world: WorldName, on: Mutant, ...focus: readonly string[]): Mutant {
  return { ...on, world, focus };
}

/**
 * A mutant that replaces one exported function, or one method of a class, by a function of the original. It works on
 * compiled modules, whose callers look up what they import each time; production code knows nothing of it.
 */
export function mutant<M extends object, K extends keyof M & string>(
  name: string,
  without: string,
  module: M,
  key: K,
  replacement: (original: M[K]) => M[K],
): Mutant {
  return {
    name,
    without,
    apply() {
      const original = module[key];
      module[key] = replacement(original);
      if (module[key] === original) throw new Error(`${name}: ${key} can not be replaced`);
      return () => {
        module[key] = original;
      };
    },
  };
}

/** A mutant that takes out one thing which stands in several places. */
export function mutants(name: string, without: string, ...parts: readonly Mutant[]): Mutant {
  return {
    name,
    without,
    apply() {
      const putBacks = parts.map((part) => part.apply());
      return () => {
        for (const putBack of putBacks.toReversed()) putBack();
      };
    },
  };
}
