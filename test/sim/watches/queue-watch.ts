import { isDeepStrictEqual } from 'node:util';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BUILT_STATES, type Instance } from '#libs/domain/instance';
import { MAX_VICTIMS } from '#libs/domain/queueing/admission';
import type { History } from '#libs/simulation/history';

/** Longer than whoever keeps the queue takes to know of one who waits. */
const KNOWN_AFTER_MS = 8_000;
/** Of those that are asked for; what ends later has been given its end by a clock that went ahead. */
const LONGEST_LIMIT_MS = 12_000;
/** Longer than sweeps take to find what is due, with what may hold them up after the last fault. */
const ENDED_AFTER_MS = 12_000;

/** Whoever keeps the queue sleeps for so long before it gives turns again, in order: what is asked within this is of one round. */
const ROUND_MS = 500;

/** A scheduler may have decided by what it saw so long before. */
const DECIDED_WITHIN_MS = 15_000;

/** What else is known of the fleet. */
interface FleetFacts {
  readonly latestOf: (uuid: string) => Instance | undefined;
  /** When it was given what it holds. */
  readonly claimedAtMs: (uuid: string) => number | undefined;
  /** Whether it was asked for by itself. */
  readonly isAlone: (uuid: string) => boolean;
  /** Whether a project has held more than its own limits at some time since. */
  readonly hasBorrowed: (projectId: string, sinceMs: number) => boolean;
  /** Whether more was taken of a host than it has, at some time since. */
  readonly isOvercommitted: (host: string, sinceMs: number) => boolean;
}

/** Watches who waits, who makes room for whom, and what ends by its time limit. */
export class QueueWatch {
  /** Whom each instance was to have the place of, by what was ever on record. */
  readonly #victims = new Map<string, Set<string>>();
  readonly #waiting = new Map<string, { readonly record: Instance; readonly sinceMs: number }>();

  /** @param history  of the fleet, with what schedulers answer */
  constructor(
    private readonly history: History,
    private readonly about: FleetFacts,
  ) {}

  /** A version of a record; answers what is wrong with it. */
  take(record: Instance, nowMs: number): string | undefined {
    const { uuid, state, waiting } = record;
    const before = this.#waiting.get(uuid);
    for (const victim of waiting?.preemption?.victims ?? []) {
      this.#victims.set(uuid, (this.#victims.get(uuid) ?? new Set()).add(victim));
    }
    if (state === 'pending') this.#waiting.set(uuid, { record, sinceMs: before?.sinceMs ?? nowMs });
    else this.#waiting.delete(uuid);
    if (state === 'building' && before) return this.#overtaken(before.record, nowMs);
    if (state === 'deleting' || state === 'preempting') return this.#wronglyEnded(record, nowMs);
    const isChosenAnew = !isDeepStrictEqual(waiting?.preemption, before?.record.waiting?.preemption);
    return isChosenAnew ? this.#wronglyChosen(record, nowMs) : undefined;
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
    // One whose scheduler's answer was lost goes on with what it was given then.
    const servedAtMs = this.about.claimedAtMs(uuid) ?? nowMs;
    for (const { record: other, sinceMs } of this.#waiting.values()) {
      const isAlike = !other.admission?.mayPreempt && Buffer.compare(other.requestSpec, requestSpec) === 0;
      const isHigher = (other.admission?.priority ?? 0) > priority && other.requestId !== requestId;
      const isAlone =
        [...this.#waiting.values()].filter(({ record }) => record.requestId === other.requestId).length === 1;
      if (
        isAlike &&
        isHigher &&
        isAlone &&
        servedAtMs - sinceMs > KNOWN_AFTER_MS &&
        !this.#isJustRefused(other.uuid, uuid)
      ) {
        return `${uuid}, of priority ${priority}, is served before ${other.uuid}, of ${other.admission?.priority}`;
      }
    }
    return undefined;
  }

  /**
   * Of those who are to make room: none is protected, and all of them must go for what is to come. What is taken back is taken from
   * projects that have borrowed.
   */
  #wronglyChosen({ uuid, projectId, requestSpec, waiting }: Instance, nowMs: number): string | undefined {
    const { host = '', reclaims = false, victims = [] } = waiting?.preemption ?? {};
    if (victims.length > MAX_VICTIMS) return `${victims.length} are to make room for ${uuid}`;
    const { latestOf, isAlone, hasBorrowed, isOvercommitted } = this.about;
    const records = victims.map(latestOf).filter((one) => one !== undefined);
    const isProtected = records.find(({ admission }) => admission?.isProtected);
    if (isProtected) return `${isProtected.uuid} is to make room for ${uuid}, though it is protected`;
    const sinceMs = nowMs - DECIDED_WITHIN_MS;
    if (reclaims) {
      const other = records.find((one) => one.projectId === projectId || !hasBorrowed(one.projectId, sinceMs));
      return other && `${uuid} takes back from ${other.uuid} of ${other.projectId}, which has not borrowed`;
    }
    // By what each has: the least of them must go, too, as long as nothing else has changed on its host.
    const areThere = records.every((one) => one.host === host && one.migration === undefined);
    if (records.length < 2 || !areThere || !isAlone(uuid) || isOvercommitted(host, sinceMs)) return undefined;
    const amounts = records.map(vcpusOf);
    const withoutOne = amounts.reduce((sum, amount) => sum + amount, 0) - Math.min(...amounts);
    const asked = vcpusOf({ requestSpec });
    return withoutOne < asked
      ? undefined
      : `${victims.length} with ${amounts.join(' and ')} VCPU are to make room for ${uuid}, which needs ${asked}`;
  }

  #wronglyEnded(
    { uuid, projectId, state, fault, admission, endsAtMs = Infinity }: Instance,
    nowMs: number,
  ): string | undefined {
    if (fault?.reason === 'time_limit' && state === 'deleting') {
      return endsAtMs - CLOCKS_MS > nowMs ? `${uuid} is ended ${endsAtMs - nowMs} ms before its time limit` : undefined;
    }
    if (fault?.reason !== 'preempted' && fault?.reason !== 'reclaimed') return undefined;
    const by = [...this.#victims].filter(([, victims]) => victims.has(uuid)).map(([preemptor]) => preemptor);
    // A project is told the uuids of its own instances only.
    const isNamed = (one: string) => {
      const isOwn = this.about.latestOf(one)?.projectId === projectId;
      return fault.message.includes(isOwn ? one : 'an instance of another project');
    };
    const priorityOf = (one: string) => this.about.latestOf(one)?.admission?.priority ?? 0;
    const [preemptor] = by.filter(isNamed).sort((a, b) => priorityOf(b) - priorityOf(a));
    if (preemptor === undefined) return `${uuid} makes room, and no record says for whom: ${fault.message}`;
    const other = this.about.latestOf(preemptor);
    const [own = 0, others = 0] = [admission?.priority, other?.admission?.priority];
    if (admission?.isProtected) return `${uuid} makes room, though it is protected`;
    if (fault.reason === 'reclaimed') {
      return other?.projectId === projectId ? `${uuid} is taken back by ${preemptor} of its own project` : undefined;
    }
    return own >= others ? `${uuid}, of priority ${own}, makes room for ${preemptor}, of ${others}` : undefined;
  }
}

const ANSWER = 'answer SelectDestinationsRequest';

/** Processes' clocks are the world's, less what the way to the store takes. */
const CLOCKS_MS = 1_500;

function isOwnReason(reason: string | undefined): boolean {
  return reason === 'preempted' || reason === 'reclaimed' || reason === 'time_limit';
}

function vcpusOf({ requestSpec }: Pick<Instance, 'requestSpec'>): number {
  return requestSpecCodec.decode(requestSpec).resources['VCPU'] ?? 0;
}
