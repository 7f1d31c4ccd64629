import { tellAccepted, tellRefused } from '#libs/bus/answer-client';
import { ACK, drop, type IncomingMessage, POSTPONE, type Settlement } from '#libs/bus/port';
import { castTyped, unknownType } from '#libs/bus/typed-calls';
import { buildRequestCodec, requestIdOf, terminateInstanceCodec } from '#libs/contracts/conductor';
import { type Identity, requireProject } from '#libs/contracts/identity';
import type { BuildRequest } from '#libs/contracts/messages';
import { newInstances } from '#libs/contracts/new-instances';
import { requireOwnInstance, requireOwnRequest } from '#libs/contracts/own-instances';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { RequestSpec } from '#libs/domain/request-spec';
import { fillInFlavor, readSpec } from '#libs/flavors/fill-in-flavor';
import { busOfCell } from './bus-of-cell';
import type { TopConductor } from './context';
import { giveToCell } from './give-to-cell';
import { changeRecord, dueIn, givingMs, publish } from './records';

/**
 * Takes one request of a client. It is acknowledged when it is on record: what is left of it to do is done when the record is due,
 * by any conductor of the top.
 */
export async function takeRequest(t: TopConductor, message: IncomingMessage): Promise<Settlement> {
  try {
    switch (message.type) {
      case buildRequestCodec.type:
        await onBuildRequest(t, message);
        return ACK;
      case terminateInstanceCodec.type:
        await onTerminate(t, message);
        return ACK;
      default:
        return drop(unknownType(message));
    }
  } catch (thrown) {
    const error = BerthError.from(thrown);
    if (t.stopping.aborted || isRetryable(error)) return POSTPONE;
    t.log.warn({ event: 'message_refused', err: error, message_id: message.id }, 'message refused');
    const requestId = (message.type === buildRequestCodec.type && requestIdOf(message.body)) || message.id;
    return tellRefused(t.bus, message, requestId, error).then(
      () => drop(error),
      () => POSTPONE,
    );
  }
}

async function onBuildRequest(t: TopConductor, message: IncomingMessage): Promise<void> {
  const request = buildRequestCodec.decode(message.body);
  const { projectId } = readSpec(request.requestSpec);
  requireProject(message.identity, projectId);
  refuseGroups(requestSpecCodec.decode(request.requestSpec));
  const { created, instances } = await createOnce(t, request);
  requireOwnRequest(request.requestId, instances, projectId);
  if (created) await Promise.all(instances.map((instance) => publish(t, [instance])));
  await tellAccepted(t.bus, message, request.requestId, instances);
  await giveToCell(t, instances);
}

/** Stores the instances of a request; one that comes again finds them, whatever has become of its flavor meanwhile. */
async function createOnce(t: TopConductor, request: BuildRequest) {
  const { requestId, count } = request;
  const { projectId, userId, flavor } = readSpec(request.requestSpec);
  const known = flavor === undefined ? [] : await t.instances.list({ requestId }, undefined, count);
  if (known.length > 0) return { created: false, instances: known };
  const requestSpec = flavor === undefined ? request.requestSpec : await fillInFlavor(t, request.requestSpec, flavor);
  const nowMs = t.clock.now();
  const begin = { state: 'scheduling', dueAtMs: nowMs + givingMs(t) } as const;
  const wanted = newInstances(request, t.random, { projectId, userId, requestSpec, nowMs, begin });
  return t.instances.create(requestId, wanted, request.publishedAtMs || undefined);
}

/** @throws BerthError `unimplemented / group_at_top`: cells keep groups, each for itself. */
function refuseGroups({ group }: RequestSpec): void {
  if (group === undefined) return;
  const message =
    'server groups are kept by each cell for itself, and the top knows of none: send the request to a cell';
  throw new BerthError('unimplemented', 'group_at_top', message);
}

/** What is in a cell is ended by the cell; what is in none ends here. */
async function onTerminate(t: TopConductor, { body, identity }: IncomingMessage): Promise<void> {
  const { instanceUuid, projectId } = terminateInstanceCodec.decode(body);
  const record = await ownRecord(t, instanceUuid, identity, projectId);
  const changed = await changeRecord(t, record.uuid, ({ state, cell }) => {
    if (state === 'deleted') return undefined;
    if (cell === undefined) return { state: 'deleted', dueAtMs: undefined, fault: undefined };
    return { state: 'deleting', cell: { ...cell, isEnding: true }, dueAtMs: dueIn(t, 'deleting', true) };
  });
  if (changed?.cell)
    await endInCell(t, changed).catch(() => t.log.debug({ instance_uuid: instanceUuid }, 'ended later'));
}

/** Errors as `requireOwnInstance`. */
export async function ownRecord(t: TopConductor, uuid: string, sender: Identity, projectId = ''): Promise<Instance> {
  const [record] = await t.instances.get([uuid]);
  return requireOwnInstance(record, uuid, sender, projectId);
}

/** Tells a cell that an instance is to end. @throws BerthError `unavailable`. */
export async function endInCell(t: TopConductor, { uuid, projectId, cell }: Instance): Promise<void> {
  if (cell === undefined) return;
  await castTyped(busOfCell(t, cell.name), BUILD_REQUESTS, terminateInstanceCodec, { instanceUuid: uuid, projectId });
}
