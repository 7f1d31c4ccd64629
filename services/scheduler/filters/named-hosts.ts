import { indexesOf, type Reason, type RequestFilter } from './filter';

/** force_hosts: only the hosts that the request names, when it names any. Reason: `not_forced`. */
export const forcedHostsFilter: RequestFilter = {
  kind: 'request',
  name: 'force_hosts',
  prepare({ spec, forcedHosts }) {
    if (spec.forceHosts.length === 0) return undefined;
    return {
      kind: 'only',
      hosts: indexesOf(forcedHosts),
      reason: NOT_FORCED,
      describe: () => `the request wants ${spec.forceHosts.join(', ')}`,
    };
  },
};

/** ignore_hosts: none of the hosts that the request names. Reason: `ignored`. */
export const ignoredHostsFilter: RequestFilter = {
  kind: 'request',
  name: 'ignore_hosts',
  prepare({ spec, ignoredHosts }) {
    if (spec.ignoreHosts.length === 0) return undefined;
    return {
      kind: 'except',
      hosts: indexesOf(ignoredHosts),
      reason: IGNORED,
      describe: () => 'the request ignores the host',
    };
  },
};

const NOT_FORCED: Reason = { symbol: 'not_forced', phrase: 'are not among the hosts that the request names' };
const IGNORED: Reason = { symbol: 'ignored', phrase: 'are ignored by the request' };
