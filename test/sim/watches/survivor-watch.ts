import { type Attempt, type Instance, isAttemptOpen } from '#libs/domain/instance';
import { EVACUATED } from '../../../services/conductor/lifecycle';
import type { Machine } from '../machine';

/** Facts that decide whether a survivor may end. */
export interface SurvivorViews {
  readonly machines: ReadonlyMap<string, Machine>;
  readonly latestOf: (uuid: string) => Instance | undefined;
  /** True when its client asked to terminate it, or its time limit or preemption ends it. */
  readonly isAskedToEnd: (uuid: string) => boolean;
  /** True when a client asked for an operation that leads to this state. */
  readonly isOperated: (uuid: string, state: Instance['state']) => boolean;
  /** True when it is kept, and reported as a doubt. */
  readonly isInDoubt: (uuid: string, host: string) => boolean;
  /** True when another machine took its host over while it ran there. */
  readonly isTakenOver: (uuid: string, host: string) => boolean;
  /** True when an operator declared the host dead, and it has not reported since. */
  readonly isDeclaredDead: (host: string) => boolean;
  /** True when the store knows no such host, whose agent is gone for good. */
  readonly isForgotten: (host: string) => boolean;
}

/**
 * An instance that ran healthy before the store went back runs after it on the same host, unless a client asked for its end. The machines
 * decide, not the records: those are what a loss makes wrong.
 */
export class SurvivorWatch {
  /** Losses of the store before each survivor ran, by instance and host. */
  readonly #survivors = new Map<string, number>();
  /** Losses of the store before each build in progress began. */
  readonly #begun = new Map<string, number>();
  #losses = 0;

  constructor(private readonly views: SurvivorViews) {}

  /** The store has just gone back: the latest record of each instance is still the one from before. */
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

  /** It exited, or its machine did. */
  isGone(uuid: string, host: string): void {
    this.#survivors.delete(`${uuid} on ${host}`);
  }

  /** The agent of a host sends false reports. */
  isLiedAbout(host: string): void {
    for (const one of this.#survivors.keys()) if (one.endsWith(` on ${host}`)) this.#survivors.delete(one);
  }

  /** The violation in the destruction of an instance on a host, if any. */
  wrongOfDestroyed(uuid: string, host: string): string | undefined {
    if (!this.#survivors.delete(`${uuid} on ${host}`) || this.#isExcused(uuid, host)) return undefined;
    const { state, host: recorded, attempts = [] } = this.views.latestOf(uuid) ?? {};
    const told = attempts.map((one) => `${one.number} on ${one.host} ${one.outcome}`).join(', ');
    return `${uuid} ran on ${host} before the store went back, and is destroyed there: ${state} on ${recorded} (${told})`;
  }

  /**
   * The violation when an instance begins to run on a host: a survivor that runs on another. A build from before the loss is exempt: its
   * agent was paused and ends an attempt that timed out long ago (`checkOneHost` checks that).
   */
  wrongOfBuilt(uuid: string, host: string): string | undefined {
    const sinceLoss = this.#begun.get(`${uuid} on ${host}`) ?? this.#losses;
    this.#begun.delete(`${uuid} on ${host}`);
    const other = [...this.views.machines.values()].find(({ name, running }) => {
      const ranAtLoss = this.#survivors.get(`${uuid} on ${name}`);
      return name !== host && running.has(uuid) && ranAtLoss !== undefined && ranAtLoss <= sinceLoss;
    });
    if (other === undefined || this.#isExcused(uuid, other.name) || this.#isUnheardOf(other.name)) return undefined;
    return `${uuid} runs on ${other.name} since before the store went back, and is built on ${host}`;
  }

  /** Violations at rest: survivors whose record does not name their host, or that also run elsewhere. */
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

  /** An operator has said that nothing runs there; or a wiped store lost the host, and nobody is left to say that something does. */
  #isUnheardOf(host: string): boolean {
    return this.views.isDeclaredDead(host) || this.views.isForgotten(host);
  }

  #isExcused(uuid: string, host: string): boolean {
    const { isAskedToEnd, isTakenOver, isOperated, latestOf } = this.views;
    if (isAskedToEnd(uuid) || isTakenOver(uuid, host)) return true;
    if (ENDING.some((state) => isOperated(uuid, state))) return true;
    // Other checks judge preemption and evacuation.
    return latestOf(uuid)?.attempts.some((one) => one.host === host && isEnded(one)) ?? false;
  }
}

const THERE: readonly Instance['state'][] = ['active', 'unknown', 'starting'];
/** States of operations that end the instance on its host. */
const ENDING: readonly Instance['state'][] = ['stopping', 'rebuilding', 'shelving', 'resize'];
const ENDED: readonly Attempt['outcome'][] = ['preempted', 'rolled_back', 'evacuated'];

function isEnded({ outcome, reason }: Attempt): boolean {
  return ENDED.includes(outcome) || (outcome === 'timed_out' && reason === EVACUATED);
}
