/** A small world whose every choice is made from outside. */
export interface SmallWorld {
  /** Another world in the same state. */
  copy(): Promise<SmallWorld>;
  /** The possible next choices, each by a name that is the same whenever the state is. */
  choices(): readonly string[];
  /** Lets one of the choices happen, and all that follows from it without a choice. */
  choose(name: string): Promise<void>;
  /** All that decides what can happen from now on. */
  fingerprint(): string;
  /** The violation of the present state, if any. */
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

/** A state from which not every choice was tried. */
interface Open {
  readonly path: readonly string[];
  readonly choices: readonly string[];
  /** A world in this state. */
  readonly world: SmallWorld;
}

/** Many times what a small world takes: one that goes on for ever is wrong. */
const MOST_STEPS = 1_000;
const SHOWN_STEPS = 20;

/**
 * Goes through every state that a small world can be in, breadth first, so that the first violation has the shortest way.
 */
export async function explore(begin: () => Promise<SmallWorld>, mostStates = Infinity): Promise<Explored> {
  const seen = new Set<string>();
  let transitionCount = 0;
  let depth = 0;
  const first = await begin();
  seen.add(first.fingerprint());
  let frontier: readonly Open[] = [{ path: [], choices: first.choices(), world: first }];
  while (frontier.length > 0) {
    const next: Open[] = [];
    for (const open of frontier) {
      for (const [i, choice] of open.choices.entries()) {
        const isLast = i === open.choices.length - 1;
        const world = isLast ? open.world : await open.world.copy();
        await world.choose(choice);
        transitionCount++;
        const path = [...open.path, choice];
        const message = world.violation();
        const counts = { stateCount: seen.size, transitionCount, depth };
        if (message !== undefined) return { ...counts, violation: { message, path } };
        if (path.length > MOST_STEPS) {
          const last = path.slice(-SHOWN_STEPS);
          return { ...counts, violation: { message: `it goes on after ${MOST_STEPS} steps`, path: last } };
        }
        if (seen.size >= mostStates) return { ...counts, violation: undefined };
        const fingerprint = world.fingerprint();
        if (seen.has(fingerprint)) continue;
        seen.add(fingerprint);
        next.push({ path, choices: world.choices(), world });
      }
    }
    if (next.length > 0) depth++;
    frontier = next;
  }
  return { stateCount: seen.size, transitionCount, depth, violation: undefined };
}
