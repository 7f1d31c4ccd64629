import type { Clock } from '../domain/clock';
import { type Random, seededRandom, seedOf } from '../domain/random';
import type { VirtualTime } from './virtual-time';

/**
 * One process of a simulation. Whatever it does begins with a timer of its own or with something that reaches it through a
 * `Link`, and both ask it first: the killed do nothing ever again, the paused do it when they go on.
 */
export class SimulatedProcess {
  readonly random: Random;
  /** Offset of its clock from the world's. */
  clockOffsetMs = 0;
  #state: 'running' | 'paused' | 'dead' = 'running';
  #held: (() => void)[] = [];

  /** @param seed  of its randomness: the same in each run, another after a restart */
  constructor(
    readonly name: string,
    readonly time: VirtualTime,
    seed: string,
  ) {
    this.random = seededRandom(seedOf(seed));
  }

  readonly clock: Clock = {
    now: () => Math.floor(this.time.nowMs + this.clockOffsetMs),
    elapsed: () => this.time.nowMs,
    after: (delayMs, action) => this.time.at(this.time.nowMs + Math.max(0, delayMs), () => this.run(action)),
  };

  get isAlive(): boolean {
    return this.#state !== 'dead';
  }

  get isPaused(): boolean {
    return this.#state === 'paused';
  }

  /** Runs something in the process: now, when it goes on, or never. */
  run(action: () => void): void {
    if (this.#state === 'running') action();
    else if (this.#state === 'paused') this.#held.push(action);
  }

  /** As SIGKILL does. */
  kill(): void {
    this.#state = 'dead';
    this.#held = [];
  }

  /** As SIGSTOP does. */
  pause(): void {
    if (this.#state === 'running') this.#state = 'paused';
  }

  /** As SIGCONT does: what came meanwhile happens now, one after the other. */
  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'running';
    for (const action of this.#held.splice(0)) this.time.at(this.time.nowMs, () => this.run(action));
  }
}
