import { berth } from '#generated/berth';
import { MAX_ZONES } from '#libs/domain/cells/cell-summary';
import { MAX_VICTIMS } from '#libs/domain/queueing/admission';
import { preemptionFromWire, preemptionToWire, priorityFromWire } from './admission';
import {
  amounts,
  hostName,
  hostNameOrEmpty,
  list,
  missing,
  pageLimit,
  pairs,
  projectId,
  requiredName,
  text,
  uuid,
  whole,
} from './checks';
import { type Codec, codec, type Method, type Mutable } from './codec';
import { MAX_INSTANCES_PER_HOST, MAX_INSTANCES_PER_REQUEST, MAX_NAMES, MAX_PAGE } from './limits';
import type {
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
} from './messages';
import { excessFromWire } from './quotas';
import { codecAroundSpec } from './request-spec';

/** Hosts listed when the asker does not say how many. */
const DEFAULT_EXPLAINED_HOSTS = 10;

/** To `rpc.scheduler`: the decision as a dry run, with the reasons of every filter. */
export const explainMethod: Method<ExplainRequest, ExplainResponse> = {
  request: codecAroundSpec(
    'berth.scheduler.v1.ExplainRequest',
    berth.scheduler.v1.ExplainRequest,
    1,
    ({ host, limit, priority = 0, mayPreempt = false, mayDisplace = false, stayingInstanceUuids = [] }) => {
      return { host, limit, priority, mayPreempt, mayDisplace, stayingInstanceUuids: [...stayingInstanceUuids] };
    },
    (request, requestSpec) => ({
      requestSpec,
      host: hostNameOrEmpty(request.host, 'host'),
      limit: pageLimit(request.limit, 'limit', DEFAULT_EXPLAINED_HOSTS, MAX_PAGE),
      priority: priorityFromWire(request.priority, 'priority'),
      mayPreempt: request.mayPreempt,
      mayDisplace: request.mayDisplace,
      stayingInstanceUuids: list(request.stayingInstanceUuids, 'staying_instance_uuids', MAX_INSTANCES_PER_HOST, uuid),
    }),
  ),
  response: codec(
    'berth.scheduler.v1.ExplainResponse',
    berth.scheduler.v1.ExplainResponse,
    (response) => ({
      diagnosis: response.diagnosis as Mutable<Diagnosis>,
      hosts: response.hosts as Mutable<HostVerdict>[],
      relaxations: response.relaxations as Mutable<Relaxation>[],
      conflict: [...response.conflict],
      preemption: preemptionToWire(response.preemption),
      displacement: (response.displacement as Mutable<Displacement>) ?? null,
      zones: (response.zones ?? []) as Mutable<ZoneVerdict>[],
    }),
    (response) => ({
      diagnosis: diagnosisFromWire(response.diagnosis, 'diagnosis'),
      hosts: list(response.hosts, 'hosts', MAX_PAGE, verdictFromWire),
      relaxations: list(response.relaxations, 'relaxations', MAX_NAMES, relaxationFromWire),
      conflict: list(response.conflict, 'conflict', MAX_NAMES, requiredName),
      preemption: preemptionFromWire(response.preemption, 'preemption'),
      displacement: displacementFromWire(response.displacement, 'displacement'),
      ...(response.zones.length === 0 ? {} : { zones: list(response.zones, 'zones', MAX_ZONES, zoneFromWire) }),
    }),
  ),
};

/** How the store keeps a decision. */
export const decisionCodec: Codec<Decision> = codec(
  'berth.scheduler.v1.Decision',
  berth.scheduler.v1.Decision,
  decisionToWire,
  (decision) => decisionFromWire(decision, 'decision'),
);

/** To `rpc.scheduler`: what was decided for an instance last. */
export const explainInstanceMethod: Method<{ readonly instanceUuid: string }, ExplainInstanceResponse> = {
  request: codec(
    'berth.scheduler.v1.ExplainInstanceRequest',
    berth.scheduler.v1.ExplainInstanceRequest,
    (request) => request,
    ({ instanceUuid }) => ({ instanceUuid: uuid(instanceUuid, 'instance_uuid') }),
  ),
  response: codec(
    'berth.scheduler.v1.ExplainInstanceResponse',
    berth.scheduler.v1.ExplainInstanceResponse,
    ({ decision }) => ({ decision: decisionToWire(decision) }),
    ({ decision }) => ({ decision: decisionFromWire(decision, 'decision') }),
  ),
};

function decisionToWire({ diagnosis, hosts, ...decision }: Decision): berth.scheduler.v1.IDecision {
  return { ...decision, diagnosis: diagnosis as Mutable<Diagnosis>, hosts: hosts as Mutable<HostVerdict>[] };
}

function decisionFromWire(value: berth.scheduler.v1.IDecision | null | undefined, field: string): Decision {
  if (!value) throw missing(field);
  const decision = value as berth.scheduler.v1.Decision;
  return {
    requestId: uuid(decision.requestId, `${field}.request_id`),
    projectId: projectId(decision.projectId, `${field}.project_id`),
    decidedAtMs: whole(decision.decidedAtMs, `${field}.decided_at_ms`),
    revision: whole(decision.revision, `${field}.revision`),
    diagnosis: diagnosisFromWire(decision.diagnosis, `${field}.diagnosis`),
    hosts: list(decision.hosts, `${field}.hosts`, MAX_PAGE + MAX_INSTANCES_PER_REQUEST, verdictFromWire),
    selected: pairs(decision.selected, `${field}.selected`, hostName),
  };
}

export function diagnosisFromWire(wire: berth.scheduler.v1.IDiagnosis | null | undefined, field: string): Diagnosis {
  if (!wire) throw missing(field);
  const { hostsConsidered, hostsPassed, filters, claimConflicts, summary, quotaExceeded } =
    wire as berth.scheduler.v1.Diagnosis;
  return {
    hostsConsidered,
    hostsPassed,
    filters: list(filters, `${field}.filters`, MAX_NAMES, filterFromWire),
    claimConflicts,
    summary: text(summary, `${field}.summary`),
    quotaExceeded: list(quotaExceeded, `${field}.quota_exceeded`, MAX_NAMES, excessFromWire),
  };
}

function filterFromWire(wire: berth.scheduler.v1.IFilterDiagnosis, field: string): FilterDiagnosis {
  const { filter, refused, reasons } = wire as berth.scheduler.v1.FilterDiagnosis;
  return {
    filter: requiredName(filter, `${field}.filter`),
    refused,
    reasons: pairs(reasons, `${field}.reasons`, (count) => count),
  };
}

function displacementFromWire(
  wire: berth.scheduler.v1.IDisplacement | null | undefined,
  field: string,
): Displacement | undefined {
  if (!wire) return undefined;
  const { host, instanceUuids } = wire as berth.scheduler.v1.Displacement;
  return {
    host: hostName(host, `${field}.host`),
    instanceUuids: list(instanceUuids, `${field}.instance_uuids`, MAX_VICTIMS, uuid),
  };
}

function zoneFromWire(wire: berth.scheduler.v1.IZoneVerdict, field: string): ZoneVerdict {
  const { zone, members, cells, reason } = wire as berth.scheduler.v1.ZoneVerdict;
  return {
    zone: requiredName(zone, `${field}.zone`),
    members,
    cells: list(cells, `${field}.cells`, MAX_PAGE, requiredName),
    reason: text(reason, `${field}.reason`),
  };
}

function relaxationFromWire(wire: berth.scheduler.v1.IRelaxation, field: string): Relaxation {
  const { reasons, hosts, nearestHost, less, sentence } = wire as berth.scheduler.v1.Relaxation;
  return {
    reasons: list(reasons, `${field}.reasons`, MAX_NAMES, requiredName),
    hosts,
    nearestHost: hostName(nearestHost, `${field}.nearest_host`),
    less: amounts(less, `${field}.less`),
    sentence: text(sentence, `${field}.sentence`),
  };
}

function verdictFromWire(wire: berth.scheduler.v1.IHostVerdict, field: string): HostVerdict {
  const { host, passed, refusals, weight, weights, roomCosts } = wire as berth.scheduler.v1.HostVerdict;
  return {
    host: hostName(host, `${field}.host`),
    passed,
    refusals: list(refusals, `${field}.refusals`, MAX_NAMES, text),
    weight,
    weights: pairs(weights, `${field}.weights`, (share) => share),
    roomCosts: list(roomCosts, `${field}.room_costs`, MAX_NAMES, roomCostFromWire),
  };
}

function roomCostFromWire(wire: berth.scheduler.v1.IRoomCost, field: string): RoomCost {
  const { resources, fewer, fits, cost } = wire as berth.scheduler.v1.RoomCost;
  return { resources: amounts(resources, `${field}.resources`), fewer, fits: whole(fits, `${field}.fits`), cost };
}
