import { berth } from '#generated/berth';
import { MAX_ZONES } from '#libs/domain/cells/cell-summary';
import { MAX_VICTIMS } from '#libs/domain/queueing/admission';
import { preemption, priority, timeLimit } from './admission';
import { amounts, hostName, hostNameOrEmpty, name, projectId, requiredName, text, uuid, whole } from './checks';
import type { Method } from './codec';
import { count, encodedSpec, flag, list, map, omittable, optional, pageLimit } from './fields';
import { MAX_CERTIFIED_HOSTS, MAX_INSTANCES_PER_HOST, MAX_INSTANCES_PER_REQUEST, MAX_NAMES, MAX_PAGE } from './limits';
import { message, type PlainOf } from './message';
import { FEW, KIB, MANY, ofTenants } from './message-rules';
import { fairShare, quotaExcess } from './quotas';

const wire = berth.scheduler.v1;
/** Hosts listed when the asker does not say how many. */
const DEFAULT_EXPLAINED_HOSTS = 10;

const filterDiagnosis = message(wire.FilterDiagnosis, { filter: requiredName, refused: count, reasons: map(count) });
export type FilterDiagnosis = PlainOf<typeof filterDiagnosis>;

export const diagnosis = message(wire.Diagnosis, {
  hostsConsidered: count,
  hostsPassed: count,
  filters: list(filterDiagnosis, MAX_NAMES),
  claimConflicts: count,
  summary: text,
  quotaExceeded: list(quotaExcess, MAX_NAMES),
  impossible: optional(list(text, MAX_NAMES)),
});
export type Diagnosis = PlainOf<typeof diagnosis>;

const roomCost = message(wire.RoomCost, { resources: amounts, fewer: count, fits: whole, cost: count });
export type RoomCost = PlainOf<typeof roomCost>;

const hostVerdict = message(wire.HostVerdict, {
  host: hostName,
  passed: flag,
  refusals: list(text, MAX_NAMES),
  weight: count,
  weights: map(count),
  roomCosts: list(roomCost, MAX_NAMES),
});
export type HostVerdict = PlainOf<typeof hostVerdict>;

const relaxation = message(wire.Relaxation, {
  reasons: list(requiredName, MAX_NAMES),
  hosts: count,
  nearestHost: hostName,
  less: amounts,
  sentence: text,
});
export type Relaxation = PlainOf<typeof relaxation>;

/** Instances that would have to be moved away. */
const displacement = message(wire.Displacement, { host: hostName, instanceUuids: list(uuid, MAX_VICTIMS) });
export type Displacement = PlainOf<typeof displacement>;

const zoneVerdict = message(wire.ZoneVerdict, {
  zone: requiredName,
  members: count,
  cells: list(requiredName, MAX_PAGE),
  reason: text,
});
export type ZoneVerdict = PlainOf<typeof zoneVerdict>;

const hostsRefused = message(wire.HostsRefused, {
  reason: requiredName,
  hosts: list(hostName, MAX_CERTIFIED_HOSTS),
  refusedAlone: hostName,
});
export type HostsRefused = PlainOf<typeof hostsRefused>;

const explainRequest = message(
  wire.ExplainRequest,
  {
    requestSpec: encodedSpec(1),
    /** '' for all. */
    host: hostNameOrEmpty,
    limit: pageLimit(DEFAULT_EXPLAINED_HOSTS, MAX_PAGE),
    priority: omittable(priority),
    mayPreempt: omittable(flag),
    mayDisplace: omittable(flag),
    stayingInstanceUuids: omittable(list(uuid, MAX_INSTANCES_PER_HOST)),
    certificate: omittable(flag),
    refusedBy: omittable(name),
    timeLimitMs: optional(timeLimit),
  },
  { rule: ofTenants(512 * KIB, MANY) },
);
export type ExplainRequest = PlainOf<typeof explainRequest>;

const explainResponse = message(wire.ExplainResponse, {
  diagnosis,
  hosts: list(hostVerdict, MAX_PAGE),
  relaxations: list(relaxation, MAX_NAMES),
  conflict: list(requiredName, MAX_NAMES),
  preemption: optional(preemption),
  displacement: optional(displacement),
  /** By the top, of a group that spreads over zones. */
  zones: optional(list(zoneVerdict, MAX_ZONES)),
  certificate: optional(list(hostsRefused, MAX_NAMES)),
  /** Where those who wait do not take turns. */
  fairShare: optional(fairShare),
});
export type ExplainResponse = PlainOf<typeof explainResponse>;

/** To `rpc.scheduler`: the decision as a dry run, with the reasons of every filter. */
export const explainMethod: Method<ExplainRequest, ExplainResponse> = {
  request: explainRequest,
  response: explainResponse,
};

/** A host that was selected and did not confirm it; `no_answer` when it was silent. */
const unconfirmedHost = message(wire.UnconfirmedHost, { host: hostName, reason: requiredName, message: text });
export type UnconfirmedHost = PlainOf<typeof unconfirmedHost>;

/** The stored form of a decision for the instances of a request. */
export const decisionCodec = message(
  wire.Decision,
  {
    requestId: uuid,
    projectId,
    decidedAtMs: whole,
    revision: whole,
    diagnosis,
    hosts: list(hostVerdict, MAX_PAGE + MAX_INSTANCES_PER_REQUEST),
    selected: map(hostName),
    forNova: omittable(flag),
    unconfirmed: omittable(list(unconfirmedHost, MAX_PAGE)),
  },
  { path: 'decision' },
);
export type Decision = PlainOf<typeof decisionCodec>;

const explainInstanceRequest = message(
  wire.ExplainInstanceRequest,
  { instanceUuid: uuid },
  { rule: ofTenants(4 * KIB, FEW) },
);
const explainInstanceResponse = message(wire.ExplainInstanceResponse, { decision: decisionCodec });
export type ExplainInstanceResponse = PlainOf<typeof explainInstanceResponse>;

/** To `rpc.scheduler`: what was decided for an instance last. */
export const explainInstanceMethod: Method<PlainOf<typeof explainInstanceRequest>, ExplainInstanceResponse> = {
  request: explainInstanceRequest,
  response: explainInstanceResponse,
};
