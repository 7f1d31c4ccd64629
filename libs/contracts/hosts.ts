import { berth } from '#generated/berth';
import {
  hostName,
  hostNameOrEmpty,
  list,
  missing,
  name,
  pageLimit,
  pairs,
  serviceHostName,
  text,
  traits,
  uuid,
  uuids,
  whole,
} from './checks';
import { codec, type Method, type Mutable } from './codec';
import { MAX_PAGE } from './limits';
import type {
  ClearHostFailuresRequest,
  ClearHostFailuresResponse,
  DeleteHostRequest,
  DeleteHostResponse,
  HostSummary,
  ListHostsRequest,
  ListHostsResponse,
  ListOverAllocatedResponse,
  OverAllocated,
  SetHostEnabledRequest,
  SetHostEnabledResponse,
} from './messages';
import { inventoryFromWire } from './placement';

const wire = berth.scheduler.v1;

/** To `rpc.scheduler`: what the fleet looks like, page by page. */
export const listHostsMethod: Method<ListHostsRequest, ListHostsResponse> = {
  request: codec(
    'berth.scheduler.v1.ListHostsRequest',
    wire.ListHostsRequest,
    (request) => request,
    (request) => ({
      host: hostNameOrEmpty(request.host, 'host'),
      marker: hostNameOrEmpty(request.marker, 'marker'),
      limit: pageLimit(request.limit, 'limit', MAX_PAGE, MAX_PAGE),
    }),
  ),
  response: codec(
    'berth.scheduler.v1.ListHostsResponse',
    wire.ListHostsResponse,
    (response) => ({ hosts: response.hosts as Mutable<HostSummary>[] }),
    (response) => ({ hosts: list(response.hosts, 'hosts', MAX_PAGE, summaryFromWire) }),
  ),
};

/** To `rpc.scheduler`: an operator takes a host out of the choice, or puts it back. */
export const setHostEnabledMethod: Method<SetHostEnabledRequest, SetHostEnabledResponse> = {
  request: codec(
    'berth.scheduler.v1.SetHostEnabledRequest',
    wire.SetHostEnabledRequest,
    (request) => request,
    ({ host, enabled, reason }) => ({
      host: hostName(host, 'host'),
      enabled,
      reason: text(reason, 'reason'),
    }),
  ),
  response: codec(
    'berth.scheduler.v1.SetHostEnabledResponse',
    wire.SetHostEnabledResponse,
    (response) => ({ host: response.host as Mutable<HostSummary> }),
    (response) => ({ host: summaryFromWire(response.host, 'host') }),
  ),
};

/** To `rpc.scheduler`: an operator says that a host can build again. */
export const clearHostFailuresMethod: Method<ClearHostFailuresRequest, ClearHostFailuresResponse> = {
  request: codec(
    'berth.scheduler.v1.ClearHostFailuresRequest',
    wire.ClearHostFailuresRequest,
    (request) => request,
    ({ host }) => ({ host: hostName(host, 'host') }),
  ),
  response: codec(
    'berth.scheduler.v1.ClearHostFailuresResponse',
    wire.ClearHostFailuresResponse,
    (response) => ({ host: response.host as Mutable<HostSummary> }),
    (response) => ({ host: summaryFromWire(response.host, 'host') }),
  ),
};

/** To `rpc.scheduler`: providers that are allocated above their capacity. */
export const listOverAllocatedMethod: Method<Record<string, never>, ListOverAllocatedResponse> = {
  request: codec(
    'berth.scheduler.v1.ListOverAllocatedRequest',
    wire.ListOverAllocatedRequest,
    () => ({}),
    () => ({}),
  ),
  response: codec(
    'berth.scheduler.v1.ListOverAllocatedResponse',
    wire.ListOverAllocatedResponse,
    ({ overAllocated }) => ({ overAllocated: overAllocated as OverAllocated[] }),
    ({ overAllocated }) => ({ overAllocated: list(overAllocated, 'over_allocated', MAX_PAGE, overAllocatedFromWire) }),
  ),
};

/** To `rpc.conductor`: an operator deletes a host that is dead and empty. */
export const deleteHostMethod: Method<DeleteHostRequest, DeleteHostResponse> = {
  request: codec(
    'berth.conductor.v1.DeleteHostRequest',
    berth.conductor.v1.DeleteHostRequest,
    (request) => request,
    ({ host }) => ({ host: hostName(host, 'host') }),
  ),
  response: codec(
    'berth.conductor.v1.DeleteHostResponse',
    berth.conductor.v1.DeleteHostResponse,
    (response) => response,
    ({ serviceHost }) => ({ serviceHost: hostName(serviceHost, 'service_host') }),
  ),
};

function overAllocatedFromWire(value: berth.scheduler.v1.IOverAllocated, field: string): OverAllocated {
  const one = value as berth.scheduler.v1.OverAllocated;
  return {
    providerUuid: uuid(one.providerUuid, `${field}.provider_uuid`),
    providerName: name(one.providerName, `${field}.provider_name`),
    host: hostNameOrEmpty(one.host, `${field}.host`),
    resourceClass: name(one.resourceClass, `${field}.resource_class`),
    used: whole(one.used, `${field}.used`),
    capacity: whole(one.capacity, `${field}.capacity`),
  };
}

function summaryFromWire(value: berth.scheduler.v1.IHostSummary | null | undefined, field: string): HostSummary {
  if (!value) throw missing(field);
  const host = value as berth.scheduler.v1.HostSummary;
  return {
    host: hostName(host.host, `${field}.host`),
    providerUuid: uuid(host.providerUuid, `${field}.provider_uuid`),
    cell: name(host.cell, `${field}.cell`),
    availabilityZone: name(host.availabilityZone, `${field}.availability_zone`),
    up: host.up,
    enabled: host.enabled,
    disabledReason: text(host.disabledReason, `${field}.disabled_reason`),
    instances: host.instances,
    externalInstances: host.externalInstances,
    resources: pairs(host.resources, `${field}.resources`, resourceFromWire),
    traits: traits(host.traits, `${field}.traits`),
    aggregates: uuids(host.aggregates, `${field}.aggregates`),
    failures: host.failures,
    updatedAtMs: whole(host.updatedAtMs, `${field}.updated_at_ms`),
    ioOps: host.ioOps,
    serviceHost: serviceHostName(host.serviceHost, host.host, `${field}.service_host`),
    failuresInARow: host.failuresInARow,
    lastFailure: text(host.lastFailure, `${field}.last_failure`),
    quarantinedUntilMs: whole(host.quarantinedUntilMs, `${field}.quarantined_until_ms`),
  };
}

function resourceFromWire(value: berth.scheduler.v1.IResourceUsage, field: string) {
  if (!value.inventory) throw missing(`${field}.inventory`);
  return { inventory: inventoryFromWire(value.inventory), used: whole(value.used ?? 0, `${field}.used`) };
}
