/** Keeps work on one instance from overlapping. */
export interface Exclusive {
  /** Does something that others wait for in `idle`. Only after `idle`, in the same turn. */
  run<T>(uuid: string, action: () => Promise<T>): Promise<T>;
  /** Resolves when nothing is done to the instance. */
  idle(uuid: string): Promise<void>;
}

export function createExclusive(): Exclusive {
  const going = new Map<string, Promise<unknown>>();
  return {
    async run(uuid, action) {
      const done = action();
      going.set(uuid, done);
      try {
        return await done;
      } finally {
        if (going.get(uuid) === done) going.delete(uuid);
      }
    },
    async idle(uuid) {
      for (let one = going.get(uuid); one; one = going.get(uuid)) await one.catch(() => undefined);
    },
  };
}
