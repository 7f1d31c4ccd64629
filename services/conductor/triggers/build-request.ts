import { answerAccepted } from '#libs/bus/answer-client';
import { ACK, type IncomingMessage, type Settlement } from '#libs/bus/port';
import type { EncodedRequestSpec } from '#libs/contracts/codec';
import { type BuildRequest, buildRequestCodec } from '#libs/contracts/conductor';
import { requireProject, requireService } from '#libs/contracts/identity';
import { countOfAll, kindsOf } from '#libs/contracts/member-kinds';
import { newInstances } from '#libs/contracts/new-instances';
import { requireOwnRequest } from '#libs/contracts/own-instances';
import type { Destination } from '#libs/contracts/selection';
import { BerthError, invalidArgument, isRetryable } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { readSpec, withFlavor } from '#libs/fleet-settings/fill-in-flavor';
import { requireOneOwner } from '#libs/fleet-settings/one-owner';
import { inTrace } from '#libs/runtime/tracing';
import type { Conductor } from '../conductor';
import { createRecords } from '../lifecycle';
import { readLostWrites } from '../lost-writes';
import { lookAt, type Observation } from '../observation';
import { claimedHostOf } from '../steps/select-destinations';
import { goOnOnce } from './admission/go-on-once';
import { requirePriority } from './admission/priority-allowed';
import { refuseRequest } from './settle-message';

/**
 * A build request: stores its instances, answers the client, and looks at them.
 *
 * The message is acknowledged only when every instance is with an agent or at rest. Whoever gets it again finds the
 * instances by their request id and goes on with each where it stands.
 */
export async function onBuildRequest(c: Conductor, message: IncomingMessage, isRepeated: boolean): Promise<Settlement> {
  // The trace begins here for a client that traces nothing.
  const span = { name: 'build request', kind: 'internal', attributes: { 'messaging.message.id': message.id } } as const;
  return inTrace(span, () => build(c, message, isRepeated));
}

async function build(c: Conductor, message: IncomingMessage, isRepeated: boolean): Promise<Settlement> {
  const accepted = await accept(c, message);
  if ('kind' in accepted) return accepted;
  const { request, instances, isNew } = accepted;
  await answerAccepted(c.bus, message, request.requestId, instances);
  const observed = observationOf(isNew, isRepeated);
  const selected = request.destinations && (await claimedByTop(c, request.destinations, instances));
  await goOnOnce(
    c,
    instances.map((instance) => lookAt(instance, selected?.get(instance.uuid) ?? observed)),
  );
  return ACK;
}

/**
 * Claims that the top of the fleet made for instances that have no host yet, where they still hold. Between the selection and
 * this request they had no record: if the request took long, an audit released them, and the instances ask a scheduler like
 * any others.
 */
async function claimedByTop(
  c: Conductor,
  destinations: readonly Destination[],
  instances: readonly Instance[],
): Promise<ReadonlyMap<string, Observation>> {
  const waiting = new Set(instances.filter(({ state }) => state === 'scheduling').map(({ uuid }) => uuid));
  const wanted = destinations.filter(({ instanceUuid }) => waiting.has(instanceUuid));
  if (wanted.length === 0) return new Map();
  const held = await c.placement.consumers(wanted.map(({ instanceUuid }) => instanceUuid));
  const tokens = new Map(held.map(({ uuid, claimToken }) => [uuid, claimToken]));
  const present = wanted.filter(({ instanceUuid, claimToken }) => tokens.get(instanceUuid) === claimToken);
  return new Map(present.map((one) => [one.instanceUuid, { kind: 'claimed', target: claimedHostOf(one) }]));
}

function observationOf(isNew: boolean, isRepeated: boolean): Observation {
  if (isNew) return { kind: 'accepted' };
  return { kind: isRepeated ? 'interrupted' : 'nothing' };
}

/**
 * Stores the instances of a request; a request sent twice finds those of the first time. Refusals go to the client; answers then how
 * its message is settled.
 */
async function accept(c: Conductor, message: IncomingMessage) {
  try {
    const request = buildRequestCodec.decode(message.body);
    const { projectId } = readSpec(request.requestSpec);
    requireProject(message.identity, projectId);
    requireOneOwner(request);
    if (request.destinations) requireService(message.identity, 'BuildRequest.destinations');
    if (request.admission) await requirePriority(c, projectId, request.admission);
    const { created, instances } = await createOnce(c, request);
    requireOwnRequest(request.requestId, instances, projectId);
    return { request, instances, isNew: created };
  } catch (thrown) {
    const error = BerthError.from(thrown);
    if (isRetryable(error) || OVERLOADED.has(error.reason)) throw error;
    return refuseRequest(c, message, error);
  }
}

/** Reasons of a bus that takes no call now: the request itself may be good. */
const OVERLOADED: ReadonlySet<string> = new Set(['queue_full', 'too_many_waiting']);

/** Tolerated difference of a client's clock from the store's. */
const CLOCK_TOLERANCE_MS = 300_000;

/**
 * When a request was published at the earliest, by the store's clock. Its client is believed: it harms nobody else when it
 * lies, and a copy says the same. But not that it is later than now, for then its instances could be forgotten before it
 * is old. Undefined when it does not say it.
 */
function publishedAtEarliest(c: Conductor, { publishedAtMs = 0 }: BuildRequest): number | undefined {
  if (publishedAtMs === 0) return undefined;
  const toleranceMs = Math.min(CLOCK_TOLERANCE_MS, c.config.retentionMs / 2);
  const aheadMs = publishedAtMs - c.clock.now();
  if (aheadMs > toleranceMs) {
    const message = `published_at_ms is ${aheadMs} ms later than now: set the client's clock`;
    throw invalidArgument('published_later', message, 'published_at_ms');
  }
  return Math.floor(publishedAtMs - toleranceMs);
}

/**
 * Stores the instances of a request. One that names a flavor is known by its instances when it comes again, whatever has
 * become of the flavor meanwhile.
 */
async function createOnce(c: Conductor, request: BuildRequest) {
  const { requestId } = request;
  const kinds = kindsOf(request);
  const { projectId } = readSpec(request.requestSpec);
  const count = countOfAll(request);
  const terms = { publishedAtMs: publishedAtEarliest(c, request), maxOfProject: c.config.maxRecords };
  await c.quotas.require(c, request);
  const beforeLossMs = await publishedBeforeLoss(c, request);
  const isQueued = await goesBehindOthers(c, request, projectId);
  try {
    if (kinds.some(({ requestSpec }) => readSpec(requestSpec).flavor !== undefined)) {
      const instances = await c.instances.list({ requestId }, undefined, count);
      if (instances.length > 0) return { created: false, instances };
    }
    const requestSpecs = await Promise.all(kinds.map(({ requestSpec }) => withFlavor(c, requestSpec)));
    return await createRecords(
      c,
      requestId,
      firstVersions(c, request, requestSpecs, { isQueued, beforeLossMs }),
      terms,
    );
  } finally {
    if (isQueued) c.pending.written(projectId, count);
  }
}

/**
 * True if a request that may wait has others before it: it takes its place among them, not their capacity. When the queue is
 * full it is tried at once, and refused if there is no capacity.
 */
async function goesBehindOthers(c: Conductor, request: BuildRequest, projectId: string): Promise<boolean> {
  if (!request.admission?.waitForCapacityMs || (await c.instances.countPending()) === 0) return false;
  return (await c.pending.reserve(projectId, countOfAll(request), c.config)) === undefined;
}

/** Longest way of a request to a conductor for which nobody asks the store about losses. */
const MAX_WAY_MS = 200;

/**
 * When a request was published, if that was before the store lost writes: it may be a copy of one that the store forgot, whose instances
 * run. Its records are as old as it is, and so wait until all hosts were heard (`losses/hearing.ts`). Undefined for any other.
 */
async function publishedBeforeLoss(c: Conductor, { publishedAtMs = 0 }: BuildRequest): Promise<number | undefined> {
  if (publishedAtMs === 0 || c.clock.now() - publishedAtMs < MAX_WAY_MS) return undefined;
  const { upToMs } = await readLostWrites(c);
  return publishedAtMs <= upToMs ? publishedAtMs : undefined;
}

interface FirstVersions {
  readonly isQueued: boolean;
  readonly beforeLossMs: number | undefined;
}

/** @param requestSpecs  what the records keep, one a kind: as they came, or with their flavors filled in */
function firstVersions(
  c: Conductor,
  request: BuildRequest,
  requestSpecs: readonly EncodedRequestSpec[],
  { isQueued, beforeLossMs }: FirstVersions,
): Instance[] {
  const nowMs = c.clock.now();
  const { projectId, userId } = readSpec(request.requestSpec);
  const untilMs = nowMs + (request.admission?.waitForCapacityMs ?? 0);
  const queued = { state: 'pending', waiting: { sinceMs: nowMs, untilMs, waitsFor: [] }, dueAtMs: untilMs } as const;
  const asked = { state: 'scheduling', dueAtMs: nowMs + c.config.schedulingTimeoutMs } as const;
  const begin = isQueued ? queued : asked;
  const instances = newInstances(request, c.random, { projectId, userId, requestSpecs, nowMs, begin });
  return beforeLossMs === undefined
    ? instances
    : instances.map((instance) => ({ ...instance, updatedAtMs: beforeLossMs }));
}
