import { castTyped } from '#libs/bus/typed-calls';
import { type Arrival, buildInstanceCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import type { SetPowerState } from '#libs/contracts/power';
import { setPowerStateCodec } from '#libs/contracts/power';
import { agentQueue, type QueueSpec } from '#libs/contracts/queues';
import { alternatesCodec } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { attemptNumber, type Instance, type Moving, powerStateToBuild } from '#libs/domain/instance';
import { bytesOf } from '#libs/domain/moves/migration';
import type { AllocationRequest } from '#libs/placement/sealed/allocation-request';
import type { Conductor } from '../conductor';
import { NO_BYTES } from '../lifecycle';
import type { Observation } from '../observation';
import type { Step } from '../step';
import { openRequest } from './claims';

/** An order's details besides the record: a caller that has them need not decode or look them up. */
export type OrderDetails = Pick<
  Extract<Step, { kind: 'dispatch_build' }>['target'],
  'serviceHost' | 'epoch' | 'alternates'
>;

/**
 * Orders the host of a building instance to build it, by the queue of its service host. Harmless when repeated: agents
 * know the attempt. A broker that dies may lose it; then the host reports without the instance, and it is ordered again.
 *
 * @returns undefined when the queue has it
 */
export async function orderBuild(
  c: Conductor,
  record: Instance,
  details?: OrderDetails,
  arrival?: Arrival,
): Promise<Extract<Observation, { kind: 'order_refused' }> | undefined> {
  const { uuid, requestId, name, projectId, userId, host = '', claimToken = 0, allocationRequest } = record;
  const { serviceHost, epoch } = details ?? (await addressOf(c, host));
  const deadlineAtMs = record.dueAtMs ?? c.clock.now() + c.config.buildTimeoutMs;
  const timeLeftMs = Math.max(1, deadlineAtMs - c.clock.now());
  const build = {
    instanceUuid: uuid,
    requestId,
    name,
    projectId,
    userId,
    requestSpec: record.requestSpec,
    host,
    attempt: attemptNumber(record),
    claimToken,
    alternates: details?.alternates ?? alternatesCodec.decode(record.alternates),
    deadlineAtMs,
    timeLeftMs,
    epoch,
    allocationRequest,
    powerState: powerStateToBuild(record),
    ...claimedOf(c, record),
    arrival,
  };
  try {
    const expiresInMs = expiryOf(timeLeftMs, c.config.retentionMs);
    const options = { id: `${uuid}.${build.attempt}`, isTransient: true, expiresInMs };
    await castOrder(c, { host, serviceHost }, (queue) =>
      castTyped({ bus: c.bus, queue }, buildInstanceCodec, build, options),
    );
    return undefined;
  } catch (thrown) {
    const error = BerthError.from(thrown);
    // A host without a queue, or with a full one, is as good as one that refuses.
    if (error.code !== 'not_found' && error.code !== 'resource_exhausted') throw error;
    return { kind: 'order_refused', reason: `${error.reason}: ${error.message}` };
  }
}

/**
 * Orders the host of an instance that is moved to go on with it: its destination to build it from what its source handed over, or,
 * where it is already, to run it with what it holds now. As `orderBuild`.
 */
export async function orderArrival(
  c: Conductor,
  record: Moving,
  { isReturn, isAgain = false }: ArrivalOrder,
): Promise<Extract<Observation, { kind: 'order_refused' | 'host_down' }> | undefined> {
  const { source, destination, handover } = record.migration;
  const { isDown } = await addressOf(c, record.host);
  // Orders of a silent host expire: they are not sent twice.
  if (isAgain && isDown) return { kind: 'host_down' };
  const inPlace = isReturn || source.host === destination.host;
  const refused = await orderBuild(c, record, undefined, { inPlace, handover: inPlace ? NO_BYTES : bytesOf(handover) });
  return refused ?? (isDown ? { kind: 'host_down' } : undefined);
}

interface ArrivalOrder {
  readonly isReturn: boolean;
  readonly isAgain?: boolean;
}

/** Orders a host that was dead when an instance went back there to go on with it, as what it rests as. */
export async function orderReturn(c: Conductor, record: Instance): Promise<void> {
  const formerState = record.state === 'stopped' ? 'stopped' : undefined;
  await orderBuild(c, { ...record, formerState }, undefined, { inPlace: true, handover: NO_BYTES });
}

/** Orders the source of a move to stop an instance and to hand it over; as `orderPowerState`. */
export async function orderHandOver(c: Conductor, record: Moving): Promise<void> {
  const { migration } = record;
  const move = { migrationUuid: migration.uuid, live: migration.kind === 'live_migrate' };
  // Its claim is its destination's already: the source knows it by the one before.
  const at = { ...record, claimToken: migration.source.claimToken };
  await orderPowerState(c, at, { powerState: 'shutdown', isFirst: true }, move);
}

/** Asks the source of a move whether it still has what it handed over: told to stop what is stopped, it says so. */
export async function orderAnswer(c: Conductor, record: Moving): Promise<void> {
  const { host, claimToken, activeAt } = record.migration.source;
  await orderPowerState(c, { ...record, host, claimToken, activeAt }, { powerState: 'shutdown', isFirst: false });
}

/** Allocations of a record's claim on its host; empty when not known. */
export function claimedOf(
  c: Conductor,
  { host, allocationRequest }: Pick<Instance, 'host' | 'allocationRequest'>,
): Pick<AllocationRequest, 'allocations' | 'mappings'> {
  const request = openRequest(c, allocationRequest);
  if (request === undefined || request.host !== host) return NOTHING_CLAIMED;
  const { allocations, mappings } = request;
  return { allocations, mappings };
}

const NOTHING_CLAIMED = { allocations: {}, mappings: {} };

/**
 * Time for which an order to build may wait for an agent. Past the deadline of its attempt it is of no use, but does no harm
 * either: a late build is destroyed, by its record. Once the record is forgotten nothing says so, and it would run as
 * a doubt for good. So the broker drops it well before. Not at the deadline: each agent that is away for that long would
 * leave dead letters. In whole seconds, because orders that share a frame expire together.
 */
function expiryOf(timeLeftMs: number, retentionMs: number): number {
  return Math.ceil((timeLeftMs + retentionMs / 2) / 1_000) * 1_000;
}

/**
 * Orders a host to end what it has of an instance. A host that is silent finds the order when it is back.
 *
 * @param record  the instance's, which knows what was claimed, and whose it is; undefined: whosever it is
 * @returns `host_gone` when there is no such host to tell
 */
export async function orderDestroy(
  c: Conductor,
  instanceUuid: string,
  { host, attempt, claimToken, reports: report, isAgain = false }: Extract<Step, { kind: 'destroy' }>,
  record?: Instance,
): Promise<'told' | 'host_down' | 'host_gone'> {
  const { serviceHost, epoch, isDown } = await addressOf(c, host);
  if (isDown && isAgain) return 'host_down';
  // The record knows only its current claim.
  const claimed = record && record.claimToken === claimToken ? claimedOf(c, { ...record, host }) : NOTHING_CLAIMED;
  try {
    const projectId = record?.projectId ?? '';
    const destroy = { instanceUuid, host, attempt, claimToken, report, epoch, projectId, ...claimed };
    await castOrder(c, { host, serviceHost }, (queue) =>
      castTyped({ bus: c.bus, queue }, destroyInstanceCodec, destroy),
    );
    return isDown ? 'host_down' : 'told';
  } catch (thrown) {
    if (BerthError.from(thrown).code !== 'not_found') throw thrown;
    return 'host_gone';
  }
}

/**
 * Orders the host of an instance to stop it, or to start it. The order rests on what the host said last: one that comes late
 * does not undo what the host has done since. A host that is silent finds it when it is back, and is not told twice.
 */
export async function orderPowerState(
  c: Conductor,
  record: Instance,
  { powerState, isFirst }: Pick<Extract<Step, { kind: 'set_power_state' }>, 'powerState' | 'isFirst'>,
  move: Pick<SetPowerState, 'migrationUuid' | 'live'> = {},
): Promise<void> {
  const { uuid: instanceUuid, host = '', claimToken = 0, activeAt } = record;
  const { serviceHost, epoch, isDown } = await addressOf(c, host);
  if (isDown && !isFirst) return;
  const restsOn = { restsOnEpoch: activeAt?.epoch ?? 0, restsOnPosition: activeAt?.position ?? 0 };
  const attempt = attemptNumber(record);
  const about = { instanceUuid, host, attempt, claimToken, epoch, ...claimedOf(c, record) };
  const order = { ...about, powerState, ...restsOn, ...move };
  try {
    await castOrder(c, { host, serviceHost }, (queue) => castTyped({ bus: c.bus, queue }, setPowerStateCodec, order));
  } catch (thrown) {
    // A host without a queue is silent, and one with a full queue is told again.
    const { code } = BerthError.from(thrown);
    if (code !== 'not_found' && code !== 'resource_exhausted') throw thrown;
  }
}

/**
 * Sends an order. An agent that is heard and has no queue had it deleted by somebody, and may declare none: its queue is declared, the order
 * sent again, and the agent consumes from it within a second. An agent that is silent may be gone for good, and gets none.
 */
async function castOrder(
  c: Conductor,
  { host, serviceHost }: { readonly host: string; readonly serviceHost: string },
  cast: (queue: QueueSpec) => Promise<void>,
): Promise<void> {
  const queue = agentQueue(serviceHost);
  try {
    return await cast(queue);
  } catch (thrown) {
    const isWithoutQueue = BerthError.from(thrown).code === 'not_found';
    if (!isWithoutQueue || !(await addressOf(c, host)).isUp) throw thrown;
    const fields = { service_host: serviceHost };
    try {
      await c.bus.declare(queue, { isOnce: true });
    } catch (err) {
      const message = 'an agent has no order queue, and it was not declared';
      c.log.warn({ event: 'order_queue_missing', ...fields, err }, message);
      throw thrown;
    }
    c.log.warn({ event: 'order_queue_declared', ...fields }, 'the order queue of an agent was gone, declared again');
  }
  await cast(queue);
}

/** True if orders wait for a host's agent: an instance unknown to the host is not lost then. */
export async function hasOrdersWaiting(c: Conductor, serviceHost: string): Promise<boolean> {
  try {
    return (await c.bus.depth(agentQueue(serviceHost).name)) > 0;
  } catch (thrown) {
    if (BerthError.from(thrown).code !== 'not_found') throw thrown;
    return false;
  }
}

/**
 * The service host that carries a host now, as its last report said, and its epoch then; a host that the store does not
 * know is its own.
 */
export async function addressOf(c: Conductor, host: string) {
  const [row] = await c.placement.hosts([host]);
  return {
    serviceHost: row?.serviceHost ?? host,
    epoch: row?.epoch ?? 0,
    isDown: row?.up === false,
    isUp: row?.up === true,
  };
}
