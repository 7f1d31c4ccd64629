import type { Consumer } from '#libs/domain/consumer';

/** Last word of the ids of groups whose members stay within one rack. */
export const WITHIN = 'within';

/** True for a member, not for a place that one may return to, of a group that stays within a rack. */
export function isWithin({ groupId = '', groupKept }: Consumer): boolean {
  return groupKept === undefined && groupId.endsWith(WITHIN);
}

/** Groups that stay within a rack, and which of them were parted by force: what runs is claimed again wherever it is. */
export class WithinWatch {
  readonly #partedByForce = new Set<string>();

  /** Judges the members of each group as they are now: what is wrong, if anything is. */
  onMembers(members: readonly Consumer[], isForced: boolean): string | undefined {
    const racks = new Map<string, Set<string>>();
    for (const { projectId, groupId, groupDomain } of members) {
      const group = `${projectId} ${groupId}`;
      racks.set(group, (racks.get(group) ?? new Set()).add(groupDomain?.domain ?? 'none'));
    }
    for (const [group, ofGroup] of racks) {
      if (ofGroup.size === 1) this.#partedByForce.delete(group);
      else if (isForced) this.#partedByForce.add(group);
      else if (!this.#partedByForce.has(group)) return `${group} is in ${[...ofGroup].join(' and ')}`;
    }
    return undefined;
  }
}
