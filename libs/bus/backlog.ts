import type { Clock } from '../domain/clock';
import type { Bus } from './port';

/** Messages that may wait, however few are taken. */
const FEW = 8;

/** Messages that wait in a queue, and those that this process takes of it in a second. */
export interface Backlog {
  readonly waiting: number;
  readonly takenPerSecond: number;
}

/**
 * Looks whether messages of a queue wait for longer than about a second: more of them than this process has taken in one since
 * the last look. Then silence proves nothing: the message that is missing may be among them, or have expired there.
 *
 * @param taken  the messages of that queue that this process has taken so far
 * @returns undefined when there is no backlog
 */
export function backlogOf(
  bus: Pick<Bus, 'depth'>,
  queue: string,
  clock: Clock,
  taken: () => number,
): () => Promise<Backlog | undefined> {
  let last = { count: taken(), atMs: clock.elapsed() };
  return async () => {
    const now = { count: taken(), atMs: clock.elapsed() };
    const takenPerSecond = Math.round(((now.count - last.count) * 1_000) / Math.max(1, now.atMs - last.atMs));
    last = now;
    const waiting = await bus.depth(queue).catch(() => Infinity);
    return waiting > Math.max(FEW, takenPerSecond) ? { waiting, takenPerSecond } : undefined;
  };
}
