import type { OutgoingMessage } from '#libs/bus/port';
import { type BuildOutcome, buildInstanceCodec, destroyInstanceCodec } from '#libs/contracts/compute';

/** Reports of a host to the world. */
export interface HostEvents {
  /** Reports to the conductors how an attempt ended. */
  report(host: string, attempt: number, outcome: BuildOutcome): void;
  /** The workload of an attempt was destroyed as ordered. */
  destroyed(host: string, attempt: number): void;
}

/**
 * A host and its agent, as a short model of what the real one promises (`services/compute-agent/README.md`): an order for a present
 * instance adopts the newer attempt; a destroyed attempt is not built again; an order for an older attempt does not destroy a newer one.
 */
export class SmallHost {
  tracked: { attempt: number; state: 'building' | 'running' } | undefined;
  /** The newest attempt that was destroyed. */
  tombstone = 0;
  readonly orders: OutgoingMessage[] = [];
  /** The order of the build under way, acknowledged at its end. */
  #inHand: OutgoingMessage | undefined;

  constructor(
    readonly name: string,
    private readonly events: HostEvents,
  ) {}

  /** The same host in another world. */
  copy(events: HostEvents): SmallHost {
    const copy = new SmallHost(this.name, events);
    copy.tracked = this.tracked && { ...this.tracked };
    copy.tombstone = this.tombstone;
    copy.orders.push(...this.orders);
    copy.#inHand = this.#inHand;
    return copy;
  }

  /** The state that determines its behaviour. */
  fingerprint(): unknown {
    const bytes = (order: OutgoingMessage | undefined) => order && [...order.body];
    return [this.tracked, this.tombstone, this.orders.map(bytes), bytes(this.#inHand)];
  }

  takeOrder(nowMs: number): void {
    const order = this.orders.shift() as OutgoingMessage;
    if (order.type === destroyInstanceCodec.type) this.#takeDestroy(order.body);
    else this.#takeBuild(order, nowMs);
  }

  /** Its agent dies and starts again: it finds running instances in its journal, and restarts an unfinished build. */
  restart(): void {
    if (this.#inHand) this.orders.unshift(this.#inHand);
    this.#inHand = undefined;
    if (this.tracked?.state === 'building') this.tracked = undefined;
  }

  endBuild(outcome: 'active' | 'failed'): void {
    const { tracked } = this;
    if (tracked === undefined) return;
    this.#inHand = undefined;
    if (outcome === 'active') tracked.state = 'running';
    else this.tracked = undefined;
    this.events.report(this.name, tracked.attempt, outcome);
  }

  #takeBuild(order: OutgoingMessage, nowMs: number): void {
    const { attempt, deadlineAtMs } = buildInstanceCodec.decode(order.body);
    const { tracked } = this;
    if (attempt <= this.tombstone) this.events.report(this.name, attempt, 'destroyed');
    else if (tracked !== undefined) this.#join(tracked, attempt);
    else if (deadlineAtMs <= nowMs) this.events.report(this.name, attempt, 'refused');
    else {
      this.tracked = { attempt, state: 'building' };
      this.#inHand = order;
    }
  }

  #join(tracked: NonNullable<SmallHost['tracked']>, attempt: number): void {
    if (tracked.attempt > attempt) return;
    tracked.attempt = attempt;
    if (tracked.state === 'running') this.events.report(this.name, attempt, 'active');
  }

  #takeDestroy(body: Uint8Array): void {
    const { attempt, report } = destroyInstanceCodec.decode(body);
    const { tracked } = this;
    const isSuperseded = tracked !== undefined && attempt !== 0 && tracked.attempt > attempt;
    if (!isSuperseded) {
      if (tracked?.state === 'running') this.events.destroyed(this.name, tracked.attempt);
      this.tombstone = Math.max(this.tombstone, attempt || (tracked?.attempt ?? EVERY_ATTEMPT));
      this.tracked = undefined;
      this.#inHand = undefined;
    }
    if (report) this.events.report(this.name, attempt || (tracked?.attempt ?? 0), 'destroyed');
  }
}

const EVERY_ATTEMPT = 99;
