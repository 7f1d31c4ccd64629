import { ACK, type IncomingMessage, type Settlement } from '#libs/bus/port';
import { terminateInstanceCodec } from '#libs/contracts/conductor';
import { requireOwnInstance } from '#libs/contracts/own-instances';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { Conductor } from '../conductor';
import { readRecord } from '../lifecycle';
import { lookAt } from '../observation';
import { goOnOnce } from './admission/go-on-once';
import { refuseRequest } from './settle-message';

/** A client wants an instance gone, in whatever state it is. Refusals go to the client. */
export async function onTerminateRequest(c: Conductor, message: IncomingMessage): Promise<Settlement> {
  const record = await ownRecord(c, message).catch((thrown: unknown) => BerthError.from(thrown));
  if (record instanceof BerthError) {
    if (isRetryable(record)) throw record;
    return refuseRequest(c, message, record);
  }
  await goOnOnce(c, [lookAt(record, { kind: 'terminate_requested' })]);
  return ACK;
}

/** The instance that the message names. */
async function ownRecord(c: Conductor, message: IncomingMessage): Promise<Instance> {
  const { instanceUuid, projectId } = terminateInstanceCodec.decode(message.body);
  return requireOwnInstance(await readRecord(c, instanceUuid), instanceUuid, message.identity, projectId);
}
