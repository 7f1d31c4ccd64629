import type { PersonalFilter, Reason } from './filter';

/** ignore_hosts: none of the hosts that the request names. Reason: `ignored`. */
export const ignoredHostsFilter: PersonalFilter = {
  kind: 'personal',
  name: 'ignore_hosts',
  prepare({ spec, hostByName }) {
    if (spec.ignoreHosts.length === 0) return undefined;
    const hosts = spec.ignoreHosts.map(hostByName).filter((host) => host !== undefined);
    return {
      kind: 'except',
      hosts: new Set(hosts.map((host) => host.index)),
      reason: IGNORED,
      describe: () => 'the request ignores the host',
    };
  },
};

const IGNORED: Reason = { symbol: 'ignored', phrase: 'are ignored by the request' };
