import { isSkewed } from '#libs/domain/server-group';
import { membersIn } from '../../fleet/group-spread';
import { domainOf, HostUnion } from '../../fleet/host-domains';
import type { RequestFilter } from '../filter';

/**
 * group_spread: members of a group that spreads go where they do not leave it more uneven than it may be.
 *
 * Domains are the values of one name in the metadata of host aggregates: zones, racks. A host is refused if its domain would
 * have more than `max_skew` members more than the domain with the fewest, and if it is in no domain. Of the domains count
 * those that have a host where the request may go by its zone, traits, aggregates, image and extra specs, whether or not it
 * has room (Kubernetes' nodeAffinityPolicy Honor, nodeTaintsPolicy Ignore). Checked again when the claim is committed, so
 * that two schedulers at once never make a group uneven. Reason: `group_is_uneven`.
 */
export const groupSpreadFilter: RequestFilter = {
  kind: 'request',
  name: 'group_spread',
  prepare({ members }) {
    if (!members?.spread) return undefined;
    const { spread, domains, among } = members.spread;
    const membersOf = (domain: string) => membersIn(members, domain);
    const isRefused = (domain: string) => !among.includes(domain) || isSkewed(spread, { domain, among }, membersOf);
    const refused = [...domains.byDomain].filter(([domain]) => isRefused(domain)).map(([, hosts]) => hosts);
    return {
      kind: 'except',
      hosts: new HostUnion([...refused, domains.outside]),
      reason: {
        symbol: 'group_is_uneven',
        phrase: `would leave the group more than ${spread.maxSkew} uneven by ${spread.by}, or have no ${spread.by}`,
      },
      describe({ aggregates }) {
        const domain = domainOf(aggregates, spread.by);
        if (domain === undefined) return `no aggregate says the ${spread.by} of the host`;
        const least = Math.min(...among.map(membersOf));
        return `${membersOf(domain)} of group ${members.group.id} are in the same ${spread.by}, ${least} where there are fewest, and ${spread.maxSkew} more may be`;
      },
    };
  },
};
