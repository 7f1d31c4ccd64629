import type { IncomingMessage } from '#libs/bus/port';
import { castTyped } from '#libs/bus/typed-calls';
import { buildAcceptedCodec, buildRefusedCodec, buildRequestCodec, requestIdOf } from '#libs/contracts/conductor';
import { requireProject } from '#libs/contracts/identity';
import { internedSpecs } from '#libs/contracts/interned-specs';
import type { BuildRequest } from '#libs/contracts/messages';
import { refusalTopic } from '#libs/contracts/queues';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { Conductor } from '../context';
import { createRecords } from '../lifecycle';
import { lookAt, type Observation } from '../observation';
import { reconcileLoop } from '../reconcile-loop';

/**
 * A build request: stores its instances, answers the client, and looks at them.
 *
 * The message is acknowledged only when every instance is with an agent or at rest. Whoever gets it again finds the
 * instances by their request id and goes on with each where it stands.
 */
export async function onBuildRequest(c: Conductor, message: IncomingMessage, isRepeated: boolean): Promise<void> {
  const { request, instances, isNew } = await accept(c, message);
  if (message.replyTo !== undefined) {
    const answer = { requestId: request.requestId, instanceUuids: instances.map(({ uuid }) => uuid) };
    await castTyped(c.bus, message.replyTo, buildAcceptedCodec, answer, answerOptions(message)).catch(clientIsGone);
  }
  const observed = observationOf(isNew, isRepeated);
  await reconcileLoop(
    c,
    instances.map((instance) => lookAt(instance, observed)),
  );
}

function observationOf(isNew: boolean, isRepeated: boolean): Observation {
  if (isNew) return { kind: 'accepted' };
  return { kind: isRepeated ? 'interrupted' : 'nothing' };
}

/** Stores the instances of a request; a request sent twice finds those of the first time. Refusals go to the client. */
async function accept(c: Conductor, message: IncomingMessage) {
  try {
    const request = buildRequestCodec.decode(message.body);
    const { projectId } = ownerOf(request.requestSpec);
    requireProject(message.identity, projectId);
    const { created, instances } = await createRecords(c, request.requestId, newInstances(c, request));
    if (instances.some((instance) => instance.projectId !== projectId)) throw requestExists(request.requestId);
    return { request, instances, isNew: created };
  } catch (thrown) {
    const error = BerthError.from(thrown);
    if (!isRetryable(error)) await refuse(c, message, requestIdOf(message.body) || message.id, error);
    throw error;
  }
}

/** Tells the client why nothing was done, on its queue and as an event. `requestId` is what it knows its request by. */
export async function refuse(
  c: Conductor,
  message: IncomingMessage,
  requestId: string,
  error: BerthError,
): Promise<void> {
  const body = { requestId, error };
  if (message.replyTo !== undefined) {
    await castTyped(c.bus, message.replyTo, buildRefusedCodec, body, answerOptions(message)).catch(clientIsGone);
  }
  const { identity } = message;
  const topic = refusalTopic(identity.kind === 'project' ? identity.projectId : '');
  await c.bus.publish(topic, { type: buildRefusedCodec.type, body: buildRefusedCodec.encode(body) });
}

/** Whose request it is; throws `invalid_argument` for a spec that is malformed. The record keeps the spec as it came. */
const ownerOf = internedSpecs(({ projectId, userId }) => ({ projectId, userId }));

function newInstances(c: Conductor, request: BuildRequest): Instance[] {
  const nowMs = c.clock.now();
  const { requestSpec } = request;
  const { projectId, userId } = ownerOf(requestSpec);
  const base = request.name || `instance-${request.requestId.slice(0, 8)}`;
  return Array.from({ length: request.count }, (_, i) => ({
    uuid: request.instanceUuids[i] ?? c.random.uuid(),
    requestId: request.requestId,
    name: request.count === 1 ? base : `${base}-${i + 1}`,
    projectId,
    userId,
    state: 'scheduling',
    host: undefined,
    claimToken: undefined,
    attempts: [],
    fault: undefined,
    requestSpec,
    alternates: new Uint8Array(),
    allocationRequest: new Uint8Array(),
    activeAt: undefined,
    missingIn: undefined,
    dueAtMs: nowMs + c.config.schedulingTimeoutMs,
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }));
}

function requestExists(requestId: string): BerthError {
  const message = `there is a request ${requestId} of another project; choose another id`;
  return new BerthError('already_exists', 'request_exists', message);
}

function answerOptions(message: IncomingMessage) {
  return { correlationId: message.correlationId ?? message.id };
}

/** A client that went away does not hold up its build. */
function clientIsGone(thrown: unknown): void {
  const error = BerthError.from(thrown);
  if (error.code !== 'not_found' && error.code !== 'resource_exhausted') throw error;
}
