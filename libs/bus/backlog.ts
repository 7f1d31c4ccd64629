import type { Clock } from '../domain/clock';
import type { Bus } from './port';

/** Messages that may wait, however few are taken. */
const FEW = 8;

/** Messages that wait in a queue, and those that this process takes of it in a second, both in the unit of the bus's `depth`. */
export interface Backlog {
  readonly waiting: number;
  readonly takenPerSecond: number;
}

/**
 * Looks whether messages of a queue wait for longer than about a second: more of them than this process has taken in one since
 * the last look. Then silence proves nothing: the message that is missing may be among them, or have expired there.
 *
 * The bus counts both sides alike. The naive way counts the messages that handlers see, and fails where a queue batches: 1,000 that
 * wait may be frames of 32 messages each.
 *
 * @returns undefined when there is no backlog
 */
export function backlogOf(
  bus: Pick<Bus, 'depth' | 'taken'>,
  queue: string,
  clock: Clock,
): () => Promise<Backlog | undefined> {
  let last = { count: bus.taken(queue), atMs: clock.elapsed() };
  return async () => {
    const now = { count: bus.taken(queue), atMs: clock.elapsed() };
    const takenPerSecond = Math.round(((now.count - last.count) * 1_000) / Math.max(1, now.atMs - last.atMs));
    last = now;
    const waiting = await bus.depth(queue).catch(() => Infinity);
    return waiting > Math.max(FEW, takenPerSecond) ? { waiting, takenPerSecond } : undefined;
  };
}
