import { isForbidden } from '#libs/domain/server-group';
import type { GroupMembers } from '../../fleet/located-request';
import type { Reason, RequestFilter } from '../filter';

/**
 * group_affinity: members of an affinity group go where the group is; any host while it is nowhere.
 *
 * Checked again when the claim is committed, so that two schedulers can't part a group. Reason: `group_is_elsewhere`.
 */
export const groupAffinityFilter: RequestFilter = {
  kind: 'request',
  name: 'group_affinity',
  prepare({ members }) {
    if (members?.group.policy !== 'affinity' || members.count === 0) return undefined;
    return {
      kind: 'only',
      hosts: hostsWhere(members, (here) => !isForbidden(members.group, members.count, here)),
      reason: ELSEWHERE,
      describe: () => `group ${members.group.id} is on another host`,
    };
  },
};

/**
 * group_anti_affinity: a host takes at most `max_per_host` members of an anti-affinity group, 1 unless the group says
 * otherwise.
 *
 * Checked again when the claim is committed. Reason: `group_is_here`.
 */
export const groupAntiAffinityFilter: RequestFilter = {
  kind: 'request',
  name: 'group_anti_affinity',
  prepare({ members }) {
    if (members?.group.policy !== 'anti-affinity') return undefined;
    const { maxPerHost, id } = members.group;
    return {
      kind: 'except',
      hosts: hostsWhere(members, (here) => isForbidden(members.group, members.count, here)),
      reason: HERE,
      describe: ({ index }) => `${members.perHost.get(index)} of group ${id} are here, ${maxPerHost} may be`,
    };
  },
};

/** Hosts with members of the group, by how many are there. Every other host is the same to both policies. */
function hostsWhere({ perHost }: GroupMembers, isMeant: (here: number) => boolean): ReadonlySet<number> {
  return new Set([...perHost].filter(([, here]) => isMeant(here)).map(([index]) => index));
}

const ELSEWHERE: Reason = { symbol: 'group_is_elsewhere', phrase: 'are not where the group is' };
const HERE: Reason = { symbol: 'group_is_here', phrase: 'have as many of the group as they may' };
