import type { HostState } from '../fleet/host-state';
import type { LocatedRequest, NamedHosts } from '../fleet/located-request';
import type { Constraint, Reason, RequestFilter } from './filter';

/** force_hosts: only the hosts that the request names, when it names any. Reason: `not_forced`. */
export const forcedHostsFilter = namedFilter('force_hosts', 'forceHosts', {
  kind: 'only',
  reason: { symbol: 'not_forced', phrase: 'are not among the hosts that the request names' },
  describe: ({ spec }) => `the request wants ${spec.forceHosts.join(', ')}`,
});

/** ignore_hosts: none of the hosts that the request names. Reason: `ignored`. */
export const ignoredHostsFilter = namedFilter('ignore_hosts', 'ignoreHosts', {
  kind: 'except',
  reason: { symbol: 'ignored', phrase: 'are ignored by the request' },
  describe: () => 'the request ignores the host',
});

/**
 * same_host: only hosts of one of the instances that the request names.
 *
 * Instances that are not known are on no host; when none is known, no host passes. Reason: `not_same_host`.
 */
export const sameHostFilter = namedFilter('same_host', 'sameHost', {
  kind: 'only',
  reason: { symbol: 'not_same_host', phrase: 'run none of the instances to be with' },
  describe: (_, hosts) =>
    hosts.length > 0
      ? `the instances asked for are on ${hosts.map(({ host }) => host.name).join(', ')}`
      : 'none of the instances asked for is on a host',
});

/** different_host: no host of any instance that the request names. Reason: `same_host_as_other`. */
export const differentHostFilter = namedFilter('different_host', 'differentHost', {
  kind: 'except',
  reason: { symbol: 'same_host_as_other', phrase: 'run an instance to keep away from' },
  describe: () => 'the host runs an instance to keep away from',
});

interface Terms {
  readonly kind: Constraint['kind'];
  readonly reason: Reason;
  readonly describe: (request: LocatedRequest, hosts: readonly HostState[]) => string;
}

/** A filter by one of the spec's lists of names; it constrains nothing when the list is empty. */
function namedFilter(name: string, list: keyof NamedHosts, { kind, reason, describe }: Terms): RequestFilter {
  return {
    kind: 'request',
    name,
    prepare(request) {
      if (request.spec[list].length === 0) return undefined;
      const named = request.named[list];
      const hosts = new Set(named.map(({ index }) => index));
      return { kind, hosts, reason, describe: () => describe(request, named) };
    },
  };
}
