import { berth } from '#generated/berth';
import { allocationsToWire, checkedAllocations } from './allocations';
import { list } from './checks';
import { codec, type Method, type Mutable, mapValues } from './codec';
import { MAX_INSTANCES_PER_HOST, MAX_NESTED_PROVIDERS } from './limits';
import type {
  HostDisabled,
  NestedProvider,
  RunningInstance,
  UpdateResourceStatsRequest,
  UpdateResourceStatsResponse,
} from './messages';
import { inventoryFromWire } from './placement';
import { runningPowerState } from './power';

/**
 * To `stats`: an agent's report of itself. Only the shape is checked here; whether the amounts, names and the sender are
 * right is for the scheduler, which answers with the field that is wrong.
 */
export const updateResourceStatsMethod: Method<UpdateResourceStatsRequest, UpdateResourceStatsResponse> = {
  request: codec(
    'berth.scheduler.v1.UpdateResourceStatsRequest',
    berth.scheduler.v1.UpdateResourceStatsRequest,
    (stats) => ({
      ...(stats as Mutable<UpdateResourceStatsRequest>),
      capabilities: mapValues(stats.capabilities, (values) => ({ values: values as string[] })),
      instances: stats.instances.map(runningToWire),
      nestedProviders: stats.nestedProviders as Mutable<NestedProvider>[],
      aggregates: stats.aggregates ? { values: stats.aggregates as string[] } : null,
      disabled: stats.disabled ?? null,
    }),
    statsFromWire,
  ),
  response: codec(
    'berth.scheduler.v1.UpdateResourceStatsResponse',
    berth.scheduler.v1.UpdateResourceStatsResponse,
    (response) => ({ ...response, disabled: response.disabled ?? null }),
    ({ sequence, wantsAllocationRequests, atMs, disabled }) => ({
      sequence,
      wantsAllocationRequests,
      atMs,
      disabled: disabledFromWire(disabled),
    }),
  ),
};

export function runningToWire(running: RunningInstance): berth.scheduler.v1.IRunningInstance {
  const powerState = runningPowerState.toWire(running.powerState);
  const { handedOver = false, unreadable = false, allocations = {} } = running;
  return { ...running, powerState, handedOver, unreadable, allocations: allocationsToWire(allocations) };
}

export function runningFromWire(wire: berth.scheduler.v1.IRunningInstance, field: string): RunningInstance {
  const one = wire as berth.scheduler.v1.RunningInstance;
  return {
    instanceUuid: one.instanceUuid,
    projectId: one.projectId,
    userId: one.userId,
    resources: one.resources,
    name: one.name,
    groupId: one.groupId,
    requestId: one.requestId,
    running: one.running,
    attempt: one.attempt,
    claimToken: one.claimToken,
    allocationRequest: one.allocationRequest,
    allocations: checkedAllocations(one.allocations, `${field}.allocations`),
    ...runningPowerState.fromWire(one.powerState),
    ...(one.handedOver ? { handedOver: true } : {}),
    ...(one.unreadable ? { unreadable: true } : {}),
  };
}

function statsFromWire(stats: berth.scheduler.v1.UpdateResourceStatsRequest): UpdateResourceStatsRequest {
  return {
    host: stats.host,
    agentRun: stats.agentRun,
    sequence: stats.sequence,
    providerUuid: stats.providerUuid,
    cell: stats.cell,
    inventories: mapValues(stats.inventories, inventoryFromWire),
    traits: stats.traits,
    capabilities: mapValues(stats.capabilities, (one) => one.values ?? []),
    externalUsage: stats.externalUsage,
    externalInstances: stats.externalInstances,
    ioOps: stats.ioOps,
    instances: list(stats.instances, 'instances', MAX_INSTANCES_PER_HOST, runningFromWire),
    aggregates: stats.aggregates ? (stats.aggregates.values ?? []) : undefined,
    serviceHost: stats.serviceHost || stats.host,
    epoch: stats.epoch,
    position: stats.position,
    answeredAtMs: stats.answeredAtMs,
    disabled: disabledFromWire(stats.disabled),
    nestedProviders: list(stats.nestedProviders, 'nested_providers', MAX_NESTED_PROVIDERS, nestedFromWire),
  };
}

function nestedFromWire(wire: berth.scheduler.v1.INestedProvider): NestedProvider {
  const { name, parent, inventories, traits, externalUsage } = wire as berth.scheduler.v1.NestedProvider;
  return { name, parent, inventories: mapValues(inventories, inventoryFromWire), traits, externalUsage };
}

function disabledFromWire(wire: berth.scheduler.v1.IHostDisabled | null | undefined): HostDisabled | undefined {
  return wire ? { reason: wire.reason ?? '' } : undefined;
}
