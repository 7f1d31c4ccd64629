import type { BerthError } from '../domain/errors';
import type { Attempt, InstanceState } from '../domain/instance';
import type { Inventories, Inventory, Resources } from '../domain/inventory';
import type { RequestSpec } from '../domain/request-spec';

/*
 * The messages of the wire as plain data, one interface each, field for field as in `proto/` (whose comments are the
 * documentation). Codecs in this folder turn them into bytes and back and refuse what is malformed.
 */

/** The bytes of a `berth.scheduler.v1.RequestSpec`, unchecked: most who have a message with one only pass it on. */
export type EncodedRequestSpec = Uint8Array;

// berth.scheduler.v1

export interface SelectDestinationsRequest {
  readonly requestId: string;
  readonly requestSpec: EncodedRequestSpec;
  readonly instanceUuids: readonly string[];
  readonly numAlternates: number;
}

export interface Selection {
  readonly host: string;
  readonly cell: string;
  /** Sealed; see `libs/placement/allocation-request`. */
  readonly allocationRequest: Uint8Array;
  /** The service host whose queue takes the host's orders: the host itself, unless an agent carries many. Nova's term. */
  readonly serviceHost: string;
  /** The host's, when it was selected; 0 when not known. */
  readonly epoch: number;
}

export interface Destination {
  readonly instanceUuid: string;
  readonly selected: Selection;
  readonly alternates: readonly Selection[];
  readonly claimToken: number;
}

/** Either as many destinations as instances, or none and why. */
export interface SelectDestinationsResponse {
  readonly destinations: readonly Destination[];
  readonly noValidHost: Diagnosis | undefined;
}

export interface Diagnosis {
  readonly hostsConsidered: number;
  readonly hostsPassed: number;
  readonly filters: readonly FilterDiagnosis[];
  readonly claimConflicts: number;
  readonly summary: string;
}

export interface FilterDiagnosis {
  readonly filter: string;
  readonly refused: number;
  readonly reasons: Readonly<Record<string, number>>;
}

export interface ExplainRequest {
  readonly requestSpec: EncodedRequestSpec;
  /** '' for all. */
  readonly host: string;
  readonly limit: number;
}

export interface ExplainResponse {
  readonly diagnosis: Diagnosis;
  readonly hosts: readonly HostVerdict[];
}

export interface HostVerdict {
  readonly host: string;
  readonly passed: boolean;
  readonly refusals: readonly string[];
  readonly weight: number;
  readonly weights: Readonly<Record<string, number>>;
}

export interface HostSummary {
  readonly host: string;
  readonly providerUuid: string;
  readonly cell: string;
  readonly availabilityZone: string;
  readonly up: boolean;
  readonly enabled: boolean;
  readonly disabledReason: string;
  readonly instances: number;
  readonly externalInstances: number;
  readonly resources: Readonly<Record<string, { readonly inventory: Inventory; readonly used: number }>>;
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
  readonly failures: number;
  readonly updatedAtMs: number;
  readonly ioOps: number;
  readonly serviceHost: string;
}

export interface ListHostsRequest {
  readonly host: string;
  readonly marker: string;
  readonly limit: number;
}

export interface ListHostsResponse {
  readonly hosts: readonly HostSummary[];
}

export interface SetHostEnabledRequest {
  readonly host: string;
  readonly enabled: boolean;
  readonly reason: string;
}

export interface SetHostEnabledResponse {
  readonly host: HostSummary;
}

export interface RunningInstance {
  readonly instanceUuid: string;
  readonly projectId: string;
  readonly userId: string;
  readonly resources: Resources;
  readonly name: string;
  readonly groupId: string;
  readonly requestId: string;
  readonly running: boolean;
  readonly attempt: number;
  readonly claimToken: number;
  /** Sealed; empty when it was not asked for. */
  readonly allocationRequest: Uint8Array;
}

/** Not validated by the codec beyond its shape: the scheduler checks it field by field (`services/scheduler`). */
export interface UpdateResourceStatsRequest {
  readonly host: string;
  readonly agentRun: string;
  readonly sequence: number;
  readonly providerUuid: string;
  readonly cell: string;
  readonly availabilityZone: string;
  readonly inventories: Inventories;
  readonly traits: readonly string[];
  readonly capabilities: Readonly<Record<string, readonly string[]>>;
  readonly externalUsage: Resources;
  readonly externalInstances: number;
  readonly ioOps: number;
  readonly instances: readonly RunningInstance[];
  readonly aggregates: readonly string[] | undefined;
  readonly serviceHost: string;
  readonly epoch: number;
  readonly position: number;
}

export interface UpdateResourceStatsResponse {
  readonly sequence: number;
  readonly wantsAllocationRequests: boolean;
}

export interface AcquireHostsRequest {
  readonly serviceHost: string;
  readonly agentRun: string;
  readonly hosts: readonly string[];
  readonly leaseMs: number;
}

export interface AcquireHostsResponse {
  readonly grants: readonly HostGrant[];
}

/** Epoch 0: another run holds the host. */
export interface HostGrant {
  readonly epoch: number;
  readonly holderRun: string;
  readonly holderServiceHost: string;
  readonly heldForMs: number;
}

export interface ReleaseHostsRequest {
  readonly serviceHost: string;
  readonly agentRun: string;
  readonly hosts: readonly string[];
}

// berth.conductor.v1

export interface BuildRequest {
  readonly requestId: string;
  readonly requestSpec: EncodedRequestSpec;
  readonly count: number;
  readonly name: string;
  readonly instanceUuids: readonly string[];
}

export interface BuildAccepted {
  readonly requestId: string;
  readonly instanceUuids: readonly string[];
}

export interface BuildRefused {
  readonly requestId: string;
  readonly error: BerthError;
}

export interface TerminateInstance {
  readonly instanceUuid: string;
  readonly projectId: string;
}

export interface InstanceEvent {
  readonly instanceUuid: string;
  readonly requestId: string;
  readonly projectId: string;
  readonly state: InstanceState;
  readonly host: string;
  readonly atMs: number;
  readonly version: number;
  readonly fault: BerthError | undefined;
  readonly attempts: readonly Attempt[];
  readonly name: string;
}

export interface InstanceView {
  readonly uuid: string;
  readonly requestId: string;
  readonly name: string;
  readonly projectId: string;
  readonly userId: string;
  readonly state: InstanceState;
  readonly host: string;
  readonly attempts: readonly Attempt[];
  readonly fault: BerthError | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly requestSpec: RequestSpec;
  readonly version: number;
}

export interface ListInstancesRequest {
  /** '' matches all, here and below. */
  readonly instanceUuid: string;
  readonly requestId: string;
  readonly projectId: string;
  readonly state: InstanceState | undefined;
  readonly host: string;
  readonly marker: string;
  readonly limit: number;
}

export interface ListInstancesResponse {
  readonly instances: readonly InstanceView[];
}

// berth.compute.v1

export interface BuildInstance {
  readonly instanceUuid: string;
  readonly requestId: string;
  readonly name: string;
  readonly projectId: string;
  readonly userId: string;
  readonly requestSpec: EncodedRequestSpec;
  readonly host: string;
  readonly attempt: number;
  readonly claimToken: number;
  readonly alternates: readonly Selection[];
  readonly deadlineAtMs: number;
  readonly epoch: number;
  readonly allocationRequest: Uint8Array;
}

export interface DestroyInstance {
  readonly instanceUuid: string;
  readonly host: string;
  /** Only an attempt up to this one is destroyed; 0 means whatever runs. */
  readonly attempt: number;
  readonly report: boolean;
  readonly epoch: number;
  /** What was built for a newer claim stays; 0 means whatever runs. */
  readonly claimToken: number;
}

export type BuildOutcome = 'active' | 'failed' | 'refused' | 'destroyed' | 'lost';

export interface BuildReport {
  readonly instanceUuid: string;
  readonly host: string;
  readonly attempt: number;
  readonly outcome: BuildOutcome;
  readonly reason: string;
  readonly message: string;
  readonly claimToken: number;
  readonly alternates: readonly Selection[];
  readonly epoch: number;
  readonly position: number;
}

export interface HostDiscrepancy {
  readonly host: string;
  readonly providerUuid: string;
  readonly unclaimed: readonly RunningInstance[];
  readonly missing: readonly string[];
  readonly serviceHost: string;
  readonly epoch: number;
  readonly position: number;
  readonly sequence: number;
  readonly atMs: number;
  readonly present: readonly RunningInstance[];
}
