import { hasBeenActive, type InstanceRow } from '../instance';

type Fault = NonNullable<InstanceRow['fault']>;

/** The fault of the members of a failed gang. Built members may be destroyed only with this fault on record. */
export const GANG_FAILED = 'gang_failed';

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
 * as built; a member that its client terminates counts neither way.
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
  const failed = members.filter(hasFailed).sort((a, b) => a.updatedAtMs - b.updatedAtMs);
  const last = failed.at(-1);
  if (last === undefined || failed.length <= gang.count - gang.minCount) return undefined;
  const why = `${last.fault?.reason}: ${last.fault?.message}`.slice(0, MAX_WHY).replace(HALF_A_CHARACTER, '');
  const message = `${last.name} (${last.uuid}) failed, and ${gang.minCount} of ${gang.count} were to be ACTIVE: ${why}`;
  return { reason: GANG_FAILED, message };
}

/** True when a member ended for good before it was ACTIVE, except by its client's or its gang's decision. */
export function hasFailed(member: InstanceRow): boolean {
  const { state, fault } = member;
  const hasEnded = state === 'error' || state === 'deleting' || state === 'deleted';
  return hasEnded && fault !== undefined && !hasBeenActive(member);
}
