import type { HostFilter } from './filter';

/** A host has fewer members of the anti-affinity group than one host may have. A member that is there already may stay. */
export const antiAffinityFilter: HostFilter = {
  name: 'ServerGroupAntiAffinityFilter',
  runsOnRebuild: false,
  prepare({ request: { group }, instanceUuid, locate }) {
    if (group?.policy !== 'anti-affinity') return undefined;
    const membersOn = locate(group.members);
    return (host) => {
      const members = membersOn(host);
      if (instanceUuid !== undefined && members.has(instanceUuid)) return undefined;
      return members.size < group.maxServerPerHost ? undefined : `${members.size} of the server group are there`;
    };
  },
};

/** A host is one of those that the affinity group is on, if it is on any. */
export const affinityFilter: HostFilter = {
  name: 'ServerGroupAffinityFilter',
  runsOnRebuild: false,
  prepare({ request: { group }, placedHosts, claimedRoots }) {
    if (group?.policy !== 'affinity') return undefined;
    const claimed = claimedRoots();
    if (group.hosts.size + placedHosts.size + claimed.size === 0) return undefined;
    return ({ node: { host, uuid } }) =>
      group.hosts.has(host) || placedHosts.has(host) || claimed.has(uuid) ? undefined : 'the server group is elsewhere';
  },
};

/** The hint `same_host`: a host of one of these instances. */
export const sameHostFilter: HostFilter = {
  name: 'SameHostFilter',
  runsOnRebuild: false,
  prepare({ request, locate }) {
    const uuids = request.hint('same_host');
    if (uuids.length === 0) return undefined;
    const on = locate(uuids);
    return (host) => (on(host).size > 0 ? undefined : 'none of the instances of same_host is there');
  },
};

/** The hint `different_host`: a host of none of these instances. */
export const differentHostFilter: HostFilter = {
  name: 'DifferentHostFilter',
  runsOnRebuild: false,
  prepare({ request, locate }) {
    const uuids = request.hint('different_host');
    if (uuids.length === 0) return undefined;
    const on = locate(uuids);
    return (host) => (on(host).size === 0 ? undefined : 'an instance of different_host is there');
  },
};
