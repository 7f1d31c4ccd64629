import { pathOf } from '../../fleet/host-domains';
import type { RequestFilter } from '../filter';

/**
 * chosen_domain: while a gang is tried in one domain (a rack, a block), hosts elsewhere are left out.
 *
 * The scheduler tries the domains in which all of the gang may fit, the one with the fewest pieces left over first
 * (`decision/gang/decide-within.ts`). Reason: `outside_domain`.
 */
export const chosenDomainFilter: RequestFilter = {
  kind: 'request',
  name: 'chosen_domain',
  prepare({ chosenDomain }) {
    if (!chosenDomain) return undefined;
    const { levels, domain, hosts } = chosenDomain;
    const by = levels.join('/');
    return {
      kind: 'only',
      hosts,
      reason: { symbol: 'outside_domain', phrase: `are outside ${by} ${domain}` },
      describe: ({ aggregates }) =>
        `the gang is tried in ${by} ${domain}; the host is in ${pathOf(aggregates, levels) ?? 'none'}`,
    };
  },
};
