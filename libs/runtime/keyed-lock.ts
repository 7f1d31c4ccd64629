/**
 * A lock per key: actions of one key run one after the other, in the order of their calls; different keys run
 * concurrently. An entry exists only while an action of its key runs.
 */
export interface KeyedLock {
  /** Runs an action once all earlier ones of its key have settled; in the same tick when there are none. */
  run<T>(key: string, action: () => Promise<T>): Promise<T>;
}

export function createKeyedLock(): KeyedLock {
  /** The last action of each key in use. */
  const last = new Map<string, Promise<unknown>>();
  return {
    async run(key, action) {
      const settled = last.get(key)?.then(action, action) ?? action();
      last.set(key, settled);
      try {
        return await settled;
      } finally {
        if (last.get(key) === settled) last.delete(key);
      }
    },
  };
}
