import type { History } from '#libs/simulation/history';

/** The last of a run, in which nothing happens to it any more. */
const LAST_MS = 12_000;
/** A message that is put back more often in that time goes round. */
const MOST_ROUNDS = 6;

const PUT_BACK = /^(postpone|requeue) /;

/** A message that goes round at the end of a run: one that nobody works on, and nobody ends with a reason. */
export function circling({ entries }: History, nowMs: number): string | undefined {
  const rounds = new Map<string, number>();
  for (const { atMs, what } of entries) {
    if (atMs < nowMs - LAST_MS || !PUT_BACK.test(what)) continue;
    const count = (rounds.get(what) ?? 0) + 1;
    if (count > MOST_ROUNDS) return `${what}: ${count} times within ${LAST_MS / 1_000} s`;
    rounds.set(what, count);
  }
  return undefined;
}
