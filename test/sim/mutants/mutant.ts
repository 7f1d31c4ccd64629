import type { ActionKind } from '../plan';
import type { WorldName } from '../world/run';

/** Berth without one rule: the invariant that it keeps must then break. */
export interface Mutant {
  readonly name: string;
  /** The rule that is removed, in a few words. */
  readonly without: string;
  /** Removes it; the returned function restores it. */
  readonly apply: () => () => void;
  /** Kinds of actions that reveal a mutant which a general plan rarely shows: its seeds contain them all, more often. */
  readonly focus?: readonly string[];
  /** The world that shows it; default: the fleet. */
  readonly world?: WorldName;
}

export function withFocus(on: Mutant, ...focus: readonly ActionKind[]): Mutant {
  return { ...on, focus };
}

/** A mutant that another world than the fleet shows, with kinds of actions of that world. */
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

/** A mutant that removes one rule from several places. */
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
