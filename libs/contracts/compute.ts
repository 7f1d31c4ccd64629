import { berth } from '#generated/berth';
import { checkedClaimed, claimedToWire } from './allocations';
import {
  amounts,
  enumeration,
  hostName,
  list,
  name,
  projectId,
  serviceHostName,
  text,
  uuid,
  uuidOrEmpty,
  whole,
} from './checks';
import { type Codec, codec } from './codec';
import { MAX_INSTANCES_PER_HOST } from './limits';
import type {
  Arrival,
  BuildInstance,
  BuildReport,
  DestroyInstance,
  HostDiscrepancy,
  HostRefusal,
  RunningInstance,
  Selection,
} from './messages';
import { handoverFromWire, runningPowerState } from './power';
import { codecAroundSpec } from './request-spec';
import { sealedRequest, selectionsFromWire } from './selection';
import { runningFromWire, runningToWire } from './stats';

const wire = berth.compute.v1;
const { BuildOutcome } = wire;
const OUTCOMES = enumeration({
  active: BuildOutcome.BUILD_OUTCOME_ACTIVE,
  failed: BuildOutcome.BUILD_OUTCOME_FAILED,
  refused: BuildOutcome.BUILD_OUTCOME_REFUSED,
  destroyed: BuildOutcome.BUILD_OUTCOME_DESTROYED,
  lost: BuildOutcome.BUILD_OUTCOME_LOST,
});

/** To `agent.<service host>`: build this on the host that it names. */
export const buildInstanceCodec: Codec<BuildInstance> = codecAroundSpec(
  'berth.compute.v1.BuildInstance',
  wire.BuildInstance,
  6,
  (build) => ({
    ...build,
    requestSpec: null,
    alternates: build.alternates as Selection[],
    powerState: runningPowerState.toWire(build.powerState),
    ...claimedToWire(build),
    arrival: build.arrival ?? null,
  }),
  (build, requestSpec) => {
    return {
      instanceUuid: uuid(build.instanceUuid, 'instance_uuid'),
      requestId: uuid(build.requestId, 'request_id'),
      name: name(build.name, 'name'),
      projectId: projectId(build.projectId, 'project_id'),
      userId: name(build.userId, 'user_id'),
      requestSpec,
      host: hostName(build.host, 'host'),
      attempt: build.attempt,
      claimToken: whole(build.claimToken, 'claim_token'),
      alternates: selectionsFromWire(build.alternates, 'alternates'),
      deadlineAtMs: whole(build.deadlineAtMs, 'deadline_at_ms'),
      timeLeftMs: whole(build.timeLeftMs, 'time_left_ms'),
      epoch: whole(build.epoch, 'epoch'),
      allocationRequest: sealedRequest(build.allocationRequest, 'allocation_request'),
      powerState: runningPowerState.fromWire(build.powerState).powerState ?? 'running',
      ...checkedClaimed(build),
      ...(build.arrival ? { arrival: arrivalFromWire(build.arrival) } : {}),
    };
  },
);

function arrivalFromWire(value: berth.compute.v1.IArrival): Arrival {
  const { inPlace, handover } = value as berth.compute.v1.Arrival;
  return { inPlace, handover: handoverFromWire(handover, 'arrival.handover') };
}

/** To `agent.<service host>`: destroy this on the host that it names. */
export const destroyInstanceCodec: Codec<DestroyInstance> = codec(
  'berth.compute.v1.DestroyInstance',
  wire.DestroyInstance,
  (destroy) => ({ ...destroy, ...claimedToWire(destroy) }),
  (destroy) => ({
    instanceUuid: uuid(destroy.instanceUuid, 'instance_uuid'),
    host: hostName(destroy.host, 'host'),
    attempt: destroy.attempt,
    report: destroy.report,
    epoch: whole(destroy.epoch, 'epoch'),
    claimToken: whole(destroy.claimToken, 'claim_token'),
    ...checkedClaimed(destroy),
  }),
);

/** To `build.results`: how an attempt, or an instance, ended. */
export const buildReportCodec: Codec<BuildReport> = codec(
  'berth.compute.v1.BuildReport',
  wire.BuildReport,
  (report) => ({
    ...report,
    outcome: OUTCOMES.toWire(report.outcome),
    alternates: report.alternates as Selection[],
  }),
  (report) => ({
    instanceUuid: uuid(report.instanceUuid, 'instance_uuid'),
    host: hostName(report.host, 'host'),
    attempt: report.attempt,
    outcome: OUTCOMES.fromWire(report.outcome, 'outcome'),
    reason: name(report.reason, 'reason'),
    message: text(report.message, 'message'),
    claimToken: whole(report.claimToken, 'claim_token'),
    alternates: selectionsFromWire(report.alternates, 'alternates'),
    epoch: whole(report.epoch, 'epoch'),
    position: whole(report.position, 'position'),
    keptClaimToken: whole(report.keptClaimToken, 'kept_claim_token'),
  }),
);

/** To `build.results`: what an agent reports and what the store says do not agree. */
export const hostDiscrepancyCodec: Codec<HostDiscrepancy> = codec(
  'berth.compute.v1.HostDiscrepancy',
  wire.HostDiscrepancy,
  (discrepancy) => ({
    ...discrepancy,
    unclaimed: discrepancy.unclaimed.map(runningToWire),
    missing: discrepancy.missing as string[],
    present: discrepancy.present.map(runningToWire),
    changing: (discrepancy.changing ?? []).map(runningToWire),
    refusal: discrepancy.refusal ?? null,
    reporter: discrepancy.reporter ?? '',
  }),
  (discrepancy) => ({
    host: hostName(discrepancy.host, 'host'),
    providerUuid: uuid(discrepancy.providerUuid, 'provider_uuid'),
    unclaimed: list(discrepancy.unclaimed, 'unclaimed', MAX_INSTANCES_PER_HOST, checkedRunning),
    missing: list(discrepancy.missing, 'missing', MAX_INSTANCES_PER_HOST, uuid),
    serviceHost: serviceHostName(discrepancy.serviceHost, discrepancy.host, 'service_host'),
    epoch: whole(discrepancy.epoch, 'epoch'),
    position: whole(discrepancy.position, 'position'),
    sequence: whole(discrepancy.sequence, 'sequence'),
    atMs: whole(discrepancy.atMs, 'at_ms'),
    present: list(discrepancy.present, 'present', MAX_INSTANCES_PER_HOST, checkedRunning),
    refusal: discrepancy.refusal ? refusalFromWire(discrepancy.refusal) : undefined,
    ...(discrepancy.reporter === '' ? {} : { reporter: name(discrepancy.reporter, 'reporter') }),
    saidAfterMs: whole(discrepancy.saidAfterMs, 'said_after_ms'),
    changing: list(discrepancy.changing, 'changing', MAX_INSTANCES_PER_HOST, checkedRunning),
  }),
);

function refusalFromWire({ reason, message }: berth.compute.v1.IHostRefusal): HostRefusal {
  return { reason: name(reason ?? '', 'refusal.reason'), message: text(message ?? '', 'refusal.message') };
}

function checkedRunning(value: berth.scheduler.v1.IRunningInstance, field: string): RunningInstance {
  const running = runningFromWire(value, field);
  uuid(running.instanceUuid, `${field}.instance_uuid`);
  uuidOrEmpty(running.requestId, `${field}.request_id`);
  amounts(running.resources, `${field}.resources`);
  whole(running.claimToken, `${field}.claim_token`);
  sealedRequest(running.allocationRequest, `${field}.allocation_request`);
  for (const key of ['projectId', 'userId', 'name', 'groupId'] as const) name(running[key], `${field}.${key}`);
  return running;
}
