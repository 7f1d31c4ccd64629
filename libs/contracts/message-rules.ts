import { BerthError } from '../domain/errors';
import { type Identity, nameOf } from './identity';

/** Who may send a message: an identity's kind, but for nobody. */
export type Sender = Exclude<Identity['kind'], 'nobody'>;

/** A rule of a message, judged before a byte of it is decoded, and how much decoding may make of it. */
export interface MessageRule {
  /** The largest body from each sender; who is not named may not send it. */
  readonly maxBytes: Readonly<Partial<Record<Sender, number>>>;
  /** Embedded messages and entries of maps in it, at all depths together (`bounded-reader.ts`). */
  readonly maxParts: number;
}

const KIB = 1_024;
/** The largest body of all, as `BERTH_BUS_MAX_MESSAGE_BYTES` and the broker's `max_message_size` are set unless told otherwise. */
const WHOLE = 4_096 * KIB;

const ofServices = (maxParts: number): MessageRule => ({ maxBytes: { service: WHOLE }, maxParts });
const ofTenants = (bytes: number, maxParts: number): MessageRule => ({
  maxBytes: { project: bytes, service: WHOLE },
  maxParts,
});
const ofAgents = (bytes: number, maxParts: number): MessageRule => ({
  maxBytes: { agent: bytes, service: WHOLE },
  maxParts,
});

/** The largest of agents and tenants whose type has no rule: it is read to be refused. */
const UNKNOWN = 64 * KIB;

/** A question with a handful of fields. */
const FEW = 100;
/** A request spec, or lists of names. */
const MANY = 20_000;
/** Parts of a message that has no rule: an answer or a record, which services wrote. */
const MOST = 200_000;

/**
 * Who may send each message that is consumed, and how large it may be: the one place where this is said. A handler judges
 * only what depends on the content: whose project, whose host.
 */
export const MESSAGE_RULES: ReadonlyMap<string, MessageRule> = new Map(
  Object.entries<MessageRule>({
    // build.requests. A thousand destinations, from the top alone.
    'berth.conductor.v1.BuildRequest': ofTenants(512 * KIB, 100_000),
    'berth.conductor.v1.TerminateInstance': ofTenants(4 * KIB, FEW),
    // rpc.scheduler
    'berth.scheduler.v1.SelectDestinationsRequest': ofServices(MANY),
    'berth.scheduler.v1.ClaimMovesRequest': ofServices(50_000),
    'berth.scheduler.v1.ExplainRequest': ofTenants(512 * KIB, MANY),
    'berth.scheduler.v1.ExplainInstanceRequest': ofTenants(4 * KIB, FEW),
    'berth.scheduler.v1.ListHostsRequest': ofServices(FEW),
    'berth.scheduler.v1.ListOverAllocatedRequest': ofServices(FEW),
    'berth.scheduler.v1.SetHostEnabledRequest': ofServices(FEW),
    'berth.scheduler.v1.ClearHostFailuresRequest': ofServices(FEW),
    'berth.scheduler.v1.ListNodesRequest': ofServices(FEW),
    'berth.cell.v1.DescribeCellRequest': ofServices(FEW),
    'berth.cell.v1.ListCellsRequest': ofServices(FEW),
    'berth.cell.v1.SetCellStateRequest': ofServices(FEW),
    'berth.aggregate.v1.ListAggregatesRequest': ofServices(FEW),
    'berth.aggregate.v1.ListZonesRequest': ofTenants(4 * KIB, FEW),
    'berth.aggregate.v1.CreateAggregateRequest': ofServices(MANY),
    'berth.aggregate.v1.UpdateAggregateRequest': ofServices(MANY),
    'berth.aggregate.v1.AddAggregateHostRequest': ofServices(FEW),
    'berth.aggregate.v1.RemoveAggregateHostRequest': ofServices(FEW),
    'berth.aggregate.v1.DeleteAggregateRequest': ofServices(FEW),
    'berth.group.v1.ListGroupsRequest': ofTenants(4 * KIB, FEW),
    'berth.group.v1.CreateGroupRequest': ofTenants(16 * KIB, FEW),
    'berth.group.v1.DeleteGroupRequest': ofTenants(4 * KIB, FEW),
    'berth.quota.v1.ListQuotasRequest': ofTenants(4 * KIB, FEW),
    'berth.quota.v1.ListUsageRequest': ofTenants(4 * KIB, FEW),
    'berth.quota.v1.SetQuotaRequest': ofServices(MANY),
    'berth.quota.v1.UnsetQuotaRequest': ofServices(FEW),
    // rpc.conductor
    'berth.conductor.v1.ListInstancesRequest': ofTenants(4 * KIB, FEW),
    'berth.conductor.v1.OperateInstanceRequest': ofTenants(512 * KIB, MANY),
    'berth.conductor.v1.MoveInstancesRequest': ofServices(MANY),
    'berth.conductor.v1.ListDoubtsRequest': ofServices(FEW),
    'berth.conductor.v1.SettleDoubtRequest': ofServices(FEW),
    'berth.conductor.v1.DeleteHostRequest': ofServices(FEW),
    'berth.conductor.v1.ReleaseClaimsRequest': ofServices(MANY),
    'berth.conductor.v1.HealAllocationRequest': ofServices(FEW),
    'berth.flavor.v1.ListFlavorsRequest': ofTenants(4 * KIB, FEW),
    'berth.flavor.v1.CreateFlavorRequest': ofServices(MANY),
    'berth.flavor.v1.UpdateFlavorRequest': ofServices(MANY),
    'berth.flavor.v1.DeleteFlavorRequest': ofServices(FEW),
    // stats. A report names each instance of a host with all that it holds.
    'berth.scheduler.v1.UpdateResourceStatsRequest': ofAgents(WHOLE, MOST),
    'berth.scheduler.v1.AcquireHostsRequest': ofAgents(WHOLE, FEW),
    'berth.scheduler.v1.ReleaseHostsRequest': ofAgents(WHOLE, FEW),
    'berth.scheduler.v1.JoinPoolRequest': ofAgents(16 * KIB, FEW),
    'berth.scheduler.v1.LeavePoolRequest': ofAgents(16 * KIB, FEW),
    'berth.scheduler.v1.ReadNodesRequest': ofAgents(WHOLE, FEW),
    'berth.scheduler.v1.WriteNodeRequest': ofAgents(1_024 * KIB, MANY),
    // build.results
    'berth.compute.v1.BuildReport': ofAgents(1_024 * KIB, MANY),
    'berth.compute.v1.PowerReport': ofAgents(256 * KIB, MANY),
    'berth.compute.v1.HostDiscrepancy': ofServices(MOST),
    // agent.<service host>: of conductors, and of the agent itself, which puts an order back.
    'berth.compute.v1.BuildInstance': ofAgents(WHOLE, MANY),
    'berth.compute.v1.DestroyInstance': ofAgents(1_024 * KIB, MANY),
    'berth.compute.v1.SetPowerState': ofAgents(1_024 * KIB, MANY),
    'berth.compute.v1.OperateNode': ofServices(FEW),
    // berth.events
    'berth.conductor.v1.InstanceEvent': ofServices(MANY),
    'berth.conductor.v1.BuildRefused': ofServices(FEW),
    'berth.flavor.v1.FlavorEvent': ofServices(MANY),
    'berth.console.v1.OperatorAction': ofServices(FEW),
    'berth.cell.v1.CellSummaryEvent': ofServices(MOST),
    // Several of the others in one, of 256 KiB at most and what stands beside the bodies.
    'berth.internal.v1.Frame': {
      maxBytes: { project: 320 * KIB, agent: 320 * KIB, service: 320 * KIB },
      maxParts: FEW,
    },
    // In others, or in records: bounded where it is decoded.
    'berth.scheduler.v1.RequestSpec': ofTenants(512 * KIB, MANY),
  }),
);

/** Bound of the parts that decoding makes of a message at most. */
export function maxPartsOf(type: string): number {
  return MESSAGE_RULES.get(type)?.maxParts ?? MOST;
}

/**
 * Why a message is not worked on, by who sent it and its size; undefined when it may be. A type without a rule has no handler: it is
 * answered `unknown_type`, undecoded.
 *
 * @param maxBytes  of any message, as the process is set
 */
export function refusalOfMessage(
  type: string,
  sender: Identity,
  bytes: number,
  maxBytes: number,
): BerthError | undefined {
  const rule = MESSAGE_RULES.get(type);
  const allowed = rule && (sender.kind === 'nobody' ? undefined : rule.maxBytes[sender.kind]);
  if (rule && allowed === undefined) return mayNotSend(type, sender, rule);
  const isStrange = rule === undefined && sender.kind !== 'service';
  const limit = isStrange
    ? UNKNOWN
    : Math.min(allowed === undefined || allowed === WHOLE ? maxBytes : allowed, maxBytes);
  return bytes > limit ? tooLarge(type, sender, bytes, limit) : undefined;
}

function mayNotSend(type: string, sender: Identity, { maxBytes }: MessageRule): BerthError {
  const isForServices = maxBytes.project === undefined && maxBytes.agent === undefined;
  const reason = isForServices ? 'services_only' : maxBytes.project === undefined ? 'wrong_host' : 'wrong_project';
  const message = `${nameOf(sender)} may not send ${type}`;
  return new BerthError('permission_denied', reason, message, { details: { field: 'type' } });
}

function tooLarge(type: string, sender: Identity, bytes: number, limit: number): BerthError {
  const message = `a ${type} of ${bytes} bytes is above the limit of ${limit} for ${nameOf(sender)}; send less`;
  return new BerthError('invalid_argument', 'message_too_large', message, {
    details: { field: 'body', bytes: String(bytes), limit: String(limit) },
  });
}
