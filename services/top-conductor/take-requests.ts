import { tellAccepted, tellRefused } from '#libs/bus/answer-client';
import { ACK, drop, type IncomingMessage, POSTPONE, type Settlement } from '#libs/bus/port';
import { castTyped, unknownType } from '#libs/bus/typed-calls';
import { buildRequestCodec, requestIdOf, terminateInstanceCodec } from '#libs/contracts/conductor';
import { type Identity, requireProject } from '#libs/contracts/identity';
import { newInstances } from '#libs/contracts/new-instances';
import { requireOwnInstance, requireOwnRequest } from '#libs/contracts/own-instances';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { RequestSpec } from '#libs/domain/request-spec';
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
  const spec = requestSpecCodec.decode(request.requestSpec);
  requireProject(message.identity, spec.projectId);
  refuseWhatIsOfOneCell(spec);
  const { projectId, userId } = spec;
  const nowMs = t.clock.now();
  const begin = { state: 'scheduling', dueAtMs: nowMs + givingMs(t) } as const;
  const options = { projectId, userId, requestSpec: request.requestSpec, nowMs, begin };
  const wanted = newInstances(request, t.random, options);
  const { created, instances } = await t.instances.create(
    request.requestId,
    wanted,
    request.publishedAtMs || undefined,
  );
  requireOwnRequest(request.requestId, instances, spec.projectId);
  if (created) await Promise.all(instances.map((instance) => publish(t, [instance])));
  await tellAccepted(t.bus, message, request.requestId, instances);
  await giveToCell(t, instances);
}

/** @throws BerthError `unimplemented` for what the cells keep, each for itself. */
function refuseWhatIsOfOneCell({ flavor, group }: RequestSpec): void {
  const refuseKept = (reason: string, what: string) => {
    const message = `${what} are kept by each cell for itself, and the top knows of none: send the request to a cell`;
    throw new BerthError('unimplemented', reason, message);
  };
  if (flavor !== undefined && flavor.version === 0) refuseKept('flavor_at_top', 'flavors');
  if (group !== undefined) refuseKept('group_at_top', 'server groups');
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
