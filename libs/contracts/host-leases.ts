import { berth } from '#generated/berth';
import { hostName, hostNameOrEmpty, list, missing, name, requiredName, requiredServiceHost, whole } from './checks';
import type { Method } from './codec';
import { codec } from './codec';
import { MAX_HOSTS_PER_AGENT } from './limits';
import type { AcquireHostsRequest, AcquireHostsResponse, HostGrant, ReleaseHostsRequest } from './messages';

const wire = berth.scheduler.v1;

/** To `stats`: a run of an agent wants to be the holder of its hosts, each of which has one. */
export const acquireHostsMethod: Method<AcquireHostsRequest, AcquireHostsResponse> = {
  request: codec(
    'berth.scheduler.v1.AcquireHostsRequest',
    wire.AcquireHostsRequest,
    (request) => ({ ...request, hosts: request.hosts as string[] }),
    (request) => ({
      ...holderFromWire(request),
      leaseMs: leaseLength(request.leaseMs),
      formerRun: name(request.formerRun, 'former_run'),
      pool: name(request.pool, 'pool'),
    }),
  ),
  response: codec(
    'berth.scheduler.v1.AcquireHostsResponse',
    wire.AcquireHostsResponse,
    ({ grants }) => ({ grants: grants as HostGrant[] }),
    ({ grants }) => ({ grants: list(grants, 'grants', MAX_HOSTS_PER_AGENT, grantFromWire) }),
  ),
};

/** To `stats`: a run that ends gives its hosts back. */
export const releaseHostsMethod: Method<ReleaseHostsRequest, Record<string, never>> = {
  request: codec(
    'berth.scheduler.v1.ReleaseHostsRequest',
    wire.ReleaseHostsRequest,
    (request) => ({ ...request, hosts: request.hosts as string[] }),
    holderFromWire,
  ),
  response: codec(
    'berth.scheduler.v1.ReleaseHostsResponse',
    wire.ReleaseHostsResponse,
    () => ({}),
    () => ({}),
  ),
};

function holderFromWire(request: { serviceHost: string; agentRun: string; hosts: string[] }): ReleaseHostsRequest {
  return {
    serviceHost: requiredServiceHost(request.serviceHost, 'service_host'),
    agentRun: requiredName(request.agentRun, 'agent_run'),
    hosts: list(request.hosts, 'hosts', MAX_HOSTS_PER_AGENT, hostName),
  };
}

function leaseLength(value: number): number {
  if (value === 0) throw missing('lease_ms');
  return whole(value, 'lease_ms');
}

function grantFromWire(value: berth.scheduler.v1.IHostGrant, field: string): HostGrant {
  const grant = value as berth.scheduler.v1.HostGrant;
  return {
    epoch: whole(grant.epoch, `${field}.epoch`),
    holderRun: name(grant.holderRun, `${field}.holder_run`),
    holderServiceHost: hostNameOrEmpty(grant.holderServiceHost, `${field}.holder_service_host`),
    heldForMs: whole(grant.heldForMs, `${field}.held_for_ms`),
  };
}
