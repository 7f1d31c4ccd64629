import type { HostState } from '../decision/host-state';
import { CHECK_TYPE, type NovaRequest } from '../request/nova-request';
import type { Refusal } from './filter';

/** Hosts that a request names or ignores: no filter of Nova's; it holds before them. */
export interface NamedHosts {
  readonly check: (host: Pick<HostState, 'node'>) => Refusal;
  /** A forced host passes unfiltered, unless Nova itself asks whether it suits. */
  readonly skipsFilters: boolean;
}

export function namedHosts(request: NovaRequest): NamedHosts {
  const { spec } = request;
  const ignored = lowerCase(spec.ignore_hosts);
  const forced = lowerCase(spec.force_hosts);
  const forcedNodes = new Set(spec.force_nodes);
  const destination = spec.requested_destination;
  const cell = destination?.allow_cross_cell_move ? undefined : destination?.cell?.uuid;
  const isForced = forced.size + forcedNodes.size > 0;
  const check = ({ node }: Pick<HostState, 'node'>) => {
    const host = node.host.toLowerCase();
    if (cell !== undefined && node.cellUuid !== cell) return `it is not in the cell ${cell}`;
    if (destination?.host !== undefined && destination.host !== node.host) return 'it is not the requested destination';
    if (destination?.node !== undefined && destination.node !== node.nodename)
      return 'it is not the requested destination';
    if (ignored.has(host)) return 'the request ignores it';
    if (forced.size > 0 && !forced.has(host)) return 'the request forces another host';
    if (forcedNodes.size > 0 && !forcedNodes.has(node.nodename)) return 'the request forces another node';
    return undefined;
  };
  return { check, skipsFilters: isForced && request.hint(CHECK_TYPE).length === 0 };
}

function lowerCase(hosts: readonly string[] = []): ReadonlySet<string> {
  return new Set(hosts.map((host) => host.toLowerCase()));
}
