import { instanceEventCodec } from '#libs/contracts/instance';
import type { InstanceEvent } from '#libs/contracts/messages';
import { instanceTopic } from '#libs/contracts/topology';
import { BerthError } from '#libs/domain/errors';
import type { Attempt, Instance } from '#libs/domain/instance';
import type { Conductor } from './context';

/** What a step changes of a record. */
export type Change = Partial<
  Pick<Instance, 'state' | 'host' | 'claimRevision' | 'attempts' | 'fault' | 'alternates' | 'dueAtMs'>
>;

const NO_ALTERNATES = new Uint8Array();

/**
 * Writes the next version of an instance and tells the world. Answers undefined when somebody else wrote first: the
 * caller looks again before it does anything more.
 */
export async function advance(c: Conductor, instance: Instance, change: Change): Promise<Instance | undefined> {
  const next = await write(c, instance, change);
  if (next) await announce(c, next);
  return next;
}

/** Writes the next version of an instance; whoever calls it announces it, before anybody can write the one after. */
export async function write(c: Conductor, instance: Instance, change: Change): Promise<Instance | undefined> {
  const next = { ...instance, ...change, version: instance.version + 1, updatedAtMs: c.clock.now() };
  const { updated } = await c.instances.update(next);
  if (!updated) return undefined;
  c.measured.states.inc({ state: next.state });
  c.log.info(
    { instance_uuid: next.uuid, request_id: next.requestId, host: next.host, state: next.state },
    'instance state',
  );
  return next;
}

/** Publishes the state of an instance. Said again when a step is done again: listeners compare versions. */
export function announce(c: Conductor, instance: Instance): Promise<void> {
  const topic = instanceTopic(instance.state, instance.projectId, instance.uuid);
  return c.bus.publish(topic, { type: instanceEventCodec.type, body: instanceEventCodec.encode(eventOf(instance)) });
}

/** The instance as it is now. */
export async function present(c: Conductor, uuid: string): Promise<Instance | undefined> {
  const [instance] = await c.instances.get([uuid]);
  return instance;
}

/** The end of a build that no host could do. */
export function failed(fault: { readonly reason: string; readonly message: string }): Change {
  return { state: 'error', fault, claimRevision: undefined, alternates: NO_ALTERNATES, dueAtMs: undefined };
}

/** The present attempt with its outcome written in. */
export function concluded(
  instance: Instance,
  outcome: Attempt['outcome'],
  reason: string,
  nowMs: number,
): readonly Attempt[] {
  const last = instance.attempts.at(-1);
  if (last?.outcome !== 'building') return instance.attempts;
  return [...instance.attempts.slice(0, -1), { ...last, outcome, reason, endedAtMs: nowMs }];
}

/** The number of the attempt that is being made now; 0 before the first. */
export function attemptNumber(instance: Instance): number {
  return instance.attempts.at(-1)?.number ?? 0;
}

/** Whether a host is at work on the instance: its attempt is not concluded. */
export function isBeingBuilt(instance: Instance): boolean {
  return instance.state === 'building' && instance.attempts.at(-1)?.outcome === 'building';
}

/** A fault as errors travel. */
export function faultError(instance: Instance): BerthError | undefined {
  return instance.fault && new BerthError('failed_precondition', instance.fault.reason, instance.fault.message);
}

function eventOf(instance: Instance): InstanceEvent {
  return {
    instanceUuid: instance.uuid,
    requestId: instance.requestId,
    projectId: instance.projectId,
    state: instance.state,
    host: instance.host ?? '',
    atMs: instance.updatedAtMs,
    version: instance.version,
    fault: faultError(instance),
    attempts: instance.attempts,
    name: instance.name,
  };
}
