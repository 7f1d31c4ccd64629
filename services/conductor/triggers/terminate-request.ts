import { tellRefused } from '#libs/bus/answer-client';
import type { IncomingMessage } from '#libs/bus/port';
import { terminateInstanceCodec } from '#libs/contracts/conductor';
import { requireOwnInstance } from '#libs/contracts/own-instances';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { Conductor } from '../context';
import { readRecord } from '../lifecycle';
import { lookAt } from '../observation';
import { reconcileLoop } from '../reconcile-loop';

/** A client wants an instance gone, in whatever state it is. */
export async function onTerminateRequest(c: Conductor, message: IncomingMessage): Promise<void> {
  const record = await ownRecord(c, message);
  await reconcileLoop(c, [lookAt(record, { kind: 'terminate_requested' })]);
}

/** The instance that the message names. Refusals go to the client. */
async function ownRecord(c: Conductor, message: IncomingMessage): Promise<Instance> {
  const { instanceUuid, projectId } = terminateInstanceCodec.decode(message.body);
  const record = await readRecord(c, instanceUuid);
  try {
    return requireOwnInstance(record, instanceUuid, message.identity, projectId);
  } catch (thrown) {
    await tellRefused(c.bus, message, message.id, BerthError.from(thrown));
    throw thrown;
  }
}
