import type { RunningInstance, UpdateResourceStatsRequest } from '#libs/contracts/stats';
import { inventory } from '#libs/domain/inventory';

/** A report of host-1 that is right, with what the test cares about. */
export function aStatsReport(fields: Partial<UpdateResourceStatsRequest> = {}): UpdateResourceStatsRequest {
  return {
    host: 'host-1',
    agentRun: 'run-1',
    sequence: 1,
    epoch: 0,
    position: 1,
    providerUuid: 'a0000000-0000-4000-8000-000000000001',
    cell: 'cell1',
    inventories: { VCPU: inventory(8), MEMORY_MB: inventory(16_384) },
    traits: [],
    capabilities: {},
    externalUsage: {},
    externalInstances: 0,
    ioOps: 0,
    instances: [],
    aggregates: undefined,
    nestedProviders: [],
    serviceHost: fields.host ?? 'host-1',
    ...fields,
  };
}

/** An instance as its host reports it. */
export function running(instanceUuid: string, fields: Partial<RunningInstance> = {}): RunningInstance {
  return {
    instanceUuid,
    projectId: 'project-1',
    userId: 'user-1',
    resources: { VCPU: 1 },
    name: 'one',
    groupId: '',
    requestId: '',
    running: true,
    attempt: 1,
    claimToken: 1,
    allocationRequest: new Uint8Array(),
    ...fields,
  };
}
