import { type GroupCounts, isForbidden } from '#libs/domain/server-group';
import type { GroupMembers } from '#services/scheduler/fleet/group-spread';
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
    if (members?.group.policy !== 'affinity' || members.count + members.kept.count === 0) return undefined;
    const { id } = members.group;
    return {
      kind: 'only',
      hosts: hostsWhere(members, (counts) => !isForbidden(members.group, counts)),
      reason: members.kept.count > 0 ? MOVING : ELSEWHERE,
      describe: () =>
        members.kept.count > 0
          ? `a move of group ${id} is neither confirmed nor reverted: the group may come to be on another host`
          : `group ${id} is on another host; it moves as one, by a drain, a rebalance or an evacuation of its host`,
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
      hosts: hostsWhere(members, (counts) => isForbidden(members.group, counts)),
      reason: HERE,
      describe: ({ index }) => {
        const kept = members.kept.perHost.get(index) ?? 0;
        const back = kept > 0 ? ` and ${kept} on a move may come back` : '';
        return `${members.perHost.get(index) ?? 0} of group ${id} are here${back}, ${maxPerHost} may be`;
      },
    };
  },
};

/** Hosts with members of the group, by how many are there. Every other host is the same to both policies. */
function hostsWhere(
  { perHost, count: members, kept }: GroupMembers,
  isMeant: (counts: GroupCounts) => boolean,
): ReadonlySet<number> {
  const countsOn = (index: number) => {
    return { members, here: perHost.get(index) ?? 0, kept: kept.count, keptHere: kept.perHost.get(index) ?? 0 };
  };
  const indexes = new Set([...perHost.keys(), ...kept.perHost.keys()]);
  return new Set([...indexes].filter((index) => isMeant(countsOn(index))));
}

const ELSEWHERE: Reason = { symbol: 'group_is_elsewhere', phrase: 'are not where the group is' };
const MOVING: Reason = { symbol: 'group_is_elsewhere', phrase: 'are not where the group, on a move, may come to be' };
const HERE: Reason = { symbol: 'group_is_here', phrase: 'have as many of the group as they may' };
