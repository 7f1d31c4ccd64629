/** A small world whose every choice is made from outside. The same choices from the beginning lead to the same state. */
export interface SmallWorld {
  /** What can happen next, each by a name that is the same whenever the state is. */
  choices(): readonly string[];
  /** Lets one of the choices happen, and all that follows from it without a choice. */
  choose(name: string): Promise<void>;
  /** All that decides what can happen from now on. */
  fingerprint(): string;
  /** What is wrong by now, if anything is. */
  violation(): string | undefined;
}

export interface Explored {
  readonly stateCount: number;
  readonly transitionCount: number;
  /** The longest of the shortest ways to a state. */
  readonly depth: number;
  /** The shortest way to something wrong. */
  readonly violation: { readonly message: string; readonly path: readonly string[] } | undefined;
}

/**
 * Goes through every state that a small world can be in, breadth first, so that the first violation has the shortest
 * way. Worlds can not be copied, only made again: each transition begins anew and repeats the way to its state.
 */
export async function explore(begin: () => Promise<SmallWorld>, mostStates = Infinity): Promise<Explored> {
  const seen = new Set<string>();
  let transitionCount = 0;
  let depth = 0;
  const first = await begin();
  seen.add(first.fingerprint());
  let frontier: { readonly path: readonly string[]; readonly choices: readonly string[] }[] = [
    { path: [], choices: first.choices() },
  ];
  while (frontier.length > 0) {
    const next: typeof frontier = [];
    for (const { path, choices } of frontier) {
      for (const choice of choices) {
        const world = await begin();
        for (const name of [...path, choice]) await world.choose(name);
        transitionCount++;
        const message = world.violation();
        const longer = [...path, choice];
        const counts = { stateCount: seen.size, transitionCount, depth };
        if (message !== undefined) return { ...counts, violation: { message, path: longer } };
        const fingerprint = world.fingerprint();
        if (seen.has(fingerprint)) continue;
        seen.add(fingerprint);
        if (seen.size >= mostStates) return { ...counts, violation: undefined };
        next.push({ path: longer, choices: world.choices() });
      }
    }
    if (next.length > 0) depth++;
    frontier = next;
  }
  return { stateCount: seen.size, transitionCount, depth, violation: undefined };
}
