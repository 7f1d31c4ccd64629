import type { Clock } from '../domain/clock';

/**
 * One timer for many deadlines: a hashed timing wheel (Varghese and Lauck, 1987) with its ticks in a map, so that
 * delays have no upper limit. Setting, moving and firing a key have constant cost.
 *
 * Each key fires once, at most a tick late; keys due in the same tick fire together. The timer runs only while a key
 * waits.
 */
export interface TimerWheel<K> {
  /** Sets the key's due time (`Clock.elapsed`), replacing an earlier one. A past time is due at the next tick. */
  set(key: K, atMs: number): void;
  /** Moves the key's due time forward to `atMs` unless it is earlier already. */
  setBy(key: K, atMs: number): void;
  /** Forgets all keys. */
  stop(): void;
}

/** @param tickMs  the resolution: the maximum delay of a key */
export function createTimerWheel<K>(clock: Clock, tickMs: number, onDue: (key: K) => void): TimerWheel<K> {
  const keysByTick = new Map<number, Set<K>>();
  const tickByKey = new Map<K, number>();
  const presentTick = () => Math.floor(clock.elapsed() / tickMs);
  let nextTick = presentTick();
  let cancel: (() => void) | undefined;

  const turn = () => {
    cancel = undefined;
    const present = presentTick();
    while (nextTick <= present) {
      const tick = nextTick++;
      const due = keysByTick.get(tick) ?? [];
      keysByTick.delete(tick);
      for (const key of due) {
        // An earlier key's callback may have moved this one.
        if (tickByKey.get(key) !== tick) continue;
        tickByKey.delete(key);
        onDue(key);
      }
    }
    startTimer();
  };

  const startTimer = () => {
    if (tickByKey.size > 0) cancel ??= clock.after(tickMs, turn);
  };

  const set = (key: K, atMs: number) => {
    if (tickByKey.size === 0) nextTick = Math.max(nextTick, presentTick());
    keysByTick.get(tickByKey.get(key) ?? -1)?.delete(key);
    const tick = Math.max(Math.ceil(atMs / tickMs), nextTick);
    tickByKey.set(key, tick);
    const keys = keysByTick.get(tick);
    if (keys) keys.add(key);
    else keysByTick.set(tick, new Set([key]));
    startTimer();
  };

  return {
    set,
    setBy(key, atMs) {
      const tick = tickByKey.get(key);
      if (tick === undefined || tick > Math.ceil(atMs / tickMs)) set(key, atMs);
    },
    stop() {
      cancel?.();
      keysByTick.clear();
      tickByKey.clear();
    },
  };
}
