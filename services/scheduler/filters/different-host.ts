import type { PersonalFilter, Reason } from './filter';

/** different_host: no host of any instance that the request names. Reason: `same_host_as_other`. */
export const differentHostFilter: PersonalFilter = {
  kind: 'personal',
  name: 'different_host',
  prepare({ spec, hostOfInstance }) {
    if (spec.differentHost.length === 0) return undefined;
    const hosts = spec.differentHost.map(hostOfInstance).filter((host) => host !== undefined);
    return {
      kind: 'except',
      hosts: new Set(hosts.map((host) => host.index)),
      reason: TAKEN,
      describe: () => 'the host runs an instance to keep away from',
    };
  },
};

const TAKEN: Reason = { symbol: 'same_host_as_other', phrase: 'run an instance to keep away from' };
