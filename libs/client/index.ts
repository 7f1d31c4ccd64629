/* What programs import as `berth/client`: see README.md. */

export type {
  AggregateView,
  CreateFlavorRequest,
  CreateGroupRequest,
  Decision,
  Diagnosis,
  ExplainResponse,
  GroupView,
  HostSummary,
  InstanceEvent,
  InstanceView,
  MoveInstancesResponse,
  PlannedMove,
  ProjectQuotaView,
  ProjectUsageView,
  UpdateFlavorRequest,
  ZoneView,
} from '../contracts/messages';
export { BerthError, type ErrorCode, isRetryable } from '../domain/errors';
export type { Flavor } from '../domain/flavor';
export { type Attempt, INSTANCE_STATES, type InstanceState } from '../domain/instance';
export type { RequestGroup, RequestSpec } from '../domain/request-spec';
export type { NamedGroup, ServerGroup } from '../domain/server-group';
export { type Build, type BuildOptions, Client, type QuotaChange, type SpecFields, type WaitOptions } from './client';
export { type ConnectOptions, connect } from './connect';
export type { EventFilter } from './event-stream';
