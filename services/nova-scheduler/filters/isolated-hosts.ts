import { BlockList, isIP } from 'node:net';
import type { HostFilter } from './filter';

/** Isolated images run on isolated hosts only, and where that is restricted, nothing else runs there. */
export const isolatedHostsFilter: HostFilter = {
  name: 'IsolatedHostsFilter',
  runsOnRebuild: true,
  prepare({ request: { spec }, settings: { isolatedHosts, isolatedImages, restrictIsolatedHosts } }) {
    const isIsolated = isolatedImages.includes(spec.image?.id ?? '');
    return ({ node }) => {
      const isForThem = isolatedHosts.includes(node.host);
      if (isIsolated && !isForThem) return 'it is not one of the hosts for isolated images';
      const isRestricted = restrictIsolatedHosts && isForThem && !isIsolated;
      return isRestricted ? 'it is for isolated images only' : undefined;
    };
  },
};

/** The host's address is near the one of the hint `build_near_host_ip`, by the prefix of `cidr`. */
export const cidrAffinityFilter: HostFilter = {
  name: 'SimpleCIDRAffinityFilter',
  runsOnRebuild: false,
  prepare({ request: { hint } }) {
    const [address = ''] = hint('build_near_host_ip');
    if (address === '') return undefined;
    const [cidr = '/24'] = hint('cidr');
    const net = netOf(address, cidr);
    return ({ node }) => {
      const { host_ip: own } = node.capabilities;
      if (net === undefined) return `${address}${cidr} is no network`;
      const family = typeof own === 'string' ? isIP(own) : 0;
      if (typeof own !== 'string' || family === 0) return 'its address is not known';
      return net.check(own, familyOf(family)) ? undefined : `its address ${own} is not in ${address}${cidr}`;
    };
  },
};

function netOf(address: string, cidr: string): BlockList | undefined {
  const family = isIP(address);
  const prefix = /^\/(\d{1,3})$/.exec(cidr)?.[1];
  if (family === 0 || prefix === undefined || Number(prefix) > (family === 4 ? 32 : 128)) return undefined;
  const net = new BlockList();
  net.addSubnet(address, Number(prefix), familyOf(family));
  return net;
}

function familyOf(family: number): 'ipv4' | 'ipv6' {
  return family === 4 ? 'ipv4' : 'ipv6';
}
