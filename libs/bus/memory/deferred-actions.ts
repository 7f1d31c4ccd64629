import type { Clock } from '../../domain/clock';
import type { Log } from '../../runtime/log';

/** Rounds in a row before timers and sockets are served. */
const ROUNDS_IN_A_ROW = 256;

/**
 * Runs actions later, one after the other in the order they were given, so that whoever sends never runs the receiver's
 * code on its own stack.
 *
 * Microtasks make a hop cheap, but services that talk to each other through microtasks alone would never let a timer or
 * a socket be served; so every so often the next round waits for the clock. Both are deterministic.
 */
export class DeferredActions {
  readonly #clock: Clock;
  readonly #log: Log;
  #actions: (() => void)[] = [];
  #round = 0;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  later(action: () => void): void {
    if (this.#actions.push(action) > 1) return;
    if (++this.#round % ROUNDS_IN_A_ROW === 0) this.#clock.after(0, () => this.#run());
    else queueMicrotask(() => this.#run());
  }

  #run(): void {
    const actions = this.#actions;
    this.#actions = [];
    for (const action of actions) {
      try {
        action();
      } catch (error) {
        this.#log.error({ event: 'bus_receiver_threw', error }, 'a receiver of the bus threw');
      }
    }
  }
}
