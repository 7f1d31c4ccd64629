import type { Instance } from '#libs/domain/instance';
import { BUILT_STATES } from '#libs/domain/instance';
import type { History } from '#libs/simulation/history';

/** Longer than whoever keeps the queue takes to know of one who waits. */
const KNOWN_AFTER_MS = 8_000;
/** Of those that are asked for; what ends later has been given its end by a clock that went ahead. */
const LONGEST_LIMIT_MS = 12_000;
/** Longer than sweeps take to find what is due, with what may hold them up after the last fault. */
const ENDED_AFTER_MS = 12_000;

/** Whoever keeps the queue sleeps for so long before it gives turns again, in order: what is asked within this is of one round. */
const ROUND_MS = 500;

/** Watches who waits, who makes room for whom, and what ends by its time limit. */
export class QueueWatch {
  /** Whom each instance was to have the place of, by what was ever on record. */
  readonly #victims = new Map<string, Set<string>>();
  readonly #waiting = new Map<string, { readonly record: Instance; readonly sinceMs: number }>();

  /** @param history  of the fleet, with what schedulers answer */
  constructor(private readonly history: History) {}

  /** A version of a record; answers what is wrong with it. */
  take(record: Instance, nowMs: number, latestOf: (uuid: string) => Instance | undefined): string | undefined {
    const { uuid, state, waiting } = record;
    const before = this.#waiting.get(uuid);
    for (const victim of waiting?.preemption?.victims ?? []) {
      this.#victims.set(uuid, (this.#victims.get(uuid) ?? new Set()).add(victim));
    }
    if (state === 'pending') this.#waiting.set(uuid, { record, sinceMs: before?.sinceMs ?? nowMs });
    else this.#waiting.delete(uuid);
    if (state === 'building' && before) return this.#overtaken(before.record, nowMs);
    if (state === 'deleting' || state === 'preempting') return this.#wronglyEnded(record, nowMs, latestOf);
    return undefined;
  }

  /** The store went back: who waits, and who was to make room, may be forgotten. */
  reset(): void {
    this.#waiting.clear();
  }

  /** Whether an instance is on its way out, and by whose word is on record. */
  isEnded({ state, fault }: Instance): boolean {
    return state === 'preempting' || (['deleting', 'deleted'].includes(state) && isOwnReason(fault?.reason));
  }

  /** Of what is at rest, what should not be any more. */
  isLate({ state, endsAtMs = Infinity }: Instance, nowMs: number): boolean {
    return BUILT_STATES.includes(state) && endsAtMs < nowMs - ENDED_AFTER_MS;
  }

  /**
   * Whether one had its turn in the round in which another was served, before it, and was refused. What comes free in between is for
   * whoever's turn it is then: nobody who gives turns knows of it before the scheduler that is asked.
   */
  #isJustRefused(refused: string, served: string): boolean {
    const answeredAtMs = (uuid: string) =>
      this.history.entries.findLast(({ what }) => what.startsWith(ANSWER) && what.includes(uuid))?.atMs ?? 0;
    const betweenMs = answeredAtMs(served) - answeredAtMs(refused);
    return betweenMs > 0 && betweenMs < ROUND_MS;
  }

  /** When what its time limit ends next has come to its end; 0 for what is not to end for long. */
  limitOverAtMs({ state, endsAtMs = Infinity }: Instance, nowMs: number): number {
    const isNext = BUILT_STATES.includes(state) && endsAtMs < nowMs + LONGEST_LIMIT_MS;
    return isNext ? endsAtMs + ENDED_AFTER_MS : 0;
  }

  /** Nobody who asks for the same, and may take nobody's place, is served before one of a higher priority. */
  #overtaken({ uuid, admission, requestSpec, requestId }: Instance, nowMs: number): string | undefined {
    const { priority = 0, mayPreempt = false } = admission ?? {};
    if (mayPreempt) return undefined;
    for (const { record: other, sinceMs } of this.#waiting.values()) {
      const isAlike = !other.admission?.mayPreempt && Buffer.compare(other.requestSpec, requestSpec) === 0;
      const isHigher = (other.admission?.priority ?? 0) > priority && other.requestId !== requestId;
      const isAlone =
        [...this.#waiting.values()].filter(({ record }) => record.requestId === other.requestId).length === 1;
      if (
        isAlike &&
        isHigher &&
        isAlone &&
        nowMs - sinceMs > KNOWN_AFTER_MS &&
        !this.#isJustRefused(other.uuid, uuid)
      ) {
        return `${uuid}, of priority ${priority}, is served before ${other.uuid}, of ${other.admission?.priority}`;
      }
    }
    return undefined;
  }

  #wronglyEnded(
    { uuid, state, fault, admission, endsAtMs = Infinity }: Instance,
    nowMs: number,
    latestOf: (uuid: string) => Instance | undefined,
  ): string | undefined {
    if (fault?.reason === 'time_limit' && state === 'deleting') {
      return endsAtMs - CLOCKS_MS > nowMs ? `${uuid} is ended ${endsAtMs - nowMs} ms before its time limit` : undefined;
    }
    if (fault?.reason !== 'preempted') return undefined;
    const by = [...this.#victims].filter(([, victims]) => victims.has(uuid)).map(([preemptor]) => preemptor);
    const preemptor = by.find((one) => fault.message.includes(one));
    if (preemptor === undefined) return `${uuid} makes room, and no record says for whom: ${fault.message}`;
    const [own = 0, others = 0] = [admission?.priority, latestOf(preemptor)?.admission?.priority];
    if (admission?.isProtected) return `${uuid} makes room, though it is protected`;
    return own >= others ? `${uuid}, of priority ${own}, makes room for ${preemptor}, of ${others}` : undefined;
  }
}

const ANSWER = 'answer SelectDestinationsRequest';

/** Processes' clocks are the world's, less what the way to the store takes. */
const CLOCKS_MS = 1_500;

function isOwnReason(reason: string | undefined): boolean {
  return reason === 'preempted' || reason === 'time_limit';
}
