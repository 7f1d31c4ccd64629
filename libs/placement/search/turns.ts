import { setImmediate as othersTurn } from 'node:timers/promises';
import type { Clock } from '../../domain/clock';
import type { Turns } from './find-candidates';

/** Time for which one request may keep all others waiting. */
const TURN_MS = 20;

/** Turns of some milliseconds, and pauses between them, in which the view may change. */
export function turnsBy(clock: Pick<Clock, 'elapsed'>): Turns {
  let endsAtMs = clock.elapsed() + TURN_MS;
  return {
    isPauseDue: () => clock.elapsed() >= endsAtMs,
    async pause() {
      await othersTurn();
      endsAtMs = clock.elapsed() + TURN_MS;
    },
  };
}
