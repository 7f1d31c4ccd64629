import { type Random, seededRandom, seedOf } from '../domain/random';
import type { History } from './history';
import type { SimulatedProcess } from './simulated-process';

/** Where something on a link goes. */
export type Direction = 'out' | 'back';

/** Happens in place of a message; false when nothing does, and the message arrives. */
type Spring = (what: string) => false | void;

/** Delays of messages: most take up to the usual time, a share of them up to the slow one. */
export interface LinkDelays {
  readonly usualMs: number;
  readonly slowShare: number;
  readonly slowMs: number;
}

/** Slow now and then, so that messages of different links overtake each other. */
const UNEVEN: LinkDelays = { usualMs: 2, slowShare: 0.05, slowMs: 120 };

/**
 * A process's connection to a server, the broker or the store: each direction keeps its order, as TCP does, and each
 * message takes a time of its own. What is under way when the connection breaks is lost; nobody knows which side had it.
 */
export class Link {
  /** Additional delay of every message. */
  extraMs = 0;
  readonly #random: Random;
  readonly #lastMs: Record<Direction, number> = { out: 0, back: 0 };
  readonly #onBreak = new Set<() => void>();
  /** Counts the connections: what was sent on an earlier one does not arrive. */
  #connection = 0;
  #isCut = false;
  #held: (() => void)[] = [];
  private readonly delays: LinkDelays;
  /** Traps by direction: the action in place of a later message, and the messages to pass until then. */
  readonly #traps: Partial<Record<Direction, { left: number; readonly spring: Spring }>> = {};

  constructor(
    readonly process: SimulatedProcess,
    readonly server: string,
    private readonly history: History,
    { seed, delays = UNEVEN }: { readonly seed: string; readonly delays?: LinkDelays | undefined },
  ) {
    this.delays = delays;
    this.#random = seededRandom(seedOf(`${seed} ${process.name} ${server}`));
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  /** Calls a listener each time that the connection breaks; the returned function ends that. */
  onBreak(listener: () => void): () => void {
    this.#onBreak.add(listener);
    return () => this.#onBreak.delete(listener);
  }

  /** Carries something to the server or back, if the connection holds. */
  carry(direction: Direction, what: string, deliver: () => void): void {
    const { time } = this.process;
    const atMs = Math.max(this.#lastMs[direction], time.nowMs + this.#delayMs());
    this.#lastMs[direction] = atMs;
    const connection = this.#connection;
    const arrive = () => {
      if (connection !== this.#connection) return;
      if (this.#isCut) this.#held.push(arrive);
      else if (!this.#springs(direction, what)) this.#arrive(direction, what, deliver);
    };
    time.at(atMs, arrive);
  }

  /** Breaks the connection: what is under way is lost. */
  break(why: string): void {
    this.note(`connection to ${this.server} breaks: ${why}`);
    this.#connection++;
    this.#held = [];
    for (const listener of this.#onBreak) listener();
  }

  /** In place of the n-th message from now in a direction something happens; the message is lost. */
  insteadOf(direction: Direction, messageCount: number, spring: Spring): void {
    this.#traps[direction] = { left: messageCount, spring };
  }

  /** Removes the traps. */
  disarm(): void {
    for (const direction of ['out', 'back'] as const) delete this.#traps[direction];
  }

  /** Nothing passes any more, and neither side learns it. */
  cut(): void {
    this.#isCut = true;
    this.note(`the way to ${this.server} is cut`);
  }

  /** Lets held messages pass. */
  heal(): void {
    if (!this.#isCut) return;
    this.#isCut = false;
    this.note(`the way to ${this.server} is open again`);
    const { time } = this.process;
    for (const deliver of this.#held.splice(0)) time.at(time.nowMs, deliver);
  }

  #arrive(direction: Direction, what: string, deliver: () => void): void {
    const { process, server, history } = this;
    const [from, to] = direction === 'out' ? [process.name, server] : [server, process.name];
    const note = () => history.note({ atMs: process.time.nowMs, from, to, what });
    if (direction === 'out') {
      note();
      deliver();
    } else {
      process.run(() => {
        note();
        deliver();
      });
    }
  }

  #springs(direction: Direction, what: string): boolean {
    const trap = this.#traps[direction];
    // The last message of a dead process, its end for instance, arrives.
    if (trap === undefined || !this.process.isAlive || --trap.left > 0) return false;
    delete this.#traps[direction];
    return trap.spring(what) !== false;
  }

  #delayMs(): number {
    const { usualMs, slowShare, slowMs } = this.delays;
    const isSlow = this.#random.next() < slowShare;
    return this.#random.next() * (isSlow ? slowMs : usualMs) + this.extraMs;
  }

  /** Notes what happens to the link itself. */
  note(what: string): void {
    const { name, time } = this.process;
    this.history.note({ atMs: time.nowMs, from: name, to: name, what });
  }
}
