import { isParted } from '#libs/domain/server-group';
import { HostUnion, pathOf } from '../../fleet/host-domains';
import type { RequestFilter } from '../filter';

/**
 * group_within: members of a group that stays within a domain (a rack, a block) go where the group is; any domain while it
 * is nowhere, and no host outside all of them.
 *
 * Domains are the values of names in the metadata of host aggregates, nested from the outside in. Which domain the first
 * members go to is decided for all of a request at once (`decision/gang/decide-within.ts`). Checked again when the claim is
 * committed, so that two schedulers can't part a group. Reason: `group_is_outside`.
 */
export const groupWithinFilter: RequestFilter = {
  kind: 'request',
  name: 'group_within',
  prepare({ members }) {
    if (!members?.within) return undefined;
    const { levels, domains, perDomain, passing } = members.within;
    const by = levels.join('/');
    const countsIn = (domain: string) => {
      return { members: members.count, here: perDomain.get(domain) ?? 0, passing: passing.get(domain) ?? 0 };
    };
    const homes = [...perDomain].filter(([, count]) => count > 0).map(([domain]) => domain);
    const refused = [...domains.byDomain].filter(([domain]) => isParted(countsIn(domain))).map(([, hosts]) => hosts);
    const where = homes.length === 0 ? '' : ` (${homes.slice(0, NAMED).join(', ')})`;
    return {
      kind: 'except',
      hosts: new HostUnion([...refused, domains.outside]),
      reason: { symbol: 'group_is_outside', phrase: `are not in the ${by} of the group${where}, or in none` },
      describe({ aggregates }) {
        const domain = pathOf(aggregates, levels);
        if (domain === undefined) return `no aggregate says the ${by} of the host`;
        if ((passing.get(domain) ?? 0) > 0)
          return `a member of group ${members.group.id} came to ${domain} by a move that may be reverted`;
        return `group ${members.group.id} stays within ${by}${where}; the host is in ${domain}`;
      },
    };
  },
};

/** So many domains are named. */
const NAMED = 3;
