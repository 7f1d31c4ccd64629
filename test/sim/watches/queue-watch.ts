import { isDeepStrictEqual } from 'node:util';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BUILT_STATES, type Instance } from '#libs/domain/instance';
import { MAX_VICTIMS } from '#libs/domain/queueing/admission';
import type { History } from '#libs/simulation/history';
import { EvictionWatch } from './eviction-watch';

/** Longer than the keeper of the queue takes to learn of a new entry. */
const KNOWN_AFTER_MS = 8_000;
/** Longest time limit of a request; a later end was computed by a clock that ran ahead. */
const LONGEST_LIMIT_MS = 12_000;
/** Longer than sweeps take to find a due instance, with the delays after the last fault. */
const ENDED_AFTER_MS = 12_000;

/** Pause of the keeper of the queue between rounds: requests within this time are of one round. */
const ROUND_MS = 500;

/** The age of the state that a scheduler may have decided by. */
const DECIDED_WITHIN_MS = 15_000;

/** Facts about the fleet that other watches keep. */
interface FleetFacts {
  readonly latestOf: (uuid: string) => Instance | undefined;
  /** Time of its last claim. */
  readonly claimedAtMs: (uuid: string) => number | undefined;
  /** True if it was the only instance of its request. */
  readonly isAlone: (uuid: string) => boolean;
  /** True if the project exceeded its own limits at some time since. */
  readonly hasBorrowed: (projectId: string, sinceMs: number) => boolean;
  /** True if the host was above capacity at some time since. */
  readonly isOvercommitted: (host: string, sinceMs: number) => boolean;
  /** True if a store that went back may have forgotten where it runs. */
  readonly mayBeForgotten: (uuid: string) => boolean;
}

/** Watches the queue, preemption and time limits. */
export class QueueWatch {
  /** Victims of each preemptor, by all versions of its record. */
  readonly #victims = new Map<string, Set<string>>();
  readonly #evictions = new EvictionWatch();
  readonly #waiting = new Map<string, { readonly record: Instance; readonly sinceMs: number }>();

  /** @param history  of the fleet, with what schedulers answer */
  constructor(
    private readonly history: History,
    private readonly about: FleetFacts,
  ) {}

  /** Takes a version of a record; the violation in it, if any. */
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
    this.#evictions.take(uuid, undefined);
    const isChosenAnew = !isDeepStrictEqual(waiting?.preemption, before?.record.waiting?.preemption);
    return isChosenAnew ? this.#wronglyChosen(record, nowMs) : undefined;
  }

  /** The store went back: entries of the queue and victims may be forgotten. */
  reset(): void {
    this.#waiting.clear();
  }

  /** True if the instance is ending, and its record names the cause. */
  isEnded({ state, fault }: Instance): boolean {
    return state === 'preempting' || (['deleting', 'deleted'].includes(state) && isOwnReason(fault?.reason));
  }

  /** True for an instance at rest past its time limit. */
  isLate({ state, endsAtMs = Infinity }: Instance, nowMs: number): boolean {
    return BUILT_STATES.includes(state) && endsAtMs < nowMs - ENDED_AFTER_MS;
  }

  /**
   * True if one was refused in the same round just before another was served. Capacity freed in between goes to the next in turn: the
   * keeper of the queue learns of it no earlier than the scheduler that it asks.
   */
  #isJustRefused(refused: string, served: string): boolean {
    const answeredAtMs = (uuid: string) =>
      this.history.entries.findLast(({ what }) => what.startsWith(ANSWER) && what.includes(uuid))?.atMs ?? 0;
    const betweenMs = answeredAtMs(served) - answeredAtMs(refused);
    return betweenMs > 0 && betweenMs < ROUND_MS;
  }

  /** The time by which its time limit has ended it; 0 for a distant limit. */
  limitOverAtMs({ state, endsAtMs = Infinity }: Instance, nowMs: number): number {
    const isNext = BUILT_STATES.includes(state) && endsAtMs < nowMs + LONGEST_LIMIT_MS;
    return isNext ? endsAtMs + ENDED_AFTER_MS : 0;
  }

  /** Among equal requests without preemption, a higher priority is served first. */
  #overtaken({ uuid, admission, requestSpec, requestId }: Instance, nowMs: number): string | undefined {
    const { priority = 0, mayPreempt = false } = admission ?? {};
    if (mayPreempt) return undefined;
    // After a lost answer of the scheduler, an instance goes on with its earlier claim.
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
        !this.#isJustRefused(other.uuid, uuid) &&
        // It waits for the word of all hosts; what was asked for since does not.
        !this.about.mayBeForgotten(other.uuid)
      ) {
        return `${uuid}, of priority ${priority}, is served before ${other.uuid}, of ${other.admission?.priority}`;
      }
    }
    return undefined;
  }

  /**
   * The violation in a choice of victims, if any: a victim is protected, or not needed; or a reclaim takes from a project that has not
   * borrowed.
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
    // By VCPUs: even the smallest victim is needed, as long as nothing else has changed on the host.
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
    // A fault names only instances of its own project.
    const isNamed = (one: string) => {
      const isOwn = this.about.latestOf(one)?.projectId === projectId;
      return fault.message.includes(isOwn ? one : 'an instance of another project');
    };
    const priorityOf = (one: string) => this.about.latestOf(one)?.admission?.priority ?? 0;
    const [preemptor] = by.filter(isNamed).sort((a, b) => priorityOf(b) - priorityOf(a));
    if (preemptor === undefined) return `${uuid} makes room, and no record says for whom: ${fault.message}`;
    const circle = this.#evictions.take(uuid, preemptor);
    if (circle !== undefined) return circle;
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

/** Difference of the processes' clocks to the world's: the way to the store. */
const CLOCKS_MS = 1_500;

function isOwnReason(reason: string | undefined): boolean {
  return reason === 'preempted' || reason === 'reclaimed' || reason === 'time_limit';
}

function vcpusOf({ requestSpec }: Pick<Instance, 'requestSpec'>): number {
  return requestSpecCodec.decode(requestSpec).resources['VCPU'] ?? 0;
}
