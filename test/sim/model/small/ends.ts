import { isBroken } from '../step';
import type { Scope } from './model-world';

/** States of a scope, and one from which no way leads to an end, if any. */
export interface Ends {
  readonly stateCount: number;
  readonly stuck: string | undefined;
}

/**
 * Goes through all states of a scope, and back from those that are ends: from every state there is a way to one (AG EF). With fair
 * steps, each of which is tried again until it is taken, an end then comes; without that, it may come.
 */
export function endsOf<S extends object, T>({ begin, tries, step }: Scope<S, T>, isEnd: (state: S) => boolean): Ends {
  const states = new Map<string, S>([[JSON.stringify(begin), begin]]);
  const before = new Map<string, string[]>();
  for (const [key, state] of states) {
    for (const tried of tries(state).values()) {
      const next = step(state, tried);
      if (isBroken(next)) continue;
      const nextKey = JSON.stringify(next);
      if (!states.has(nextKey)) states.set(nextKey, next);
      const known = before.get(nextKey);
      if (known) known.push(key);
      else before.set(nextKey, [key]);
    }
  }
  const reaching = new Set([...states].flatMap(([key, state]) => (isEnd(state) ? [key] : [])));
  for (const key of reaching) for (const earlier of before.get(key) ?? []) reaching.add(earlier);
  return { stateCount: states.size, stuck: [...states.keys()].find((key) => !reaching.has(key)) };
}
