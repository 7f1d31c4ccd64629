import type { IncomingMessage } from '#libs/bus/port';
import { terminateInstanceCodec } from '#libs/contracts/conductor';
import { speaksForProject } from '#libs/contracts/identity';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { Conductor } from '../context';
import { readRecord } from '../lifecycle';
import { lookAt } from '../observation';
import { reconcileLoop } from '../reconcile-loop';
import { refuse } from './build-request';

/** A client wants an instance gone, in whatever state it is. */
export async function onTerminateRequest(c: Conductor, message: IncomingMessage): Promise<void> {
  const record = await ownRecord(c, message);
  await reconcileLoop(c, [lookAt(record, { kind: 'terminate_requested' })]);
}

/** The instance that the message names. Refusals go to the client. */
async function ownRecord(c: Conductor, message: IncomingMessage): Promise<Instance> {
  const { instanceUuid, projectId } = terminateInstanceCodec.decode(message.body);
  const record = await readRecord(c, instanceUuid);
  const isNamed = projectId === '' || projectId === record?.projectId;
  if (record !== undefined && isNamed && speaksForProject(message.identity, record.projectId)) return record;
  const error =
    record === undefined
      ? new BerthError('not_found', 'no_such_instance', `there is no instance ${instanceUuid}`)
      : new BerthError('permission_denied', 'wrong_project', `instance ${instanceUuid} belongs to another project`);
  await refuse(c, message, message.id, error);
  throw error;
}
