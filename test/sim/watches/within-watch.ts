import type { Consumer } from '#libs/domain/consumer';
import { rackOf } from '../settings';

/** Last word of the ids of groups whose members stay within one rack. */
export const WITHIN = 'within';

/** True for a member, not for a place that one may return to, of a group that stays within a rack. */
export function isWithin({ groupId = '', groupKept }: Consumer): boolean {
  return groupKept === undefined && groupId.endsWith(WITHIN);
}

/** Groups that stay within a rack, and which of them were parted by force: what runs is claimed again wherever it is. */
export class WithinWatch {
  readonly #partedByForce = new Set<string>();

  /**
   * Judges the members of each group as they are now, by the racks of the hosts that they hold: what is wrong, if anything is.
   *
   * @param hostsOf  names of the hosts that a consumer holds resources on
   */
  onMembers(
    members: readonly Consumer[],
    hostsOf: (member: Consumer) => readonly string[],
    isForced: boolean,
  ): string | undefined {
    const racks = new Map<string, Set<string>>();
    for (const member of members) {
      const group = `${member.projectId} ${member.groupId}`;
      const ofGroup = racks.get(group) ?? new Set();
      for (const host of hostsOf(member)) ofGroup.add(rackOf(host) ?? 'none');
      racks.set(group, ofGroup);
    }
    for (const [group, ofGroup] of racks) {
      if (ofGroup.size === 1) this.#partedByForce.delete(group);
      else if (isForced) this.#partedByForce.add(group);
      else if (!this.#partedByForce.has(group)) return `${group} is in ${[...ofGroup].join(' and ')}`;
    }
    return undefined;
  }
}
