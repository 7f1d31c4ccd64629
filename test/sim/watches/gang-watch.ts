import { BUILT_STATES, type Instance } from '#libs/domain/instance';
import { INSTANCE_LOST, isEnded, membersByKind } from '#libs/domain/queueing/gang';

const LOST_FROM: readonly Instance['state'][] = [...BUILT_STATES, 'revert_resize'];

const STOPPED: readonly Instance['state'][] = ['stopped', 'stopping'];

const left = (member: Instance) => !isEnded(member);
/** True for a member that had not ended when its gang failed. */
const leftBefore = (member: Instance) => left(member) || member.fault?.reason === 'gang_failed';

/** History of gangs, from all versions of their members' records. */
export class GangWatch {
  /** Members by request. */
  readonly #members = new Map<string, Map<string, Instance>>();
  readonly #wereActive = new Set<string>();
  /** Members that were stopped when they were lost, until they are back. */
  readonly #stoppedLost = new Set<string>();

  /** The violation in a record that is written now, if any. */
  onRecord(instance: Instance): string | undefined {
    const { uuid, requestId, gang, state, fault } = instance;
    if (gang === undefined) return undefined;
    const members = this.#members.get(requestId) ?? new Map<string, Instance>();
    const before = members.get(uuid);
    this.#members.set(requestId, members.set(uuid, instance));
    if (state === 'active') this.#wereActive.add(uuid);
    const isLost = state === 'error' && fault?.reason === INSTANCE_LOST;
    if (isLost && gang.onLoss === 'restore' && before && LOST_FROM.includes(before.state)) {
      return `${uuid} was ${before.state}, is lost, and is not built again`;
    }
    if (state === 'pending' && before && STOPPED.includes(before.state)) this.#stoppedLost.add(uuid);
    if (STOPPED.includes(state)) this.#stoppedLost.delete(uuid);
    if (state === 'active' && this.#stoppedLost.has(uuid)) return `${uuid} was stopped, is restored, and is ACTIVE`;
    if (fault?.reason !== 'gang_failed' || before?.fault?.reason === 'gang_failed') return undefined;
    const kinds = membersByKind([...members.values()]);
    if (kinds.some((ofKind) => this.#failedOf(ofKind) > sparesOf(ofKind) || this.#isBelow(ofKind, leftBefore)))
      return undefined;
    const counts = kinds.map((ofKind) => `${this.#failedOf(ofKind)} failed and ${sparesOf(ofKind)} may`).join('; ');
    return `${uuid} is undone, though of its gang ${counts}`;
  }

  /**
   * Gangs with running members at rest, although of some kind fewer than its minimum were ever ACTIVE; except gangs with a terminated
   * member, or one whose record may be lost.
   */
  unkept(isExcused: (uuid: string) => boolean): string[] {
    return [...this.#members].flatMap(([requestId, members]) => {
      const all = [...members.values()];
      const there = all.filter(({ state }) => state !== 'error' && state !== 'deleted').length;
      if (there === 0 || all.some(({ uuid }) => isExcused(uuid))) return [];
      return membersByKind(all).flatMap((ofKind) => {
        const minCount = ofKind[0]?.gang?.minCount ?? 0;
        if (this.#isBelow(ofKind, left)) return [`of ${requestId} some were lost, and fewer are left than its minimum`];
        const active = ofKind.filter(({ uuid }) => this.#wereActive.has(uuid)).length;
        if (active >= minCount) return [];
        return [`of ${requestId} ${active} were ACTIVE, ${minCount} were to be, and ${there} are not undone`];
      });
    });
  }

  /** True for a gang with a policy that a loss has left with some members, and fewer than its minimum. */
  #isBelow(members: readonly Instance[], isLeft: (member: Instance) => boolean): boolean {
    const { onLoss, minCount = 0 } = members[0]?.gang ?? {};
    const isLost = ({ uuid, state, fault }: Instance) => {
      return state === 'error' && fault?.reason !== 'gang_failed' && this.#wereActive.has(uuid);
    };
    const count = members.filter(isLeft).length;
    return onLoss !== undefined && count < minCount && members.some(isLost);
  }

  #failedOf(members: readonly Instance[]): number {
    return members.filter((one) => this.#hasFailed(one)).length;
  }

  #hasFailed({ uuid, state, fault }: Instance): boolean {
    const hasEnded = state === 'error' || state === 'deleting' || state === 'deleted';
    return hasEnded && fault !== undefined && fault.reason !== 'gang_failed' && !this.#wereActive.has(uuid);
  }
}

/** Number of a kind that may fail. */
function sparesOf([member]: readonly Instance[]): number {
  return member?.gang ? member.gang.count - member.gang.minCount : 0;
}
