import type { PersonalFilter, Reason } from './filter';

/** force_hosts: only the hosts that the request names, when it names any. Reason: `not_forced`. */
export const forcedHostsFilter: PersonalFilter = {
  kind: 'personal',
  name: 'force_hosts',
  prepare({ spec, hostByName }) {
    if (spec.forceHosts.length === 0) return undefined;
    const hosts = spec.forceHosts.map(hostByName).filter((host) => host !== undefined);
    return {
      kind: 'only',
      hosts: new Set(hosts.map((host) => host.index)),
      reason: NOT_FORCED,
      describe: () => `the request wants ${spec.forceHosts.join(', ')}`,
    };
  },
};

const NOT_FORCED: Reason = { symbol: 'not_forced', phrase: 'are not among the hosts that the request names' };
