import type { PersonalFilter, Reason } from './filter';

/**
 * same_host: only hosts of one of the instances that the request names.
 *
 * Instances that are not known are on no host; when none is known, no host passes. Reason: `not_same_host`.
 */
export const sameHostFilter: PersonalFilter = {
  kind: 'personal',
  name: 'same_host',
  prepare({ spec, hostOfInstance }) {
    if (spec.sameHost.length === 0) return undefined;
    const hosts = spec.sameHost.map(hostOfInstance).filter((host) => host !== undefined);
    return {
      kind: 'only',
      hosts: new Set(hosts.map((host) => host.index)),
      reason: OTHER_HOST,
      describe: () =>
        hosts.length > 0
          ? `the instances asked for are on ${hosts.map((host) => host.host.name).join(', ')}`
          : 'none of the instances asked for is on a host',
    };
  },
};

const OTHER_HOST: Reason = { symbol: 'not_same_host', phrase: 'run none of the instances to be with' };
