import type { berth } from '#generated/berth';
import type { Allocations } from '../domain/consumer';
import type { BerthError } from '../domain/errors';
import type { Flavor, FlavorContent } from '../domain/flavor';
import type { Aggregate } from '../domain/grouping/aggregate';
import type { Attempt, InstanceState, PowerState } from '../domain/instance';
import type { Inventories, Inventory } from '../domain/inventory';
import type { MigrationKind, MigrationPhase } from '../domain/moves/migration';
import type { BootDevice, NodeOperation, NodeRecord } from '../domain/nodes/node';
import type { Admission } from '../domain/queueing/admission';
import type { AlternatesHeld } from '../domain/queueing/place-lease';
import type { QuotaExcess } from '../domain/quotas/quota';
import type { RequestSpec } from '../domain/request-spec';
import type { StoredGroup } from '../domain/server-group';
import type { Mappings } from './allocations';

/*
 * The messages of the wire as plain data, field for field as in `proto/`, whose comments are the documentation. Codecs in
 * this folder turn them into bytes and back and refuse what is malformed.
 */

/** The fields of a generated message, but for those with a type of Berth's own. */
type Fields<W, Own extends keyof W = never> = {
  readonly [K in keyof W as K extends Own | '$unknowns' | 'toJSON' ? never : K]: W[K] extends (infer E)[]
    ? readonly E[]
    : W[K];
};

/** The bytes of a `berth.scheduler.v1.RequestSpec`, unchecked: most who have a message with one only pass it on. */
export type EncodedRequestSpec = Uint8Array;

type WithSpec<W extends { requestSpec?: unknown }> = Fields<W, 'requestSpec'> & {
  readonly requestSpec: EncodedRequestSpec;
};

// berth.scheduler.v1

export type SelectDestinationsRequest = WithSpec<
  Omit<
    berth.scheduler.v1.SelectDestinationsRequest,
    keyof OfPriority | 'minRevision' | 'minCount' | 'move' | 'alternatesHeld' | 'cell' | 'choosesZone'
  >
> &
  OfPriority & {
    readonly minRevision?: number;
    /** Left out, or 0, for all or none. */
    readonly minCount?: number;
    readonly move?: Move | undefined;
    /** What is to hold the alternates; nothing when not given. */
    readonly alternatesHeld?: AlternatesHeld | undefined;
    /** To the top: in this cell only. */
    readonly cell?: string;
    /** With `cell`, of a group that spreads over zones: the top chooses the zone anew, of those that the cell has. */
    readonly choosesZone?: boolean;
  };

/** Who comes first; nobody in particular unless given. */
interface OfPriority {
  readonly priority?: number;
  readonly isProtected?: boolean;
  readonly mayPreempt?: boolean;
}

/** What an instance holds passes to a migration. */
export type Move = Fields<berth.scheduler.v1.Move>;

/** `allocationRequest` is sealed; see `libs/placement/sealed`. */
export interface Selection extends Fields<berth.scheduler.v1.Selection, 'requiredAllocationRequest'> {
  readonly requiredAllocationRequest?: Uint8Array;
}

export interface Destination extends Fields<berth.scheduler.v1.Destination, 'zone'> {
  readonly selected: Selection;
  readonly alternates: readonly Selection[];
  /** By the top, of a group that spreads over zones: the zone that it counts in. */
  readonly zone?: string;
}

/** What several instances that are moved together are to be by their moves. */
export interface ClaimMovesRequest {
  readonly moves: readonly MoveToClaim[];
  readonly dryRun: boolean;
}

export interface MoveToClaim {
  readonly instanceUuid: string;
  readonly requestSpec: RequestSpec;
  /** Undefined for an evacuation, which leaves nothing to go back to. */
  readonly move: Move | undefined;
}

/** A destination of each, or none, and which one has none and why. */
export interface ClaimMovesResponse {
  readonly destinations: readonly Destination[];
  readonly noValidHost: Diagnosis | undefined;
  readonly refusedInstanceUuid: string;
}

/** As many destinations as instances, or fewer or none and why. */
export interface SelectDestinationsResponse {
  readonly destinations: readonly Destination[];
  readonly noValidHost: Diagnosis | undefined;
  /** Whose place the request could take, where there was no host. */
  readonly preemption?: PreemptionView | undefined;
  /** By the top: the cell that was chosen, or of those that may get room for it the best. */
  readonly cell?: string;
  /** By the top, of a group that spreads over zones: those that its members may go to. */
  readonly zones?: readonly string[];
}

export interface PreemptionView extends Fields<berth.scheduler.v1.Preemption, 'furtherHosts' | 'reclaims'> {
  readonly furtherHosts?: readonly string[];
  readonly reclaims?: boolean;
  readonly victims: readonly Victim[];
}

export type Victim = Fields<berth.scheduler.v1.Victim>;

export interface Diagnosis extends Fields<berth.scheduler.v1.Diagnosis> {
  readonly filters: readonly FilterDiagnosis[];
  readonly quotaExceeded: readonly QuotaExcess[];
}

export type FilterDiagnosis = Fields<berth.scheduler.v1.FilterDiagnosis>;

/** `host` is '' for all. */
export type ExplainRequest = WithSpec<
  Omit<berth.scheduler.v1.ExplainRequest, keyof OfPriority | keyof OfDisplacement>
> &
  Omit<OfPriority, 'isProtected'> &
  OfDisplacement;

/** Which instances would have to be moved away; not asked unless given. */
interface OfDisplacement {
  readonly mayDisplace?: boolean;
  readonly stayingInstanceUuids?: readonly string[];
}

export type Displacement = Fields<berth.scheduler.v1.Displacement>;

export interface ExplainResponse {
  readonly diagnosis: Diagnosis;
  readonly hosts: readonly HostVerdict[];
  readonly relaxations: readonly Relaxation[];
  readonly conflict: readonly string[];
  readonly preemption?: PreemptionView | undefined;
  readonly displacement?: Displacement | undefined;
  /** By the top, of a group that spreads over zones. */
  readonly zones?: readonly ZoneVerdict[] | undefined;
}

export interface ZoneVerdict extends Fields<berth.scheduler.v1.ZoneVerdict, 'cells'> {
  readonly cells: readonly string[];
}

export interface ExplainInstanceResponse {
  readonly decision: Decision;
}

/** What was decided for the instances of a request. */
export interface Decision extends Fields<berth.scheduler.v1.Decision, 'diagnosis' | 'hosts'> {
  readonly diagnosis: Diagnosis;
  readonly hosts: readonly HostVerdict[];
}

export type Relaxation = Fields<berth.scheduler.v1.Relaxation>;

export interface HostVerdict extends Fields<berth.scheduler.v1.HostVerdict, 'roomCosts'> {
  readonly roomCosts: readonly RoomCost[];
}

export type RoomCost = Fields<berth.scheduler.v1.RoomCost>;

export interface HostSummary extends Fields<berth.scheduler.v1.HostSummary> {
  readonly resources: Readonly<Record<string, { readonly inventory: Inventory; readonly used: number }>>;
}

export type ListHostsRequest = Fields<berth.scheduler.v1.ListHostsRequest>;

export interface ListHostsResponse {
  readonly hosts: readonly HostSummary[];
}

export type SetHostEnabledRequest = Fields<berth.scheduler.v1.SetHostEnabledRequest>;

export interface SetHostEnabledResponse {
  readonly host: HostSummary;
}

export type ClearHostFailuresRequest = Fields<berth.scheduler.v1.ClearHostFailuresRequest>;

export type ClearHostFailuresResponse = SetHostEnabledResponse;

export type HealAllocationRequest = Fields<berth.conductor.v1.HealAllocationRequest>;

export type HealAllocationResponse = Fields<berth.conductor.v1.HealAllocationResponse>;

export type DeleteHostRequest = Fields<berth.conductor.v1.DeleteHostRequest>;

export type DeleteHostResponse = Fields<berth.conductor.v1.DeleteHostResponse>;

export interface RunningInstance
  extends Fields<berth.scheduler.v1.RunningInstance, 'allocations' | 'powerState' | 'handedOver' | 'unreadable'> {
  /** By provider; empty on a host without nested providers, where `resources` says all. */
  readonly allocations?: Allocations;
  /** Running when not given. */
  readonly powerState?: PowerState | undefined;
  /** It was handed over to another host, and is kept until that is confirmed or reverted. */
  readonly handedOver?: boolean | undefined;
  /** Its host can't read what it remembers of it. */
  readonly unreadable?: boolean | undefined;
}

/** A provider below a host's root; `parent` is the name of another, '' for the root. */
export interface NestedProvider extends Fields<berth.scheduler.v1.NestedProvider, 'inventories'> {
  readonly inventories: Inventories;
}

/** Not validated by the codec beyond its shape: the scheduler checks it field by field (`services/scheduler`). */
export interface UpdateResourceStatsRequest
  extends Fields<
    berth.scheduler.v1.UpdateResourceStatsRequest,
    'answeredAtMs' | 'aggregates' | 'capabilities' | 'disabled' | 'instances' | 'nestedProviders'
  > {
  readonly inventories: Inventories;
  readonly capabilities: Readonly<Record<string, readonly string[]>>;
  readonly instances: readonly RunningInstance[];
  readonly aggregates: readonly string[] | undefined;
  readonly disabled?: HostDisabled | undefined;
  readonly nestedProviders: readonly NestedProvider[];
  /** When the last answer was given, by the store's clock; 0, or nothing, for none. */
  readonly answeredAtMs?: number;
}

export interface UpdateResourceStatsResponse
  extends Fields<berth.scheduler.v1.UpdateResourceStatsResponse, 'atMs' | 'disabled'> {
  /** By the store's clock; 0, or nothing, from a scheduler of an older version. */
  readonly atMs?: number;
  readonly disabled?: HostDisabled | undefined;
}

/** That an operator disabled a host, and why. */
export interface HostDisabled {
  readonly reason: string;
}

/** A resource class of a provider that is allocated above its capacity. */
export type OverAllocated = Fields<berth.scheduler.v1.OverAllocated>;

export interface ListOverAllocatedResponse {
  readonly overAllocated: readonly OverAllocated[];
}

export type AcquireHostsRequest = Fields<berth.scheduler.v1.AcquireHostsRequest, 'pool'> & {
  /** Left out, or '', where the hosts are no nodes of a pool. */
  readonly pool?: string;
};

/** Epoch 0: another run holds the host. */
export type HostGrant = Fields<berth.scheduler.v1.HostGrant>;

export interface AcquireHostsResponse {
  readonly grants: readonly HostGrant[];
}

export type ReleaseHostsRequest = Fields<berth.scheduler.v1.ReleaseHostsRequest>;

export type JoinPoolRequest = Fields<berth.scheduler.v1.JoinPoolRequest>;

/** Epoch 0: another run of the service host is a member. */
export interface JoinPoolResponse extends Fields<berth.scheduler.v1.JoinPoolResponse, 'members'> {
  readonly members: readonly PoolMember[];
}

export type PoolMember = Fields<berth.scheduler.v1.PoolMember>;

export type LeavePoolRequest = Fields<berth.scheduler.v1.LeavePoolRequest>;

export type ReadNodesRequest = Fields<berth.scheduler.v1.ReadNodesRequest>;

export interface NodesResponse {
  readonly nodes: readonly NodeView[];
}

/** A node as it is remembered, with the agent that manages it where that is asked for. */
export type NodeView = NodeRecord & { readonly serviceHost?: string };

export interface WriteNodeRequest extends Fields<berth.scheduler.v1.WriteNodeRequest, 'node'> {
  readonly node: NodeRecord;
}

export interface OperateNode extends Fields<berth.compute.v1.OperateNode, 'verb' | 'bootDevice'> {
  readonly verb: NodeOperation;
  readonly bootDevice: BootDevice | undefined;
}

export type ListNodesRequest = Fields<berth.scheduler.v1.ListNodesRequest>;

// berth.conductor.v1

export type BuildRequest = WithSpec<
  Omit<berth.conductor.v1.BuildRequest, 'publishedAtMs' | 'minCount' | 'admission' | 'destinations'>
> & {
  /** Left out, or 0, by a client that does not say it. */
  readonly publishedAtMs?: number;
  /** Left out, or 0, where the instances are no gang. */
  readonly minCount?: number;
  readonly admission?: Admission | undefined;
  /** From the top alone. */
  readonly destinations?: readonly Destination[];
};

export type BuildAccepted = Fields<berth.conductor.v1.BuildAccepted>;

export interface BuildRefused {
  readonly requestId: string;
  readonly error: BerthError;
}

export type TerminateInstance = Fields<berth.conductor.v1.TerminateInstance>;

export interface InstanceEvent extends Fields<berth.conductor.v1.InstanceEvent, 'state' | 'fault' | 'attempts'> {
  readonly state: InstanceState;
  readonly fault: BerthError | undefined;
  readonly attempts: readonly Attempt[];
}

export interface InstanceView
  extends Fields<
    berth.conductor.v1.Instance,
    | 'state'
    | 'fault'
    | 'attempts'
    | 'requestSpec'
    | 'minCount'
    | 'gangSize'
    | 'admission'
    | 'waiting'
    | 'endsAtMs'
    | 'migration'
    | 'cell'
  > {
  readonly state: InstanceState;
  readonly fault: BerthError | undefined;
  readonly attempts: readonly Attempt[];
  readonly requestSpec: RequestSpec;
  /** Of its request, when it is a gang. */
  readonly minCount?: number;
  readonly gangSize?: number;
  readonly admission?: Admission | undefined;
  readonly waiting?: WaitingView | undefined;
  /** 0, or left out, when it has no time limit. */
  readonly endsAtMs?: number;
  /** The move that it is on. */
  readonly migration?: MigrationView | undefined;
  /** By the top: the cell that it was given to. */
  readonly cell?: string;
}

export interface MigrationView extends Fields<berth.conductor.v1.Migration, 'kind' | 'phase' | 'plan'> {
  readonly kind: MigrationKind;
  /** Undefined by the word of a conductor of an older version. */
  readonly phase?: MigrationPhase | undefined;
  /** Undefined when it has none. */
  readonly plan?: string | undefined;
}

export type WaitingView = Fields<berth.conductor.v1.Waiting>;

/** What is '' matches all, and so does no state. */
export interface ListInstancesRequest extends Fields<berth.conductor.v1.ListInstancesRequest, 'state'> {
  readonly state: InstanceState | undefined;
}

export interface ListInstancesResponse {
  readonly instances: readonly InstanceView[];
}

export type InstanceOperation =
  | 'stop'
  | 'start'
  | 'evacuate'
  | 'shelve'
  | 'unshelve'
  | 'resize'
  | 'migrate'
  | 'live_migrate'
  | 'confirm'
  | 'revert';

/** `version`: the one that the client has seen; 0 for any. */
export interface OperateInstanceRequest
  extends Fields<
    berth.conductor.v1.OperateInstanceRequest,
    'operation' | 'resizeTo' | 'targetHost' | 'targetCell' | 'confirmAfterMs'
  > {
  readonly operation: InstanceOperation;
  /** Of a resize: it names a flavor, or says resources and extra specs. */
  readonly resizeTo?: RequestSpec | undefined;
  /** Of a migration; any host when not given. */
  readonly targetHost?: string | undefined;
  /** Of a migration, to the top: the cell where it is to be built anew; within its cell when not given. */
  readonly targetCell?: string | undefined;
  /** Of a resize or a cold migration; as the conductor is set when not given. */
  readonly confirmAfterMs?: number | undefined;
}

/** Migrations that are claimed at once; of a dry run, where they would go. */
export interface MoveInstancesRequest extends Fields<berth.conductor.v1.MoveInstancesRequest, 'operation' | 'plan'> {
  readonly operation: 'migrate' | 'live_migrate';
  readonly moves: readonly InstanceMove[];
  /** What they are for, by any name; undefined for none. */
  readonly plan?: string | undefined;
}

/** `targetHost` is '' for any host. */
export type InstanceMove = Fields<berth.conductor.v1.InstanceMove>;

/** Of each instance where it goes; or none, and which one has no host and why. */
export interface MoveInstancesResponse extends Fields<berth.conductor.v1.MoveInstancesResponse> {
  readonly moves: readonly PlannedMove[];
}

export type PlannedMove = Fields<berth.conductor.v1.PlannedMove>;

export interface OperateInstanceResponse {
  readonly instance: InstanceView;
}

/** What is kept and shown, because it is not certain enough to act on. */
export type DoubtView = Fields<berth.conductor.v1.Doubt>;

export interface ListDoubtsResponse extends Fields<berth.conductor.v1.ListDoubtsResponse> {
  readonly doubts: readonly DoubtView[];
}

/** An operator's word on an instance in doubt. */
export interface ReleaseClaimsRequest {
  readonly claims: readonly InstanceClaim[];
}

export type InstanceClaim = Fields<berth.conductor.v1.InstanceClaim>;

export type ReleaseClaimsResponse = Fields<berth.conductor.v1.ReleaseClaimsResponse>;

export interface SettleDoubtRequest extends Fields<berth.conductor.v1.SettleDoubtRequest, 'action'> {
  readonly action: 'adopt' | 'destroy';
}

// berth.flavor.v1

export type CreateFlavorRequest = Pick<Flavor, 'name' | keyof FlavorContent>;

/** The flavor as it is now; a deleted one as it was. */
export interface FlavorAnswer {
  readonly flavor: Flavor;
}

/** `name` is '' for all. */
export interface ListFlavorsRequest {
  readonly name: string;
}

export interface ListFlavorsResponse {
  readonly flavors: readonly Flavor[];
}

/** Version 0: whichever there is. */
export interface UpdateFlavorRequest extends Fields<berth.flavor.v1.UpdateFlavorRequest, 'description'> {
  readonly description: string | undefined;
}

export interface FlavorEvent extends FlavorAnswer {
  readonly change: 'created' | 'updated' | 'deleted';
}

// berth.aggregate.v1

export type CreateAggregateRequest = Pick<Aggregate, 'uuid' | 'name' | 'metadata'>;

export interface AggregateView extends Aggregate {
  readonly hostCount: number;
}

/** The aggregate as it is now; a deleted one as it was. */
export interface AggregateAnswer {
  readonly aggregate: AggregateView;
}

/** A uuid or a name; '' for all, where they are listed. */
export interface NamedAggregate {
  readonly aggregate: string;
}

export interface ListAggregatesResponse extends Fields<berth.aggregate.v1.ListAggregatesResponse> {
  readonly aggregates: readonly AggregateView[];
}

/** Name '': left as it is. */
export type UpdateAggregateRequest = Fields<berth.aggregate.v1.UpdateAggregateRequest>;

export type AggregateHostRequest = Fields<berth.aggregate.v1.AddAggregateHostRequest>;

export type ZoneView = Fields<berth.aggregate.v1.Zone>;

export interface ListZonesResponse extends Fields<berth.aggregate.v1.ListZonesResponse> {
  readonly zones: readonly ZoneView[];
}

// berth.group.v1

export type CreateGroupRequest = Omit<StoredGroup, 'createdAtMs'>;

export interface GroupView extends StoredGroup {
  readonly memberCount: number;
}

/** The group as it is now; a deleted one as it was. */
export interface GroupAnswer {
  readonly group: GroupView;
}

export type ListGroupsRequest = Fields<berth.group.v1.ListGroupsRequest>;

export interface ListGroupsResponse extends Fields<berth.group.v1.ListGroupsResponse, 'groups'> {
  readonly groups: readonly GroupView[];
}

// berth.quota.v1

/** A project's quota, and what it holds; of version 0 when it has none of its own. `cohort` is '' for none. */
export interface ProjectQuotaView extends Fields<berth.quota.v1.ProjectQuota, 'lendLimits'> {
  readonly lendLimits?: Readonly<Record<string, number>>;
}

export type ListQuotasRequest = Fields<berth.quota.v1.ListQuotasRequest>;

export interface ListQuotasResponse extends Fields<berth.quota.v1.ListQuotasResponse> {
  readonly projects: readonly ProjectQuotaView[];
}

/** `cohort`: undefined leaves it, '' takes the project out of its cohort. */
export interface SetQuotaRequest extends Fields<berth.quota.v1.SetQuotaRequest, 'cohort' | 'lendLimits'> {
  readonly lendLimits?: Readonly<Record<string, number>>;
  readonly cohort: string | undefined;
}

export type UnsetQuotaRequest = Fields<berth.quota.v1.UnsetQuotaRequest>;

/** The quota as it is now. */
export interface QuotaAnswer {
  readonly quota: ProjectQuotaView;
}

export type ListUsageRequest = Fields<berth.quota.v1.ListUsageRequest>;

export interface ListUsageResponse {
  readonly projects: readonly ProjectUsageView[];
}

export interface ProjectUsageView extends Fields<berth.quota.v1.ProjectUsage> {
  readonly days: readonly Fields<berth.quota.v1.UsageDay>[];
}

// berth.compute.v1

/** What was claimed for the instance that an order is about, by provider; empty when the conductor does not say. */
export interface Claimed {
  readonly allocations: Allocations;
  readonly mappings: Mappings;
}

type OrderFields<T, K extends keyof T = never> = Fields<T, K | Extract<keyof T, 'allocations' | 'mappings'>> & Claimed;

export interface BuildInstance
  extends Omit<WithSpec<berth.compute.v1.BuildInstance>, 'allocations' | 'mappings' | 'powerState' | 'arrival'>,
    Claimed {
  readonly alternates: readonly Selection[];
  /** How it comes up. */
  readonly powerState: PowerState;
  /** Of an instance that is moved, not built anew. */
  readonly arrival?: Arrival | undefined;
}

export type Arrival = Fields<berth.compute.v1.Arrival>;

/** Only an attempt up to `attempt`, under a claim up to `claimToken`, is destroyed; 0 means whatever runs. */
export type DestroyInstance = OrderFields<berth.compute.v1.DestroyInstance>;

/** An order to stop an instance and keep it, or to start it; it rests on what the host had said last. */
export interface SetPowerState
  extends OrderFields<berth.compute.v1.SetPowerState, 'powerState' | 'migrationUuid' | 'live'> {
  readonly powerState: PowerState;
  /** To be moved by this migration; '' or not given for none. */
  readonly migrationUuid?: string | undefined;
  /** Moved while it runs. */
  readonly live?: boolean | undefined;
}

/** With a reason when it could not be started. */
export interface PowerReport extends Fields<berth.compute.v1.PowerReport, 'powerState' | 'migrationUuid' | 'handover'> {
  readonly powerState: PowerState;
  /** As in the order. */
  readonly migrationUuid?: string | undefined;
  /** Of what was stopped to be moved. */
  readonly handover?: Uint8Array | undefined;
}

export type BuildOutcome = 'active' | 'failed' | 'refused' | 'destroyed' | 'lost';

export interface BuildReport extends Fields<berth.compute.v1.BuildReport, 'outcome' | 'keptClaimToken'> {
  readonly outcome: BuildOutcome;
  /** Of an order to destroy: by what the instance is here all the same; 0 when it is not. */
  readonly keptClaimToken?: number;
  readonly alternates: readonly Selection[];
}

export interface HostDiscrepancy
  extends Fields<
    berth.compute.v1.HostDiscrepancy,
    'refusal' | 'unclaimed' | 'present' | 'reporter' | 'saidAfterMs' | 'changing'
  > {
  readonly unclaimed: readonly RunningInstance[];
  readonly present: readonly RunningInstance[];
  /** Why the host, or a report of it, was refused to its agent. */
  readonly refusal?: HostRefusal | undefined;
  /** Who reported, as the broker knows it. */
  readonly reporter?: string | undefined;
  /** Above 0: the others are all that is there, as it was after this time by the store's clock. */
  readonly saidAfterMs?: number;
  /** What is being built or destroyed there, when all is said. */
  readonly changing?: readonly RunningInstance[];
}

export type HostRefusal = Fields<berth.compute.v1.HostRefusal>;

// berth.console.v1

/** An action of an operator's by the console: carried out, or refused for `error`. */
export interface OperatorAction extends Fields<berth.console.v1.OperatorAction, 'error'> {
  readonly error: BerthError | undefined;
}
