import { hasBeenActive, type InstanceRow } from '../instance';

type Fault = NonNullable<InstanceRow['fault']>;

/** The fault of the members of a failed gang. Built members may be destroyed only with this fault on record. */
export const GANG_FAILED = 'gang_failed';

/** The fault of a built instance that is gone from its host, or whose host is dead. */
export const INSTANCE_LOST = 'instance_lost';

/** Limit of the characters quoted from another member's fault. */
const MAX_WHY = 1_000;
const HALF_A_CHARACTER = /[\ud800-\udbff]$/;

/**
 * The fault of a gang, computed from the records of its members; undefined while it may still succeed, and once it has.
 *
 * The naive way is to ask, when one fails, whether enough are ACTIVE by now. It fails when two conductors ask at
 * different times, while another becomes ACTIVE or is lost: they answer differently, and one destroys what the other
 * has promised. So only facts count that never change. A member that ended without ever being ACTIVE never will be, and
 * one that was ACTIVE has been. Once too many have failed, that stays true whenever it is read, and once enough have
 * been ACTIVE it never becomes true. The cost: a member that was ACTIVE and is lost before the others are built counts
 * as built, unless its gang says what a loss means to it (`onLoss`); a member that its client terminates counts neither way.
 */
export function gangFault(members: readonly InstanceRow[]): Fault | undefined {
  const told = members.find(({ fault }) => fault?.reason === GANG_FAILED);
  if (told?.fault && told.gang) return told.fault;
  const faults = membersByKind(members).map(faultOfKind);
  return faults.find((fault) => fault !== undefined);
}

/** The members of each kind of a gang: those of one spec, who have a minimum of their own. */
export function membersByKind<T extends Pick<InstanceRow, 'gang'>>(members: readonly T[]): readonly (readonly T[])[] {
  const kinds = [...new Set(members.map(kindOf))].sort((a, b) => a - b);
  return kinds.map((kind) => members.filter((member) => kindOf(member) === kind));
}

/** The number of a member's kind. */
export function kindOf({ gang }: Pick<InstanceRow, 'gang'>): number {
  return gang?.kind ?? 0;
}

function faultOfKind(members: readonly InstanceRow[]): Fault | undefined {
  const gang = members.find((member) => member.gang)?.gang;
  if (gang === undefined) return undefined;
  const failed = lastFirst(members.filter(hasFailed));
  if (failed[0] && failed.length > gang.count - gang.minCount) {
    return faultBy(failed[0], `failed, and ${gang.minCount} of ${gang.count} were to be ACTIVE`);
  }
  // Members that have ended never come back, so this, too, stays true once it is.
  const [lost] = lastFirst(members.filter(isLost));
  const left = members.filter((member) => !isEnded(member)).length;
  if (lost === undefined || left >= gang.minCount) return undefined;
  return faultBy(lost, `was lost, ${left} of its gang are left, and ${gang.minCount} are its minimum`);
}

function lastFirst(members: readonly InstanceRow[]): readonly InstanceRow[] {
  return members.toSorted((a, b) => b.updatedAtMs - a.updatedAtMs);
}

function faultBy({ name, uuid, fault }: InstanceRow, how: string): Fault {
  const why = `${fault?.reason}: ${fault?.message}`.slice(0, MAX_WHY).replace(HALF_A_CHARACTER, '');
  return { reason: GANG_FAILED, message: `${name} (${uuid}) ${how}: ${why}` };
}

/** True when it is at its end, or on the way there. */
export function isEnded({ state }: Pick<InstanceRow, 'state'>): boolean {
  return ENDED.includes(state);
}

const ENDED: readonly InstanceRow['state'][] = ['undoing', 'error', 'deleting', 'deleted'];

/** True when a member of a gang with a policy for losses ended for good after it was ACTIVE, except by somebody's decision. */
export function isLost(member: InstanceRow): boolean {
  const { state, gang, fault } = member;
  if (gang?.onLoss === undefined || state !== 'error' || fault === undefined) return false;
  return fault.reason !== GANG_FAILED && hasBeenActive(member);
}

/** True when the end of a member in ERROR may mean the end of its gang. */
export function concernsGang(member: Pick<InstanceRow, 'gang' | 'fault' | 'attempts'>): boolean {
  if (member.gang === undefined || member.fault?.reason === GANG_FAILED) return false;
  return member.gang.onLoss !== undefined || !hasBeenActive(member);
}

/** True when a member ended for good before it was ACTIVE, except by its client's or its gang's decision. */
export function hasFailed(member: InstanceRow): boolean {
  const { state, fault } = member;
  const hasEnded = state === 'error' || state === 'deleting' || state === 'deleted';
  return hasEnded && fault !== undefined && !hasBeenActive(member);
}
