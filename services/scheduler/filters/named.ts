import type { HostState } from '../fleet/host-state';
import type { LocatedRequest, NamedHosts } from '../fleet/located-request';
import type { Constraint, Reason, RequestFilter } from './filter';

/** force_hosts: only the hosts that the request names, when it names any. Reason: `not_forced`. */
export const forcedHostsFilter = namedFilter('force_hosts', 'forceHosts', {
  kind: 'only',
  reason: { symbol: 'not_forced', phrase: 'are not among the hosts that the request names' },
  describe: ({ spec }) => `the request wants ${spec.forceHosts.join(', ')}`,
});

/** ignore_hosts: none of the hosts that the request names, nor that a move leaves. Reason: `ignored`. */
export const ignoredHostsFilter = namedFilter('ignore_hosts', 'ignoreHosts', {
  kind: 'except',
  reason: ({ spec: { ignoreHosts }, leaves }) => ({ symbol: 'ignored', phrase: ignoredPhrase(ignoreHosts, leaves) }),
  describe: ({ leaves }, _, { host }) =>
    host.name === leaves ? 'it is to leave the host' : 'the request ignores the host',
});

/** A move ignores the host that it leaves; the phrase says so. */
function ignoredPhrase(ignored: readonly string[], leaves: string | undefined): string {
  if (!leaves || !ignored.includes(leaves)) return 'are ignored by the request';
  return ignored.length === 1 ? `are left by the move (${leaves})` : `are left by the move (${leaves}), or ignored`;
}

/**
 * same_host: only hosts of one of the instances that the request names.
 *
 * Instances that are not known, or another project's, are on no host; when none is known, no host passes. Reason: `not_same_host`.
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
  readonly reason: Reason | ((request: LocatedRequest) => Reason);
  readonly describe: (request: LocatedRequest, hosts: readonly HostState[], host: HostState) => string;
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
      const said = typeof reason === 'function' ? reason(request) : reason;
      return { kind, hosts, reason: said, describe: (host) => describe(request, named, host) };
    },
  };
}
