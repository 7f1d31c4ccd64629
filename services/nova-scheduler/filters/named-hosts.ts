import type { HostState } from '../decision/host-state';
import type { NovaNode } from '../facts/nova-facts';
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
  const checks: ((node: NovaNode) => Refusal)[] = [];
  if (cell !== undefined)
    checks.push(({ cellUuid }) => (cellUuid === cell ? undefined : `it is not in the cell ${cell}`));
  if (destination?.host !== undefined)
    checks.push(({ host }) => (destination.host === host ? undefined : 'it is not the requested destination'));
  if (destination?.node !== undefined)
    checks.push(({ nodename }) => (destination.node === nodename ? undefined : 'it is not the requested destination'));
  if (ignored.size > 0)
    checks.push(({ host }) => (ignored.has(host.toLowerCase()) ? 'the request ignores it' : undefined));
  if (forced.size > 0)
    checks.push(({ host }) => (forced.has(host.toLowerCase()) ? undefined : 'the request forces another host'));
  if (forcedNodes.size > 0)
    checks.push(({ nodename }) => (forcedNodes.has(nodename) ? undefined : 'the request forces another node'));
  const check = ({ node }: Pick<HostState, 'node'>) => {
    for (const one of checks) {
      const refusal = one(node);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
  return { check, skipsFilters: isForced && request.hint(CHECK_TYPE).length === 0 };
}

function lowerCase(hosts: readonly string[] = []): ReadonlySet<string> {
  return new Set(hosts.map((host) => host.toLowerCase()));
}
