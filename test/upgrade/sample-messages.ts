import type { Codec } from '#libs/contracts/codec';
import {
  buildInstanceCodec,
  buildReportCodec,
  destroyInstanceCodec,
  hostDiscrepancyCodec,
} from '#libs/contracts/compute';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { instanceEventCodec } from '#libs/contracts/instance';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { AT_MS, aReport } from '#libs/testing/placement/placement';

/** A message that processes of two releases send each other. */
export interface Sample {
  readonly encode: () => Uint8Array;
  readonly decode: (body: Uint8Array) => unknown;
  readonly message: unknown;
}

const uuid = (n: number) => `b0000000-0000-4000-8000-00000000000${n}`;
const [instanceUuid, requestId, providerUuid] = [uuid(1), uuid(5), aReport().providerUuid];
const requestSpec = anEncodedSpec();
const claimed = { [providerUuid]: { VCPU: 1, MEMORY_MB: 1_024 } };
const mappings = { '': [providerUuid] };
const allocationRequest = Buffer.of(1, 2, 3);
const alternate = { host: 'host-2', cell: 'cell1', serviceHost: 'rack-2', epoch: 3, allocationRequest };
const alternates = [{ ...alternate, requiredAllocationRequest: undefined }];
const order = { instanceUuid, host: 'host-1', attempt: 2, epoch: 3, claimToken: 7 };

/** A message of each type, by the name of the type. */
export const SAMPLES: Readonly<Record<string, Sample>> = {
  BuildInstance: sample(buildInstanceCodec, {
    ...order,
    requestId,
    name: 'web',
    projectId: 'project-1',
    userId: 'user-1',
    requestSpec,
    alternates,
    deadlineAtMs: AT_MS,
    timeLeftMs: 5_000,
    allocationRequest,
    powerState: 'running',
    allocations: claimed,
    mappings,
    arrival: undefined,
  }),
  BuildReport: sample(buildReportCodec, {
    ...order,
    outcome: 'failed',
    reason: 'full',
    message: 'no disk',
    alternates,
    position: 4,
    keptClaimToken: 0,
  }),
  DestroyInstance: sample(destroyInstanceCodec, {
    ...order,
    projectId: 'project-1',
    report: true,
    allocations: claimed,
    mappings,
  }),
  HostDiscrepancy: sample(hostDiscrepancyCodec, {
    host: 'host-1',
    providerUuid,
    unclaimed: [],
    missing: [instanceUuid],
    serviceHost: 'host-1',
    epoch: 3,
    position: 4,
    sequence: 5,
    atMs: AT_MS,
    present: [],
    refusal: undefined,
    reporter: undefined,
    saidAfterMs: AT_MS - 1,
    changing: [],
  }),
  BuildRequest: sample(buildRequestCodec, {
    requestId,
    requestSpec,
    count: 1,
    name: 'web',
    instanceUuids: [instanceUuid],
    publishedAtMs: AT_MS,
    minCount: 0,
    admission: undefined,
    destinations: undefined,
  }),
  TerminateInstance: sample(terminateInstanceCodec, { instanceUuid, projectId: 'project-1' }),
  InstanceEvent: sample(instanceEventCodec, {
    instanceUuid,
    requestId,
    projectId: 'project-1',
    state: 'active',
    host: 'host-1',
    atMs: AT_MS,
    version: 3,
    fault: undefined,
    attempts: [],
    name: 'web',
  }),
  SelectDestinations: sample(selectDestinationsMethod.request, {
    requestId,
    requestSpec,
    instanceUuids: [instanceUuid],
    numAlternates: 2,
    minCount: 0,
    priority: 10,
    isProtected: true,
    mayPreempt: false,
    minRevision: 6,
    move: undefined,
    alternatesHeld: undefined,
    cell: undefined,
    choosesZone: undefined,
  }),
  UpdateResourceStats: sample(updateResourceStatsMethod.request, {
    host: 'host-1',
    agentRun: 'run-1',
    sequence: 3,
    providerUuid,
    cell: 'cell1',
    inventories: aReport().inventories,
    traits: ['HW_CPU_X86_AVX2'],
    capabilities: { hw_architecture: ['x86_64'] },
    externalUsage: {},
    externalInstances: 0,
    ioOps: 0,
    instances: [],
    aggregates: undefined,
    serviceHost: 'host-1',
    epoch: 3,
    position: 4,
    answeredAtMs: AT_MS,
    disabled: undefined,
    nestedProviders: [],
  }),
};

function sample<T>(codec: Codec<T>, message: T): Sample {
  return { encode: () => codec.encode(message), decode: (body) => codec.decode(body), message };
}
