/* The exports of `berth/client`: see README.md. */

import { type ConnectOptions, connect as connectOwn } from './connect';
import { type SpelledClient, spelling } from './nova-states';

export type { AggregateView, ZoneView } from '../contracts/aggregates';
export type { CapacityWantedEvent, WantedHosts } from '../contracts/capacity-wanted';
export type { Decision, Diagnosis, ExplainResponse } from '../contracts/diagnosis';
export type { CreateFlavorRequest, UpdateFlavorRequest } from '../contracts/flavors';
export type { CreateGroupRequest, GroupView } from '../contracts/groups';
export type { GuaranteeStatus, GuaranteeTerms, ListGuaranteesResponse } from '../contracts/guarantees';
export type { HostSummary } from '../contracts/hosts';
export type { MoveInstancesResponse, PlannedMove } from '../contracts/moves';
export type { FairShareView, ProjectQuotaView, ProjectUsageView, UsageBy, UsageShareView } from '../contracts/quotas';
export type { ReservationStatus } from '../contracts/reservations';
export { BerthError, type ErrorCode, isRetryable } from '../domain/errors';
export type { Flavor } from '../domain/flavor';
export type { Attempt } from '../domain/instance';
export type { RequestGroup, RequestSpec } from '../domain/request-spec';
export type { NamedGroup, ServerGroup } from '../domain/server-group';
export type { AutoscalerLimits } from './autoscaler';
export { autoscale } from './autoscaler';
export type { Build, BuildOptions, NewReservation, QuotaChange, SpecFields, WaitOptions } from './client';
export type { ConnectOptions } from './connect';
export {
  type SpelledClient as Client,
  type SpelledEvent as InstanceEvent,
  type SpelledInstance as InstanceView,
  STATE_NAMES as INSTANCE_STATES,
  type StateName as InstanceState,
} from './nova-states';

/**
 * Connects to Berth. An open client keeps the process alive.
 *
 * @throws BerthError `unavailable / broker_away` when the broker can't be reached in time; `invalid_argument /
 *   bad_bus_url`.
 */
export async function connect(options: ConnectOptions): Promise<SpelledClient> {
  return spelling(await connectOwn(options));
}
