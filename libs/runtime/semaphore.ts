/** Gives a permit back. Calling it again is a no-op. */
export type Release = () => void;

/**
 * A counting semaphore (Dijkstra): so many hold a permit at once, the others wait in line, first come first served.
 *
 * Own code, because a waiter must be able to leave when its signal aborts: async-mutex and p-limit have no way to.
 */
export interface Semaphore {
  /** Resolves to the way to give the permit back, or to undefined when the signal aborts first. */
  acquire(signal: AbortSignal): Promise<Release | undefined>;
  /** Runs an action while holding a permit, in the same tick when one is free. Settles as the action does. */
  run<T>(action: () => Promise<T>): Promise<T>;
}

/** @param permits  how many may be held at once; infinity for no limit. */
export function createSemaphore(permits: number): Semaphore {
  const waiters = new Set<() => void>();
  let free = permits;

  const takeFree = () => {
    if (free === 0) return false;
    free--;
    return true;
  };

  const giveBack = () => {
    const [next] = waiters;
    if (next === undefined) free++;
    else next();
  };

  /** Resolves to whether the caller holds a permit now: not when the signal aborted. */
  const wait = (signal?: AbortSignal) =>
    new Promise<boolean>((resolve) => {
      const leave = (holds: boolean) => {
        waiters.delete(enter);
        signal?.removeEventListener('abort', giveUp);
        resolve(holds);
      };
      const enter = () => leave(true);
      const giveUp = () => leave(false);
      waiters.add(enter);
      signal?.addEventListener('abort', giveUp);
    });

  const runHolding = async <T>(action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } finally {
      giveBack();
    }
  };

  return {
    async acquire(signal) {
      if (signal.aborted) return undefined;
      if (!takeFree() && !(await wait(signal))) return undefined;
      let isHeld = true;
      return () => {
        if (isHeld) giveBack();
        isHeld = false;
      };
    },

    run: (action) => (takeFree() ? runHolding(action) : wait().then(() => runHolding(action))),
  };
}
