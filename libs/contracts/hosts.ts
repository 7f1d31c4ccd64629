import { berth } from '#generated/berth';
import { hostName, hostNameOrEmpty, name, orHost, requiredName, text, traits, uuid, uuids, whole } from './checks';
import { deviceTaints, taintKey, taintValue } from './devices';
import { count, flag, list, map, pageLimit, required } from './fields';
import { MAX_PAGE } from './limits';
import { message, type PlainOf } from './message';
import { FEW, ofServices } from './message-rules';
import { inventoryFromWire } from './placement';

const wire = berth.scheduler.v1;

const resourceUsage = message(wire.ResourceUsage, { inventory: required(inventoryFromWire), used: whole });

const hostSummary = message(wire.HostSummary, {
  host: hostName,
  providerUuid: uuid,
  cell: name,
  availabilityZone: name,
  up: flag,
  enabled: flag,
  disabledReason: text,
  instances: count,
  externalInstances: count,
  resources: map(resourceUsage),
  traits,
  aggregates: uuids,
  failures: count,
  updatedAtMs: whole,
  ioOps: count,
  serviceHost: orHost,
  failuresInARow: count,
  lastFailure: text,
  quarantinedUntilMs: whole,
});
export type HostSummary = PlainOf<typeof hostSummary>;

/** To `rpc.scheduler`: what the fleet looks like, page by page. */
export const listHostsMethod = {
  request: message(
    wire.ListHostsRequest,
    { host: hostNameOrEmpty, marker: hostNameOrEmpty, limit: pageLimit(MAX_PAGE, MAX_PAGE) },
    { rule: ofServices(FEW) },
  ),
  response: message(wire.ListHostsResponse, { hosts: list(hostSummary, MAX_PAGE) }),
};
export type ListHostsRequest = PlainOf<typeof listHostsMethod.request>;
export type ListHostsResponse = PlainOf<typeof listHostsMethod.response>;

/** To `rpc.scheduler`: an operator takes a host out of the choice, or puts it back. */
export const setHostEnabledMethod = {
  request: message(
    wire.SetHostEnabledRequest,
    { host: hostName, enabled: flag, reason: text },
    { rule: ofServices(FEW) },
  ),
  response: message(wire.SetHostEnabledResponse, { host: hostSummary }),
};
export type SetHostEnabledRequest = PlainOf<typeof setHostEnabledMethod.request>;
export type SetHostEnabledResponse = PlainOf<typeof setHostEnabledMethod.response>;

/** To `rpc.scheduler`: an operator says that a host can build again. */
export const clearHostFailuresMethod = {
  request: message(wire.ClearHostFailuresRequest, { host: hostName }, { rule: ofServices(FEW) }),
  response: message(wire.ClearHostFailuresResponse, { host: hostSummary }),
};
export type ClearHostFailuresRequest = PlainOf<typeof clearHostFailuresMethod.request>;
export type ClearHostFailuresResponse = PlainOf<typeof clearHostFailuresMethod.response>;

/** To `rpc.scheduler`: an operator taints a device of a host, by the name that its agent gives it; without a value the taint goes. */
export const setDeviceTaintMethod = {
  request: message(
    wire.SetDeviceTaintRequest,
    { host: hostName, device: requiredName, key: taintKey, value: taintValue, noExecute: flag },
    { rule: ofServices(FEW) },
  ),
  response: message(wire.SetDeviceTaintResponse, { taints: deviceTaints }),
};
export type SetDeviceTaintRequest = PlainOf<typeof setDeviceTaintMethod.request>;
export type SetDeviceTaintResponse = PlainOf<typeof setDeviceTaintMethod.response>;

/** A resource class of a provider that is allocated above its capacity. */
const overAllocated = message(wire.OverAllocated, {
  providerUuid: uuid,
  providerName: name,
  host: hostNameOrEmpty,
  resourceClass: name,
  used: whole,
  capacity: whole,
});
export type OverAllocated = PlainOf<typeof overAllocated>;

/** To `rpc.scheduler`: providers that are allocated above their capacity. */
export const listOverAllocatedMethod = {
  request: message(wire.ListOverAllocatedRequest, {}, { rule: ofServices(FEW) }),
  response: message(wire.ListOverAllocatedResponse, { overAllocated: list(overAllocated, MAX_PAGE) }),
};
export type ListOverAllocatedResponse = PlainOf<typeof listOverAllocatedMethod.response>;

/** To `rpc.conductor`: an operator deletes a host that is dead and empty. */
export const deleteHostMethod = {
  request: message(berth.conductor.v1.DeleteHostRequest, { host: hostName }, { rule: ofServices(FEW) }),
  response: message(berth.conductor.v1.DeleteHostResponse, { serviceHost: hostName }),
};
export type DeleteHostRequest = PlainOf<typeof deleteHostMethod.request>;
export type DeleteHostResponse = PlainOf<typeof deleteHostMethod.response>;
