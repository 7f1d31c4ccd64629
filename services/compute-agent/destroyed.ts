import type { Clock } from '#libs/domain/clock';

/** Remembers what was destroyed, so that a build that comes late (redelivered, overtaken) is not built. */
export interface Destroyed {
  note(uuid: string, attempt: number): void;
  /** The newest attempt that was destroyed; 0 when none is remembered. */
  attemptOf(uuid: string): number;
}

/** Longer than any broker holds back a message that overtook another. */
const REMEMBERED_MS = 600_000;
/** Of one host; the oldest are forgotten first. */
const REMEMBERED_COUNT = 10_000;

export function createDestroyed(clock: Clock): Destroyed {
  /** In the order of noting, which is the order of forgetting. */
  const notes = new Map<string, { readonly attempt: number; readonly untilMs: number }>();

  const forget = (nowMs: number) => {
    for (const [uuid, note] of notes) {
      if (note.untilMs > nowMs && notes.size <= REMEMBERED_COUNT) return;
      notes.delete(uuid);
    }
  };

  return {
    note(uuid, attempt) {
      const newest = Math.max(attempt, notes.get(uuid)?.attempt ?? 0);
      const nowMs = clock.now();
      notes.delete(uuid);
      notes.set(uuid, { attempt: newest, untilMs: nowMs + REMEMBERED_MS });
      forget(nowMs);
    },
    attemptOf: (uuid) => notes.get(uuid)?.attempt ?? 0,
  };
}
