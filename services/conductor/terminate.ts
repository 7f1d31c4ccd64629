import type { IncomingMessage, Settlement } from '#libs/bus/port';
import { destroyInstanceCodec } from '#libs/contracts/compute';
import { terminateInstanceCodec } from '#libs/contracts/conductor';
import { castTyped } from '#libs/contracts/rpc';
import { agentQueue } from '#libs/contracts/topology';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { refuse } from './build';
import type { Conductor } from './context';
import { releaseAllHeld } from './hand-off';
import { settle } from './patience';
import { advance, announce, present } from './records';

/**
 * Ends an instance, in whatever state it is. Its host destroys it first; only then is its claim given back, so that
 * nothing else is placed where it still runs. An instance that no host has ends at once.
 */
export async function onTerminate(c: Conductor, message: IncomingMessage): Promise<Settlement> {
  return settle(c, message, async (isRepeated) => {
    const { instance, problem } = await named(c, message);
    if (problem) {
      await refuse(c, message, message.id, problem);
      throw problem;
    }
    if (instance.state === 'deleted') return isRepeated ? announce(c, instance) : undefined;
    const deleting = instance.state === 'deleting' ? instance : await beginDeleting(c, instance);
    await destroy(c, deleting);
  });
}

/** Has the host destroy a deleting instance and report it; ends it at once when there is no such host. */
export async function destroy(c: Conductor, instance: Instance): Promise<void> {
  const { uuid, host } = instance;
  if (host !== undefined && (await destroyOn(c, host, uuid, 0, true))) return;
  await destroyed(c, instance);
}

/** Nothing runs any more: gives the claim back and closes the record. */
export async function destroyed(c: Conductor, instance: Instance): Promise<void> {
  await releaseAllHeld(c, [instance]);
  await advance(c, instance, { state: 'deleted', claimRevision: undefined, dueAtMs: undefined });
}

/** Tells a host to end what it has of an instance, up to an attempt (0: any). False when the host has no queue. */
export async function destroyOn(
  c: Conductor,
  host: string,
  instanceUuid: string,
  attempt: number,
  report: boolean,
): Promise<boolean> {
  try {
    await castTyped(c.bus, agentQueue(host).name, destroyInstanceCodec, { instanceUuid, attempt, report });
    return true;
  } catch (thrown) {
    if (BerthError.from(thrown).code !== 'not_found') throw thrown;
    return false;
  }
}

async function beginDeleting(c: Conductor, instance: Instance): Promise<Instance> {
  const deleting = await advance(c, instance, {
    state: 'deleting',
    // An instance in ERROR was on its host, if at all, only until its claim was given back.
    host: instance.state === 'error' ? undefined : instance.host,
    alternates: new Uint8Array(),
    dueAtMs: c.clock.now() + c.config.destroyTimeoutMs,
  });
  if (!deleting) throw new BerthError('aborted', 'record_changed', `instance ${instance.uuid} changed meanwhile`);
  return deleting;
}

type Named =
  | { readonly instance: Instance; readonly problem?: undefined }
  | { readonly instance?: undefined; readonly problem: BerthError };

async function named(c: Conductor, message: IncomingMessage): Promise<Named> {
  const { instanceUuid, projectId } = terminateInstanceCodec.decode(message.body);
  const instance = await present(c, instanceUuid);
  if (!instance)
    return { problem: new BerthError('not_found', 'no_such_instance', `there is no instance ${instanceUuid}`) };
  if (projectId !== '' && projectId !== instance.projectId) {
    const text = `instance ${instanceUuid} does not belong to project ${projectId}`;
    return { problem: new BerthError('permission_denied', 'wrong_project', text) };
  }
  return { instance };
}
