/* The types of all messages, for tests that make many; others import them from the file of their noun. */

export type { PreemptionView, Victim, WaitingView } from './admission';
export type {
  AggregateAnswer,
  AggregateHostRequest,
  AggregateView,
  CreateAggregateRequest,
  ListAggregatesResponse,
  ListZonesResponse,
  NamedAggregate,
  UpdateAggregateRequest,
  ZoneView,
} from './aggregates';
export type { EncodedRequestSpec } from './codec';
export type {
  Arrival,
  BuildInstance,
  BuildOutcome,
  BuildReport,
  Claimed,
  DestroyInstance,
  HostDiscrepancy,
  HostRefusal,
} from './compute';
export type { BuildAccepted, BuildRefused, BuildRequest, TerminateInstance } from './conductor';
export type {
  Decision,
  Diagnosis,
  Displacement,
  ExplainInstanceResponse,
  ExplainRequest,
  ExplainResponse,
  FilterDiagnosis,
  HostVerdict,
  Relaxation,
  RoomCost,
  ZoneVerdict,
} from './diagnosis';
export type { DoubtView, ListDoubtsResponse, SettleDoubtRequest } from './doubts';
export type {
  CreateFlavorRequest,
  FlavorAnswer,
  FlavorEvent,
  ListFlavorsRequest,
  ListFlavorsResponse,
  UpdateFlavorRequest,
} from './flavors';
export type { CreateGroupRequest, GroupAnswer, GroupView, ListGroupsRequest, ListGroupsResponse } from './groups';
export type { AcquireHostsRequest, AcquireHostsResponse, HostGrant, ReleaseHostsRequest } from './host-leases';
export type {
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
} from './hosts';
export type {
  InstanceEvent,
  InstanceView,
  ListInstancesRequest,
  ListInstancesResponse,
  MigrationView,
} from './instance';
export type {
  ClaimMovesRequest,
  ClaimMovesResponse,
  InstanceMove,
  MoveInstancesRequest,
  MoveInstancesResponse,
  MoveToClaim,
  PlannedMove,
} from './moves';
export type {
  HealAllocationRequest,
  HealAllocationResponse,
  ListNodesRequest,
  NodesResponse,
  NodeView,
  OperateNode,
  ReadNodesRequest,
  WriteNodeRequest,
} from './nodes';
export type { InstanceOperation, OperateInstanceRequest, OperateInstanceResponse } from './operations';
export type { OperatorAction } from './operator-action';
export type { JoinPoolRequest, JoinPoolResponse, LeavePoolRequest, PoolMember } from './pools';
export type { PowerReport, SetPowerState } from './power';
export type {
  ListQuotasRequest,
  ListQuotasResponse,
  ListUsageRequest,
  ListUsageResponse,
  ProjectQuotaView,
  ProjectUsageView,
  QuotaAnswer,
  SetQuotaRequest,
  UnsetQuotaRequest,
} from './quotas';
export type { InstanceClaim, ReleaseClaimsRequest, ReleaseClaimsResponse } from './release-claims';
export type { Destination, Move, SelectDestinationsRequest, SelectDestinationsResponse, Selection } from './selection';
export type {
  HostDisabled,
  NestedProvider,
  RunningInstance,
  UpdateResourceStatsRequest,
  UpdateResourceStatsResponse,
} from './stats';
