import type { Clock } from '#libs/domain/clock';

/**
 * One timer for thousands of hosts: each key is due once, at most a tick late. A key that is set again moves; the clock
 * is only asked while something waits.
 */
export interface Wheel<K> {
  /** Makes the key due at a time, whenever it was due before. */
  set(key: K, atMs: number): void;
  /** Makes the key due at a time unless it is due earlier. */
  setBy(key: K, atMs: number): void;
  stop(): void;
}

export function createWheel<K>(clock: Clock, tickMs: number, onDue: (key: K) => void): Wheel<K> {
  /** Keys by tick, and ticks by key. */
  const slots = new Map<number, Set<K>>();
  const ticks = new Map<K, number>();
  /** The next tick to look at. */
  let next = Math.floor(clock.now() / tickMs);
  let cancel: (() => void) | undefined;

  const turn = () => {
    cancel = undefined;
    const present = Math.floor(clock.now() / tickMs);
    while (next <= present) {
      const tick = next++;
      const due = slots.get(tick) ?? [];
      slots.delete(tick);
      for (const key of due) {
        // Whoever was called before may have moved it.
        if (ticks.get(key) !== tick) continue;
        ticks.delete(key);
        onDue(key);
      }
    }
    rest();
  };

  const rest = () => {
    if (ticks.size > 0) cancel ??= clock.after(tickMs, turn);
  };

  const set = (key: K, atMs: number) => {
    if (ticks.size === 0) next = Math.max(next, Math.floor(clock.now() / tickMs));
    slots.get(ticks.get(key) ?? -1)?.delete(key);
    const tick = Math.max(Math.ceil(atMs / tickMs), next);
    ticks.set(key, tick);
    const slot = slots.get(tick);
    if (slot) slot.add(key);
    else slots.set(tick, new Set([key]));
    rest();
  };

  return {
    set,
    setBy(key, atMs) {
      const tick = ticks.get(key);
      if (tick === undefined || tick > Math.ceil(atMs / tickMs)) set(key, atMs);
    },
    stop() {
      cancel?.();
      slots.clear();
      ticks.clear();
    },
  };
}
