import { isSkewed } from '#libs/domain/server-group';
import type { GroupMembers } from '#services/scheduler/fleet/group-spread';
import { countsIn } from '../../fleet/group-spread';
import { domainOf, HostUnion } from '../../fleet/host-domains';
import type { RequestFilter } from '../filter';

/**
 * group_spread: members of a group that spreads go where they do not leave it more uneven than it may be.
 *
 * Domains are the values of one name in the metadata of host aggregates: zones, racks. A host is refused if its domain would
 * have more than `max_skew` members more than the domain with the fewest, and if it is in no domain. Of the domains count
 * those that have a host where the request may go by its zone, traits, aggregates, image and extra specs, and that is up and
 * enabled, whether or not it has room (Kubernetes' nodeAffinityPolicy and nodeTaintsPolicy Honor). With the group's
 * `count_unavailable`, domains whose hosts are all down or disabled count as well (nodeTaintsPolicy Ignore). A move that is not
 * confirmed counts at both of its ends. Checked again when the claim is committed, so
 * that two schedulers at once never make a group uneven. Reason: `group_is_uneven`.
 */
export const groupSpreadFilter: RequestFilter = {
  kind: 'request',
  name: 'group_spread',
  prepare({ members }) {
    if (!members?.spread) return undefined;
    const { spread, domains, among, kept } = members.spread;
    const isUneven = (domain: string) =>
      isSkewed(spread, { domain, among }, (one) => countsIn(members, one, one === domain));
    const isRefused = (domain: string) => !among.includes(domain) || isUneven(domain);
    const fewest = namedFewest(members);
    const refused = [...domains.byDomain].filter(([domain]) => isRefused(domain)).map(([, hosts]) => hosts);
    return {
      kind: 'except',
      hosts: new HostUnion([...refused, domains.outside]),
      reason: {
        symbol: 'group_is_uneven',
        phrase: `would leave the group more than ${spread.maxSkew} uneven by ${spread.by}${fewest}, or have no ${spread.by}`,
      },
      describe({ aggregates }) {
        const domain = domainOf(aggregates, spread.by);
        if (domain === undefined) return `no aggregate says the ${spread.by} of the host`;
        const { most } = countsIn(members, domain, false);
        const back = (kept.get(domain) ?? 0) > 0 ? ' or may come back' : '';
        return `${most} of group ${members.group.id} are in the same ${spread.by}${back}, fewest elsewhere${fewest}, and ${spread.maxSkew} more may be`;
      },
    };
  },
};

/** The domains that hold the group back, by name. */
function namedFewest(members: GroupMembers): string {
  const { spread } = members;
  if (!spread || spread.among.length === 0) return '';
  const leastOf = (domain: string) => countsIn(members, domain, false).least;
  const least = Math.min(...spread.among.map(leastOf));
  const there = spread.among.filter((domain) => leastOf(domain) === least);
  const named = there.slice(0, NAMED).map((domain) => {
    return spread.unavailable.includes(domain) ? `${domain}, where no host is up and enabled` : domain;
  });
  const more = there.length > NAMED ? ` and ${there.length - NAMED} more` : '';
  return ` (${Math.max(0, least)} in ${named.join(', ')}${more})`;
}

/** So many domains are named. */
const NAMED = 3;
