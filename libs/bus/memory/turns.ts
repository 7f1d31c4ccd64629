import type { Clock } from '../../domain/clock';
import type { Log } from '../../runtime/log';

/** Turns in a row before timers and sockets get theirs. */
const TURNS_IN_A_ROW = 256;

/**
 * Runs actions later, one after the other in the order they were given, so that whoever sends never runs the receiver's
 * code on its own stack.
 *
 * Microtasks make a hop cheap, but services that talk to each other through microtasks alone would never let a timer or
 * a socket have its turn; so every so often the next turn waits for the clock. Both are deterministic.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #log: Log;
  #actions: (() => void)[] = [];
  #turn = 0;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  later(action: () => void): void {
    if (this.#actions.push(action) > 1) return;
    if (++this.#turn % TURNS_IN_A_ROW === 0) this.#clock.after(0, () => this.#run());
    else queueMicrotask(() => this.#run());
  }

  #run(): void {
    const actions = this.#actions;
    this.#actions = [];
    for (const action of actions) {
      try {
        action();
      } catch (error) {
        this.#log.error({ error }, 'a receiver of the bus threw');
      }
    }
  }
}
