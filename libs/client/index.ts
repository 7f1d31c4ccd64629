/* What programs import as `berth/client`: see README.md. */

export type { AggregateView, ZoneView } from '../contracts/aggregates';
export type { Decision, Diagnosis, ExplainResponse } from '../contracts/diagnosis';
export type { CreateFlavorRequest, UpdateFlavorRequest } from '../contracts/flavors';
export type { CreateGroupRequest, GroupView } from '../contracts/groups';
export type { HostSummary } from '../contracts/hosts';
export type { InstanceEvent, InstanceView } from '../contracts/instance';
export type { MoveInstancesResponse, PlannedMove } from '../contracts/moves';
export type { ProjectQuotaView, ProjectUsageView } from '../contracts/quotas';
export { BerthError, type ErrorCode, isRetryable } from '../domain/errors';
export type { Flavor } from '../domain/flavor';
export { type Attempt, INSTANCE_STATES, type InstanceState } from '../domain/instance';
export type { RequestGroup, RequestSpec } from '../domain/request-spec';
export type { NamedGroup, ServerGroup } from '../domain/server-group';
export { type Build, type BuildOptions, Client, type QuotaChange, type SpecFields, type WaitOptions } from './client';
export { type ConnectOptions, connect } from './connect';
export type { EventFilter } from './event-stream';
