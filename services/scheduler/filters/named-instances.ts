import { indexesOf, type Reason, type RequestFilter } from './filter';

/**
 * same_host: only hosts of one of the instances that the request names.
 *
 * Instances that are not known are on no host; when none is known, no host passes. Reason: `not_same_host`.
 */
export const sameHostFilter: RequestFilter = {
  kind: 'request',
  name: 'same_host',
  prepare({ spec, sameHosts }) {
    if (spec.sameHost.length === 0) return undefined;
    return {
      kind: 'only',
      hosts: indexesOf(sameHosts),
      reason: OTHER_HOST,
      describe: () =>
        sameHosts.length > 0
          ? `the instances asked for are on ${sameHosts.map(({ host }) => host.name).join(', ')}`
          : 'none of the instances asked for is on a host',
    };
  },
};

/** different_host: no host of any instance that the request names. Reason: `same_host_as_other`. */
export const differentHostFilter: RequestFilter = {
  kind: 'request',
  name: 'different_host',
  prepare({ spec, otherHosts }) {
    if (spec.differentHost.length === 0) return undefined;
    return {
      kind: 'except',
      hosts: indexesOf(otherHosts),
      reason: TAKEN,
      describe: () => 'the host runs an instance to keep away from',
    };
  },
};

const OTHER_HOST: Reason = { symbol: 'not_same_host', phrase: 'run none of the instances to be with' };
const TAKEN: Reason = { symbol: 'same_host_as_other', phrase: 'run an instance to keep away from' };
