import { type Attempt, type Instance, isAttemptOpen } from '#libs/domain/instance';
import { EVACUATED } from '../../../services/conductor/lifecycle';
import type { Machine } from '../machine';

/** What a survivor's end is judged by. */
export interface SurvivorViews {
  readonly machines: ReadonlyMap<string, Machine>;
  readonly latestOf: (uuid: string) => Instance | undefined;
  /** True when somebody asked to terminate it, or it ends by its own terms. */
  readonly isAskedToEnd: (uuid: string) => boolean;
  /** True when anybody asked for an operation on it, by the state that the operation leads to. */
  readonly isOperated: (uuid: string, state: Instance['state']) => boolean;
  /** True when what runs there is kept, and shown to operators: nobody vouches for it any more. */
  readonly isInDoubt: (uuid: string, host: string) => boolean;
  /** True when another machine took its host over while it ran there. */
  readonly isTakenOver: (uuid: string, host: string) => boolean;
}

/**
 * What ran healthy before the store went back runs after it on the same host, unless somebody asked for its end. Judged by the
 * machines, not by records: what a record of before says, and what it gives up, is what a loss makes wrong.
 */
export class SurvivorWatch {
  /** By instance and host: after how many losses it ran there. */
  readonly #survivors = new Map<string, number>();
  /** Builds in progress, likewise: after how many losses each began. */
  readonly #begun = new Map<string, number>();
  #losses = 0;

  constructor(private readonly views: SurvivorViews) {}

  /** The store has just gone back: the latest record of each instance is yet the one of before. */
  storeWentBack(): void {
    this.#losses++;
    for (const machine of this.views.machines.values()) {
      for (const uuid of machine.running.keys()) {
        const one = `${uuid} on ${machine.name}`;
        if (!this.#survivors.has(one) && this.#isHealthy(uuid, machine)) this.#survivors.set(one, this.#losses);
      }
    }
  }

  /** A host begins to build it. */
  begins(uuid: string, host: string): void {
    this.#begun.set(`${uuid} on ${host}`, this.#losses);
  }

  /** It stopped by itself, or with its machine. */
  isGone(uuid: string, host: string): void {
    this.#survivors.delete(`${uuid} on ${host}`);
  }

  /** The agent of a host says what is not so. */
  isLiedAbout(host: string): void {
    for (const one of this.#survivors.keys()) if (one.endsWith(` on ${host}`)) this.#survivors.delete(one);
  }

  /** What is wrong with the destruction of an instance on a host. */
  wrongOfDestroyed(uuid: string, host: string): string | undefined {
    if (!this.#survivors.delete(`${uuid} on ${host}`) || this.#isExcused(uuid, host)) return undefined;
    const { state, host: recorded, attempts = [] } = this.views.latestOf(uuid) ?? {};
    const told = attempts.map((one) => `${one.number} on ${one.host} ${one.outcome}`).join(', ');
    return `${uuid} ran on ${host} before the store went back, and is destroyed there: ${state} on ${recorded} (${told})`;
  }

  /**
   * The violation when an instance begins to run on a host: a survivor that runs on another. A build that began before the loss is
   * none of it: its agent stood still, and ends what timed out long ago (`checkOneHost` watches it).
   */
  wrongOfBuilt(uuid: string, host: string): string | undefined {
    const sinceLoss = this.#begun.get(`${uuid} on ${host}`) ?? this.#losses;
    this.#begun.delete(`${uuid} on ${host}`);
    const other = [...this.views.machines.values()].find(({ name, running }) => {
      const ranAtLoss = this.#survivors.get(`${uuid} on ${name}`);
      return name !== host && running.has(uuid) && ranAtLoss !== undefined && ranAtLoss <= sinceLoss;
    });
    if (other === undefined || this.#isExcused(uuid, other.name)) return undefined;
    return `${uuid} runs on ${other.name} since before the store went back, and is built on ${host}`;
  }

  /** What is wrong at rest: a survivor whose record does not have it there, or which runs elsewhere besides. */
  wrongAtRest(records: ReadonlyMap<string, Instance>, isPresent: (host: string) => boolean): string[] {
    return [...this.#survivors.keys()].flatMap((one) => {
      const [uuid = '', , host = ''] = one.split(' ');
      if (this.#isExcused(uuid, host) || !isPresent(host) || this.views.isInDoubt(uuid, host)) return [];
      const others = [...this.views.machines.values()].filter(
        ({ name, running }) => name !== host && running.has(uuid),
      );
      if (others.length > 0) return [`${one} ran before the store went back, and runs on ${others[0]?.name} too`];
      const record = records.get(uuid);
      if (record && record.host === host && THERE.includes(record.state)) return [];
      return [`${one} ran before the store went back, and its record is ${record?.state} on ${record?.host}`];
    });
  }

  #isHealthy(uuid: string, machine: Machine): boolean {
    const latest = this.views.latestOf(uuid);
    if (!latest || latest.host !== machine.name || latest.migration || latest.gang) return false;
    const isThere = latest.state === 'active' || isAttemptOpen(latest);
    const isPresentAttempt = machine.disk.get(uuid)?.attempt === latest.attempts.at(-1)?.number;
    return isThere && isPresentAttempt && !this.#isExcused(uuid, machine.name);
  }

  #isExcused(uuid: string, host: string): boolean {
    const { isAskedToEnd, isTakenOver, isOperated, latestOf } = this.views;
    if (isAskedToEnd(uuid) || isTakenOver(uuid, host)) return true;
    if (ENDING.some((state) => isOperated(uuid, state))) return true;
    // Its turn to make room, or its host's to be evacuated, is judged by others.
    return latestOf(uuid)?.attempts.some((one) => one.host === host && isEnded(one)) ?? false;
  }
}

const THERE: readonly Instance['state'][] = ['active', 'unknown', 'starting'];
/** What leads somebody's operation to the end of what runs on a host. */
const ENDING: readonly Instance['state'][] = ['stopping', 'rebuilding', 'shelving', 'resize'];
const ENDED: readonly Attempt['outcome'][] = ['preempted', 'rolled_back', 'evacuated'];

function isEnded({ outcome, reason }: Attempt): boolean {
  return ENDED.includes(outcome) || (outcome === 'timed_out' && reason === EVACUATED);
}
