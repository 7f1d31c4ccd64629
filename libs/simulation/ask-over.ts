import { BerthError } from '../domain/errors';
import type { Link } from './link';

/** Terms on which a process waits for a server's answer. */
export interface Asked<T> {
  /** For the history. */
  readonly what: string;
  readonly timeoutMs: number;
  /** Done when the question arrives. */
  readonly effect: () => Promise<T>;
  readonly describeAnswer: (answer: T) => string;
  /** Error for a call without an answer: it may have happened or not. */
  readonly lost: (what: string) => BerthError;
  /** True if giving up closes the connection: messages under way then never arrive, as with HTTP. */
  readonly isDroppedWhenLost?: boolean;
}

/** Does something at a server across a link, and comes back with its result. */
export function askOver<T>(link: Link, asked: Asked<T>): Promise<T> {
  const { what, timeoutMs, effect, describeAnswer, lost, isDroppedWhenLost = false } = asked;
  return new Promise((resolve, reject) => {
    let isOver = false;
    const settle = (action: () => void) => {
      isOver = true;
      cancelTimer();
      stopListening();
      action();
    };
    const fail = (error: BerthError) => settle(() => reject(error));
    const cancelTimer = link.process.clock.after(timeoutMs, () => fail(lost(what)));
    const stopListening = link.onBreak(() => link.process.run(() => fail(lost(what))));
    link.carry('out', what, () => {
      if (isOver && isDroppedWhenLost) return;
      effect().then(
        (result) => link.carry('back', `${what}: ${describeAnswer(result)}`, () => settle(() => resolve(result))),
        (thrown: unknown) => {
          const error = BerthError.from(thrown);
          link.carry('back', `${what}: ${error.reason}`, () => fail(error));
        },
      );
    });
  });
}
