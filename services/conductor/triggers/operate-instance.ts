import { type Identity, requireService, speaksForProject } from '#libs/contracts/identity';
import type { InstanceOperation, OperateInstanceRequest, OperateInstanceResponse } from '#libs/contracts/messages';
import { operateInstanceMethod } from '#libs/contracts/operations';
import { BerthError } from '#libs/domain/errors';
import type { Instance, InstanceState } from '#libs/domain/instance';
import type { Conductor } from '../context';
import { readRecord } from '../lifecycle';
import { instanceView } from '../list-instances';
import { lookAt, type Observation } from '../observation';
import { reconcile } from '../reconcile';
import { reconcileLoop } from '../reconcile-loop';
import { fenceHost } from '../steps/fence-host';

/**
 * A client, or an operator, wants an instance stopped or started, or an operator one built elsewhere whose
 * host is dead. Answered when the wish is on record; a wish that is on
 * record already, or has been done, is answered the same.
 *
 * The version that the client has seen tells a copy of the call that comes late from a new one: else a stop that was held up
 * would stop again what has been started since. (A precondition on the version, as Kubernetes' `resourceVersion`.)
 *
 * @throws BerthError `not_found / no_such_instance`; `permission_denied / wrong_project`, `/ services_only`;
 *   `failed_precondition / host_alive` when what is to be evacuated has a host that is not dead; `failed_precondition /
 *   instance_changed` when the record is another version; `failed_precondition / instance_state` when it is in no state for it.
 */
export async function operateInstance(
  c: Conductor,
  { instanceUuid, operation, version }: OperateInstanceRequest,
  sender: Identity,
): Promise<OperateInstanceResponse> {
  if (operation === 'evacuate') requireService(sender, operateInstanceMethod.request.type);
  const record = await ownRecord(c, instanceUuid, sender);
  const known = OPERATIONS[operation];
  if (known === undefined) throw new BerthError('unimplemented', 'no_such_operation', `${operation} is not here yet`);
  const { observed, doneIn } = known;
  if (doneIn.includes(record.state)) return { instance: instanceView(record) };
  if (version !== 0 && version !== record.version) throw changed(record, version);
  if (reconcile(record, { kind: 'unread' }, observed, c.clock.now()).kind === 'none')
    throw wrongState(record, operation);
  if (operation === 'evacuate' && record.host !== undefined) await fenceHost(c, record.host);
  await reconcileLoop(c, [lookAt(record, observed)]);
  return { instance: instanceView(await ownRecord(c, instanceUuid, sender)) };
}

/** What an operation asks for, and the states in which it has been asked for or done already. */
const OPERATIONS: Readonly<
  Partial<Record<InstanceOperation, { readonly observed: Observation; readonly doneIn: readonly InstanceState[] }>>
> = {
  stop: { observed: { kind: 'power_requested', powerState: 'shutdown' }, doneIn: ['stopping', 'stopped'] },
  start: { observed: { kind: 'power_requested', powerState: 'running' }, doneIn: ['starting', 'active'] },
  evacuate: { observed: { kind: 'evacuate_requested' }, doneIn: ['rebuilding', 'building'] },
};

async function ownRecord(c: Conductor, uuid: string, sender: Identity): Promise<Instance> {
  const record = await readRecord(c, uuid);
  if (record === undefined) throw new BerthError('not_found', 'no_such_instance', `there is no instance ${uuid}`);
  if (speaksForProject(sender, record.projectId)) return record;
  throw new BerthError('permission_denied', 'wrong_project', `instance ${uuid} belongs to another project`);
}

function changed({ uuid, state, version }: Instance, seen: number): BerthError {
  const message = `instance ${uuid} is ${state}, version ${version}, not ${seen} as it was seen; look at it again`;
  return new BerthError('failed_precondition', 'instance_changed', message);
}

function wrongState({ uuid, state }: Instance, operation: InstanceOperation): BerthError {
  return new BerthError(
    'failed_precondition',
    'instance_state',
    `instance ${uuid} is ${state}: it can not ${operation}`,
  );
}
