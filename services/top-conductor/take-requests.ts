import { ACK, drop, type IncomingMessage, POSTPONE, type Settlement } from '#libs/bus/port';
import { castTyped, unknownType } from '#libs/bus/typed-calls';
import {
  buildAcceptedCodec,
  buildRefusedCodec,
  buildRequestCodec,
  requestIdOf,
  terminateInstanceCodec,
} from '#libs/contracts/conductor';
import { type Identity, requireProject, speaksForProject } from '#libs/contracts/identity';
import type { BuildRequest } from '#libs/contracts/messages';
import { BUILD_REQUESTS, refusalTopic } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { RequestSpec } from '#libs/domain/request-spec';
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
    await refuse(t, message, error);
    return drop(error);
  }
}

async function onBuildRequest(t: TopConductor, message: IncomingMessage): Promise<void> {
  const request = buildRequestCodec.decode(message.body);
  const spec = requestSpecCodec.decode(request.requestSpec);
  requireProject(message.identity, spec.projectId);
  refuseWhatIsOfOneCell(spec);
  const wanted = newInstances(t, request, spec);
  const { created, instances } = await t.instances.create(
    request.requestId,
    wanted,
    request.publishedAtMs || undefined,
  );
  if (instances.some(({ projectId }) => projectId !== spec.projectId)) {
    throw new BerthError(
      'already_exists',
      'request_exists',
      `there is a request ${request.requestId} of another project`,
    );
  }
  if (created) await Promise.all(instances.map((instance) => publish(t, [instance])));
  if (message.replyTo !== undefined) {
    const answer = { requestId: request.requestId, instanceUuids: instances.map(({ uuid }) => uuid) };
    const options = { correlationId: message.correlationId ?? message.id };
    await castTyped(t.bus, message.replyTo, buildAcceptedCodec, answer, options).catch(clientIsGone);
  }
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

function newInstances(t: TopConductor, request: BuildRequest, { projectId, userId }: RequestSpec): Instance[] {
  const nowMs = t.clock.now();
  const base = request.name || `instance-${request.requestId.slice(0, 8)}`;
  return Array.from({ length: request.count }, (_, i) => ({
    uuid: request.instanceUuids[i] ?? t.random.uuid(),
    requestId: request.requestId,
    name: request.count === 1 ? base : `${base}-${i + 1}`,
    projectId,
    userId,
    state: 'scheduling',
    host: undefined,
    claimToken: undefined,
    attempts: [],
    fault: undefined,
    requestSpec: request.requestSpec,
    alternates: NO_BYTES,
    allocationRequest: NO_BYTES,
    activeAt: undefined,
    missingIn: undefined,
    ...(request.minCount ? { gang: { minCount: request.minCount, count: request.count } } : {}),
    ...(request.admission ? { admission: request.admission } : {}),
    dueAtMs: nowMs + givingMs(t),
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }));
}

const NO_BYTES = new Uint8Array();

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

/** @throws BerthError `not_found / no_such_instance`; `permission_denied / wrong_project`. */
export async function ownRecord(t: TopConductor, uuid: string, sender: Identity, projectId = ''): Promise<Instance> {
  const [record] = await t.instances.get([uuid]);
  if (record === undefined) throw new BerthError('not_found', 'no_such_instance', `there is no instance ${uuid}`);
  const isNamed = projectId === '' || projectId === record.projectId;
  if (isNamed && speaksForProject(sender, record.projectId)) return record;
  throw new BerthError('permission_denied', 'wrong_project', `instance ${uuid} belongs to another project`);
}

/** Tells a cell that an instance is to end. @throws BerthError `unavailable`. */
export async function endInCell(t: TopConductor, { uuid, projectId, cell }: Instance): Promise<void> {
  const link = t.links.get(cell?.name ?? '');
  await castTyped(link?.bus ?? t.bus, BUILD_REQUESTS, terminateInstanceCodec, { instanceUuid: uuid, projectId });
}

async function refuse(t: TopConductor, message: IncomingMessage, error: BerthError): Promise<void> {
  const requestId = (message.type === buildRequestCodec.type && requestIdOf(message.body)) || message.id;
  const body = { requestId, error };
  if (message.replyTo !== undefined) {
    const options = { correlationId: message.correlationId ?? message.id };
    await castTyped(t.bus, message.replyTo, buildRefusedCodec, body, options).catch(clientIsGone);
  }
  const topic = refusalTopic(message.identity.kind === 'project' ? message.identity.projectId : '');
  await t.bus
    .publish(topic, { type: buildRefusedCodec.type, body: buildRefusedCodec.encode(body) })
    .catch(clientIsGone);
}

/** A client that went away holds up nothing. */
function clientIsGone(thrown: unknown): void {
  const { code } = BerthError.from(thrown);
  if (code !== 'not_found' && code !== 'resource_exhausted') throw thrown;
}
