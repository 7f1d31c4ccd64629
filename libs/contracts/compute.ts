import { berth } from '#generated/berth';
import { claimedAllocations, claimedMappings } from './allocations';
import { amounts, hostName, name, orHost, projectId, text, uuid, uuidOrEmpty, whole } from './checks';
import { count, encodedSpec, enumOf, flag, list, omittable, optional } from './fields';
import { MAX_INSTANCES_PER_HOST } from './limits';
import { message, type PlainOf } from './message';
import { KIB, MANY, MOST, ofAgents, ofServices, WHOLE } from './message-rules';
import { handover, runningOrShutdown } from './power';
import { sealedRequest, selections } from './selection';
import { runningFields } from './stats';

const wire = berth.compute.v1;

/** The part of an order for an instance that is moved, not built anew. */
const arrival = message(wire.Arrival, { inPlace: flag, handover });
export type Arrival = PlainOf<typeof arrival>;

/** To `agent.<service host>`: build this on the host that it names. */
export const buildInstanceCodec = message(
  wire.BuildInstance,
  {
    instanceUuid: uuid,
    requestId: uuid,
    name,
    projectId,
    userId: name,
    requestSpec: encodedSpec(6),
    host: hostName,
    attempt: count,
    claimToken: whole,
    alternates: selections,
    deadlineAtMs: whole,
    timeLeftMs: whole,
    epoch: whole,
    allocationRequest: sealedRequest,
    powerState: runningOrShutdown,
    allocations: claimedAllocations,
    mappings: claimedMappings,
    arrival: optional(arrival),
  },
  { rule: ofAgents(WHOLE, MANY) },
);
export type BuildInstance = PlainOf<typeof buildInstanceCodec>;

/** To `agent.<service host>`: asks a host whether it has the room that is to be claimed there. */
export const askHostCodec = message(
  wire.AskHost,
  {
    askId: uuid,
    host: hostName,
    epoch: whole,
    instanceUuid: uuid,
    projectId,
    allocations: claimedAllocations,
  },
  { rule: ofServices(MANY) },
);
export type AskHost = PlainOf<typeof askHostCodec>;

/**
 * To `agent.<service host>`: destroy this on the host that it names. Only an attempt up to `attempt`, under a claim up to
 * `claimToken`, is destroyed; 0 means whatever runs.
 */
export const destroyInstanceCodec = message(
  wire.DestroyInstance,
  {
    instanceUuid: uuid,
    host: hostName,
    attempt: count,
    report: flag,
    epoch: whole,
    claimToken: whole,
    allocations: claimedAllocations,
    mappings: claimedMappings,
    /** Another project's instance of the uuid is left alone; '' means whosever it is. */
    projectId: omittable(projectId),
  },
  { rule: ofAgents(1_024 * KIB, MANY) },
);
export type DestroyInstance = PlainOf<typeof destroyInstanceCodec>;

/** Amounts claimed for the order's instance, by provider; empty when the conductor does not say. */
export type Claimed = Pick<DestroyInstance, 'allocations' | 'mappings'>;

/** To `build.results`: how an attempt, or an instance, ended. */
export const buildReportCodec = message(
  wire.BuildReport,
  {
    instanceUuid: uuid,
    host: hostName,
    attempt: count,
    outcome: enumOf(wire.BuildOutcome, 'BUILD_OUTCOME'),
    reason: name,
    message: text,
    claimToken: whole,
    alternates: selections,
    epoch: whole,
    position: whole,
    /** On an order to destroy: the claim by which the instance stays here all the same; 0 when it is gone. */
    keptClaimToken: omittable(whole),
  },
  { rule: ofAgents(1_024 * KIB, MANY) },
);
export type BuildReport = PlainOf<typeof buildReportCodec>;
export type BuildOutcome = BuildReport['outcome'];

/** Reason of a refused order: it is of an earlier epoch of its host. It was not judged, and is given again if it is still wanted. */
export const EARLIER_EPOCH = 'earlier_epoch';

/** An instance as an agent reported it. */
const running = message(berth.scheduler.v1.RunningInstance, {
  ...runningFields,
  instanceUuid: uuid,
  requestId: uuidOrEmpty,
  resources: amounts,
  claimToken: whole,
  allocationRequest: sealedRequest,
  projectId: name,
  userId: name,
  name,
  groupId: name,
});
const runningInstances = list(running, MAX_INSTANCES_PER_HOST);

/** Why the host, or a report of it, was refused to its agent. */
const hostRefusal = message(wire.HostRefusal, { reason: name, message: text });
export type HostRefusal = PlainOf<typeof hostRefusal>;

/** To `build.results`: what an agent reports and what the store says do not agree. */
export const hostDiscrepancyCodec = message(
  wire.HostDiscrepancy,
  {
    host: hostName,
    providerUuid: uuid,
    unclaimed: runningInstances,
    missing: list(uuid, MAX_INSTANCES_PER_HOST),
    serviceHost: orHost,
    epoch: whole,
    position: whole,
    sequence: whole,
    atMs: whole,
    present: runningInstances,
    refusal: optional(hostRefusal),
    /** The reporting agent, as the broker knows it. */
    reporter: optional(name),
    /** Above 0: the others are all that is there, as it was after this time by the store's clock. */
    saidAfterMs: omittable(whole),
    /** Instances being built or destroyed there, in a full report. */
    changing: omittable(runningInstances),
  },
  { rule: ofServices(MOST) },
);
export type HostDiscrepancy = PlainOf<typeof hostDiscrepancyCodec>;
