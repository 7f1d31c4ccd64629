/**
 * A lock for each key: actions of one key run one after the other, in the order of their calls; those of different keys
 * at once. Costs an entry of a map while an action runs.
 */
export interface KeyedLock {
  /** Runs an action once those of the same key before it have settled, in the same tick when there are none. */
  run<T>(key: string, action: () => Promise<T>): Promise<T>;
}

export function createKeyedLock(): KeyedLock {
  /** What came last, of each key in use. */
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
