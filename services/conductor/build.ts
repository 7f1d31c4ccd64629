import type { IncomingMessage, Settlement } from '#libs/bus/port';
import { buildAcceptedCodec, buildRefusedCodec, buildRequestCodec, requestIdOf } from '#libs/contracts/conductor';
import type { BuildRequest, SelectDestinationsResponse } from '#libs/contracts/messages';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { callMethod, castTyped } from '#libs/contracts/rpc';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { RPC_SCHEDULER } from '#libs/contracts/topology';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Conductor } from './context';
import { releaseAllHeld } from './hand-off';
import { settle } from './patience';
import { advance, announce, failed, isBeingBuilt } from './records';
import { buildOn, orderAgain } from './retry';

/**
 * A build request from its arrival to the hand-off: store, answer the client, find destinations, order the builds.
 *
 * The message is acknowledged only when every instance is with an agent or at rest. Whoever gets it again finds the
 * instances by their request id and goes on with each where it stands: one that is still scheduling is asked for again
 * (a scheduler answers with the claim that the instance holds already), one that is building is ordered again (agents
 * know the attempt), one at rest is announced again.
 */
export async function onBuildRequest(c: Conductor, message: IncomingMessage): Promise<Settlement> {
  return settle(c, message, async (isRepeated) => {
    const { request, instances, isNew } = await accepted(c, message);
    const replyTo = message.replyTo;
    if (replyTo !== undefined) {
      const answer = { requestId: request.requestId, instanceUuids: instances.map(({ uuid }) => uuid) };
      await castTyped(c.bus, replyTo, buildAcceptedCodec, answer, answerOptions(message)).catch(nobodyWaits);
    }
    const told = isNew || isRepeated ? Promise.all(instances.map((instance) => announce(c, instance))) : undefined;
    if (isRepeated) {
      await told;
      await Promise.all(instances.filter(isBeingBuilt).map((instance) => orderAgain(c, instance)));
      await releaseAllHeld(
        c,
        instances.filter(({ state }) => state === 'error'),
      );
    }
    await schedule(
      c,
      instances.filter(({ state }) => state === 'scheduling'),
      told,
    );
  });
}

/**
 * Finds hosts for instances of one request, all or none, and orders the builds. Schedulers are asked while the instances
 * are still being announced; no next version is written before they are `told`, for a crash would leave this one untold.
 */
export async function schedule(c: Conductor, instances: readonly Instance[], told?: Promise<unknown>): Promise<void> {
  const [first] = instances;
  const [answer] = await Promise.all([first && selectDestinations(c, first, instances), told]);
  if (!answer) return;
  const { requestSpec, destinations, noValidHost } = answer;
  if (noValidHost) {
    return giveUpAll(c, instances, noValidHost.summary);
  }
  const byUuid = new Map(instances.map((instance) => [instance.uuid, instance]));
  await Promise.all(
    destinations.map(async ({ instanceUuid, selected, alternates, claimRevision }) => {
      const instance = byUuid.get(instanceUuid);
      const { host, serviceHost } = selected;
      if (instance) await buildOn(c, instance, { host, serviceHost, claimRevision, requestSpec, alternates });
    }),
  );
}

/**
 * Ends instances for which there is no host. An earlier, interrupted try may have claimed for them, and that goes back;
 * but only from those whose record is ended here: another conductor may have gone on with the others meanwhile (a broker
 * that restarts gives the message to a second one while the first still works), and what they hold now is theirs.
 */
async function giveUpAll(c: Conductor, instances: readonly Instance[], message: string): Promise<void> {
  const fault = { reason: 'no_valid_host', message };
  const written = await Promise.all(instances.map((instance) => advance(c, instance, failed(fault))));
  await releaseAllHeld(
    c,
    written.filter((instance) => instance !== undefined),
  );
}

/**
 * The schedulers' answer, with the spec that it is for. Refusals of the request itself are the diagnosis; what can pass by
 * itself is thrown, to be tried again.
 */
async function selectDestinations(
  c: Conductor,
  first: Instance,
  instances: readonly Instance[],
): Promise<SelectDestinationsResponse & { readonly requestSpec: RequestSpec }> {
  const requestSpec = requestSpecCodec.decode(first.requestSpec);
  const request = {
    requestId: first.requestId,
    requestSpec,
    instanceUuids: instances.map(({ uuid }) => uuid),
    numAlternates: c.config.numAlternates,
  };
  try {
    const options = { timeoutMs: c.config.selectTimeoutMs, signal: c.stopping };
    const response = await callMethod(c.bus, RPC_SCHEDULER.name, selectDestinationsMethod, request, options);
    return { requestSpec, ...response };
  } catch (thrown) {
    const error = BerthError.from(thrown);
    // Before the first scheduler has started, its queue is not there.
    if (error.reason === 'no_such_queue') throw new BerthError('unavailable', 'no_scheduler', 'no scheduler runs yet');
    if (isRetryable(error) || error.code === 'resource_exhausted') throw error;
    const summary = `the scheduler refused the request: ${error.message} (${error.reason})`;
    const noValidHost = { hostsConsidered: 0, hostsPassed: 0, filters: [], claimConflicts: 0, summary };
    return { requestSpec, destinations: [], noValidHost };
  }
}

/** Stores the instances of a request; a request sent twice finds those of the first time. Refusals go to the client. */
async function accepted(c: Conductor, message: IncomingMessage) {
  try {
    const request = buildRequestCodec.decode(message.body);
    const { created, instances } = await c.instances.create(request.requestId, newInstances(c, request));
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
    await castTyped(c.bus, message.replyTo, buildRefusedCodec, body, answerOptions(message)).catch(nobodyWaits);
  }
  await c.bus.publish('request.refused', { type: buildRefusedCodec.type, body: buildRefusedCodec.encode(body) });
}

function newInstances(c: Conductor, request: BuildRequest): Instance[] {
  const nowMs = c.clock.now();
  const spec: RequestSpec = request.requestSpec;
  const requestSpec = requestSpecCodec.encode(spec);
  const base = request.name || `instance-${request.requestId.slice(0, 8)}`;
  return Array.from({ length: request.count }, (_, i) => ({
    uuid: request.instanceUuids[i] ?? c.random.uuid(),
    requestId: request.requestId,
    name: request.count === 1 ? base : `${base}-${i + 1}`,
    projectId: spec.projectId,
    userId: spec.userId,
    state: 'scheduling',
    host: undefined,
    claimRevision: undefined,
    attempts: [],
    fault: undefined,
    requestSpec,
    alternates: new Uint8Array(),
    dueAtMs: nowMs + c.config.schedulingTimeoutMs,
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }));
}

function answerOptions(message: IncomingMessage) {
  return { correlationId: message.correlationId ?? message.id };
}

/** A client that went away does not hold up its build. */
function nobodyWaits(thrown: unknown): void {
  const error = BerthError.from(thrown);
  if (error.code !== 'not_found' && error.code !== 'resource_exhausted') throw error;
}
