import { answerAccepted, settleRefused } from '#libs/bus/answer-client';
import { type HoldRetry, holdMessage } from '#libs/bus/hold-message';
import type { IncomingMessage, Settlement } from '#libs/bus/port';
import { unknownType } from '#libs/bus/typed-calls';
import type { EncodedRequestSpec } from '#libs/contracts/codec';
import { type BuildRequest, buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { type Identity, nameOf, requireProject } from '#libs/contracts/identity';
import { countOfAll, kindsOf } from '#libs/contracts/member-kinds';
import { newInstances } from '#libs/contracts/new-instances';
import { requireOwnInstance, requireOwnRequest } from '#libs/contracts/own-instances';
import { BerthError, invalidArgument, isRetryable } from '#libs/domain/errors';
import type { InstanceRow } from '#libs/domain/instance';
import { isOverZones } from '#libs/domain/server-group';
import { readSpec, withFlavor } from '#libs/fleet-settings/fill-in-flavor';
import { requireOneOwner } from '#libs/fleet-settings/one-owner';
import { endInCell } from '../cells/end-in-cell';
import type { TopConductor } from '../context';
import { changeRecord, dueIn, givingMs, publish } from '../records';
import { fillInGroup } from './fill-in-group';
import { giveToCell } from './give-to-cell';
import { groupOf } from './reservations';

/**
 * Takes one client's request. It is acknowledged once recorded: any conductor of the top does the rest when the record
 * is due.
 */
export async function takeRequest(t: TopConductor, message: IncomingMessage): Promise<Settlement> {
  try {
    return await holdMessage(t, message, () => workOf(t, message));
  } catch (thrown) {
    return refuseRequest(t, message, BerthError.from(thrown));
  }
}

function workOf(t: TopConductor, message: IncomingMessage): Promise<Settlement | void> {
  switch (message.type) {
    case buildRequestCodec.type:
      return onBuildRequest(t, message);
    case terminateInstanceCodec.type:
      return onTerminate(t, message);
    default:
      return refuseRequest(t, message, unknownType(message));
  }
}

/** Backoff of retries during an outage. */
export function retryOptions({ clock, random, log, measured, stopping }: Omit<TopConductor, 'retry'>): HoldRetry {
  return {
    firstMs: 50,
    maxMs: 5_000,
    clock,
    random,
    signal: stopping,
    isRetryable: (thrown) => isRetryable(BerthError.from(thrown)),
    onFailure: (thrown, pauseMs) => {
      const error = BerthError.from(thrown);
      measured.requests.inc({ outcome: 'unavailable' });
      log.warn({ event: 'unavailable_retrying', err: error, pause_ms: pauseMs }, `${error.reason}, retrying`);
    },
  };
}

/**
 * A gang of several kinds, or with a policy for losses, is whole in one cell: that decides it, and keeps it.
 *
 * @throws BerthError `invalid_argument / gang_over_zones`
 */
function requireOneCell({ furtherMembers, onLoss }: BuildRequest, specs: readonly EncodedRequestSpec[]): void {
  const isWhole = furtherMembers !== undefined || onLoss !== undefined;
  if (!isWhole || !specs.some((requestSpec) => isOverZones(groupOf({ requestSpec })))) return;
  const message = 'its group spreads over zones, but a gang of several specs, or with on_loss, is whole in one cell';
  throw invalidArgument('gang_over_zones', message, 'request_spec.group');
}

/** Tells the client of a refused request, and settles its message. */
export function refuseRequest(t: TopConductor, message: IncomingMessage, error: BerthError): Promise<Settlement> {
  const fields = { event: 'message_refused', err: error, message_id: message.id };
  t.refusals.warn(nameOf(message.identity), fields, 'message refused');
  return settleRefused(t.bus, message, error);
}

async function onBuildRequest(t: TopConductor, message: IncomingMessage): Promise<void> {
  const request = buildRequestCodec.decode(message.body);
  const { projectId } = readSpec(request.requestSpec);
  requireProject(message.identity, projectId);
  requireOneOwner(request);
  const { created, instances } = await createOnce(t, request);
  requireOwnRequest(request.requestId, instances, projectId);
  if (created) await Promise.all(instances.map((instance) => publish(t, [instance])));
  await answerAccepted(t.bus, message, request.requestId, instances);
  await giveToCell(t, instances);
}

/**
 * Stores the instances of a request; a repeated request finds them, even if its flavor or group has changed meanwhile.
 */
async function createOnce(t: TopConductor, request: BuildRequest) {
  const { requestId } = request;
  const { projectId, userId } = readSpec(request.requestSpec);
  const known = await t.instances.list({ requestId }, undefined, countOfAll(request));
  if (known.length > 0) return { created: false, instances: known };
  const requestSpecs = await Promise.all(
    kindsOf(request).map(async (kind) => fillInGroup(t, await withFlavor(t, kind.requestSpec))),
  );
  requireOneCell(request, requestSpecs);
  const nowMs = t.clock.now();
  const begin = { state: 'scheduling', dueAtMs: nowMs + givingMs(t) } as const;
  const wanted = newInstances(request, t.random, { projectId, userId, requestSpecs, nowMs, begin });
  const terms = { publishedAtMs: request.publishedAtMs || undefined, maxOfProject: t.config.maxRecords };
  return t.instances.create(requestId, wanted, terms);
}

/** An instance in a cell is ended by the cell; one without a cell ends here. */
async function onTerminate(t: TopConductor, { body, identity }: IncomingMessage): Promise<void> {
  const { instanceUuid, projectId } = terminateInstanceCodec.decode(body);
  const record = await ownRecord(t, instanceUuid, identity, projectId);
  const changed = await changeRecord(t, record.uuid, ({ state, cell }) => {
    if (state === 'deleted') return undefined;
    if (cell === undefined) return { state: 'deleted', dueAtMs: undefined, fault: undefined };
    const move = cell.move && { ...cell.move, phase: 'undoing' as const };
    return {
      state: 'deleting',
      cell: { ...cell, move, isEnding: true, endedBy: undefined },
      dueAtMs: dueIn(t, 'deleting', true),
    };
  });
  if (changed?.cell)
    await endInCell(t, changed).catch(() => t.log.debug({ instance_uuid: instanceUuid }, 'ended later'));
}

/** Errors as in `requireOwnInstance`. */
export async function ownRecord(t: TopConductor, uuid: string, sender: Identity, projectId = ''): Promise<InstanceRow> {
  const [record] = await t.instances.get([uuid]);
  return requireOwnInstance(record, uuid, sender, projectId);
}
