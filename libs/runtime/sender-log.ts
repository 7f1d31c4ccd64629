import type { Clock } from '../domain/clock';
import type { Log } from './log';

/** Fields of a line; its event and its sender count together. */
interface Fields {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Logs about senders, limited so that a flooding sender neither fills the disk nor hides lines about others. */
export interface SenderLog {
  warn(sender: string, fields: Fields, message: string): void;
  error(sender: string, fields: Fields, message: string): void;
}

/** Lines of one event about one sender in {@link WINDOW_MS}. */
export const LINES_PER_SENDER = 10;
export const WINDOW_MS = 60_000;
/** Limit of the senders that are counted separately; further ones share one count. */
export const MAX_SENDERS = 1_000;

interface Count {
  readonly sinceMs: number;
  lineCount: number;
  leftOut: number;
}

/**
 * A log with {@link LINES_PER_SENDER} lines a minute for each event and sender. The first line after a minute with
 * omitted lines gives their number (`left_out`); metrics count all of them.
 */
export function senderLog(log: Log, clock: Clock): SenderLog {
  const counts = new Map<string, Count>();

  /** The fields to write; undefined when the line is left out. */
  function admit(sender: string, fields: Fields): object | undefined {
    const own = `${fields.event} ${sender}`;
    const nowMs = clock.elapsed();
    if (!counts.has(own) && counts.size >= MAX_SENDERS) forgetEnded(nowMs);
    const key = counts.has(own) || counts.size < MAX_SENDERS ? own : '';
    const known = counts.get(key);
    const count = known && nowMs - known.sinceMs < WINDOW_MS ? known : { sinceMs: nowMs, lineCount: 0, leftOut: 0 };
    if (count !== known) counts.set(key, count);
    if (count.lineCount >= LINES_PER_SENDER) {
      count.leftOut++;
      return undefined;
    }
    count.lineCount++;
    const leftOut = count === known ? 0 : (known?.leftOut ?? 0);
    return { ...fields, sender, ...(leftOut > 0 && { left_out: leftOut }) };
  }

  function forgetEnded(nowMs: number): void {
    for (const [key, { sinceMs }] of counts) if (nowMs - sinceMs >= WINDOW_MS) counts.delete(key);
  }

  return {
    warn(sender, fields, message) {
      const admitted = admit(sender, fields);
      if (admitted) log.warn(admitted, message);
    },
    error(sender, fields, message) {
      const admitted = admit(sender, fields);
      if (admitted) log.error(admitted, message);
    },
  };
}
