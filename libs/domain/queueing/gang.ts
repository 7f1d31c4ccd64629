import { hasBeenActive, type Instance } from '../instance';

type Fault = NonNullable<Instance['fault']>;

/** The fault of those whose gang has failed. With it on record, and not before, what was built of them may be destroyed. */
export const GANG_FAILED = 'gang_failed';

/** Characters of another's fault that are said again, whatever its host said. */
const MAX_WHY = 1_000;
const HALF_A_CHARACTER = /[\ud800-\udbff]$/;

/**
 * Whether the gang of a request has failed, by the records of its members, and by whom: undefined while it may still
 * succeed, and when it has.
 *
 * The naive way is to ask, when one fails, whether enough are ACTIVE by now. It fails when two conductors ask at different
 * times, while another becomes ACTIVE or is lost: they answer differently, and one destroys what the other has promised. So
 * nothing is asked that time can undo. A member that ended without ever being ACTIVE never will be, and one that was ACTIVE
 * has been. Once so many have failed that the rest are too few, that stays so whatever is read when, and once enough have
 * been ACTIVE it never comes to be. What it costs: a member that was ACTIVE and is lost before the others are built counts
 * as one that was built; and one that its client terminates counts neither way.
 */
export function gangFault(members: readonly Instance[]): Fault | undefined {
  const gang = members.find((member) => member.gang)?.gang;
  if (gang === undefined) return undefined;
  const told = members.find(({ fault }) => fault?.reason === GANG_FAILED);
  if (told?.fault) return told.fault;
  const failed = members.filter(hasFailed).sort((a, b) => a.updatedAtMs - b.updatedAtMs);
  const last = failed.at(-1);
  if (last === undefined || failed.length <= gang.count - gang.minCount) return undefined;
  const why = `${last.fault?.reason}: ${last.fault?.message}`.slice(0, MAX_WHY).replace(HALF_A_CHARACTER, '');
  const message = `${last.name} (${last.uuid}) failed, and ${gang.minCount} of ${gang.count} were to be ACTIVE: ${why}`;
  return { reason: GANG_FAILED, message };
}

/** Whether a member ended for good before it was ACTIVE; not by its client's word, nor by that of its gang. */
export function hasFailed(member: Instance): boolean {
  const { state, fault } = member;
  const hasEnded = state === 'error' || state === 'deleting' || state === 'deleted';
  return hasEnded && fault !== undefined && !hasBeenActive(member);
}
