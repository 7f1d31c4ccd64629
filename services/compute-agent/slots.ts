/** A bound on how much goes on at once; whoever comes later waits in line. */
export interface Slots {
  /** Resolves to the way to give the slot back, or to undefined when the signal aborts first. */
  take(signal?: AbortSignal): Promise<(() => void) | undefined>;
}

export function createSlots(count: number): Slots {
  const line = new Set<() => void>();
  let free = count;

  const release = () => {
    const [next] = line;
    if (next === undefined) free++;
    else next();
  };

  return {
    async take(signal) {
      if (signal?.aborted) return undefined;
      if (free > 0) {
        free--;
        return release;
      }
      return new Promise((resolve) => {
        const leave = () => {
          line.delete(enter);
          resolve(undefined);
        };
        const enter = () => {
          line.delete(enter);
          signal?.removeEventListener('abort', leave);
          resolve(release);
        };
        line.add(enter);
        signal?.addEventListener('abort', leave, { once: true });
      });
    },
  };
}
