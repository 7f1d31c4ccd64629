import type { PersonalFilter, Reason } from './filter';

/**
 * group_anti_affinity: a host takes at most `max_per_host` members of an anti-affinity group, 1 unless the group says
 * otherwise.
 *
 * Held again when the claim is committed. Reason: `group_is_here`.
 */
export const groupAntiAffinityFilter: PersonalFilter = {
  kind: 'personal',
  name: 'group_anti_affinity',
  prepare({ members }) {
    if (members?.group.policy !== 'anti-affinity') return undefined;
    const { maxPerHost, id } = members.group;
    const full = new Set<number>();
    for (const [index, count] of members.perHost) if (count >= Math.max(1, maxPerHost)) full.add(index);
    return {
      kind: 'except',
      hosts: full,
      reason: HERE,
      describe: ({ index }) => `${members.perHost.get(index)} of group ${id} are here, ${maxPerHost} may be`,
    };
  },
};

const HERE: Reason = { symbol: 'group_is_here', phrase: 'have as many of the group as they may' };
