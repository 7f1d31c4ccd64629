import type { PersonalFilter, Reason } from './filter';

/**
 * group_affinity: members of an affinity group go where the group is; any host while it is nowhere.
 *
 * Held again when the claim is committed, so that two schedulers can't part a group. Reason: `group_is_elsewhere`.
 */
export const groupAffinityFilter: PersonalFilter = {
  kind: 'personal',
  name: 'group_affinity',
  prepare({ members }) {
    if (members?.group.policy !== 'affinity' || members.perHost.size === 0) return undefined;
    return {
      kind: 'only',
      hosts: new Set(members.perHost.keys()),
      reason: ELSEWHERE,
      describe: () => `group ${members.group.id} is on another host`,
    };
  },
};

const ELSEWHERE: Reason = { symbol: 'group_is_elsewhere', phrase: 'are not where the group is' };
