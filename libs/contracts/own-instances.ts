import { BerthError } from '../domain/errors';
import type { InstanceRow } from '../domain/instance';
import { type Identity, requireProject, speaksForProject } from './identity';
import type { ListInstancesRequest } from './instance';

/**
 * The instance that a sender names, if it is the sender's. Another project's is to a tenant as one that is not there.
 *
 * @param projectId  whose it is, as the sender says; '' when it does not say it
 * @throws BerthError `not_found / no_such_instance`; `permission_denied / wrong_project`.
 */
export function requireOwnInstance<Row extends InstanceRow>(
  record: Row | undefined,
  uuid: string,
  sender: Identity,
  projectId = '',
): Row {
  const isHidden = sender.kind === 'project' && record !== undefined && record.projectId !== sender.projectId;
  if (record === undefined || isHidden)
    throw new BerthError('not_found', 'no_such_instance', `there is no instance ${uuid}`);
  const isNamed = projectId === '' || projectId === record.projectId;
  if (isNamed && speaksForProject(sender, record.projectId)) return record;
  throw new BerthError('permission_denied', 'wrong_project', `instance ${uuid} belongs to another project`);
}

/**
 * Requires the instances on record for a request to be of the project that asks.
 *
 * @throws BerthError `already_exists / request_exists`.
 */
export function requireOwnRequest(requestId: string, instances: readonly InstanceRow[], projectId: string): void {
  if (instances.every((instance) => instance.projectId === projectId)) return;
  const message = `request id ${requestId} is taken; choose another id`;
  throw new BerthError('already_exists', 'request_exists', message);
}

/**
 * Which instances a sender asks to see, of those that are its own.
 *
 * @throws BerthError `permission_denied / wrong_project`.
 */
export function ownFilter(request: ListInstancesRequest, sender: Identity) {
  const { requestId, state, host } = request;
  const projectId = request.projectId || (sender.kind === 'project' ? sender.projectId : '');
  requireProject(sender, projectId);
  return {
    ...(requestId === '' ? {} : { requestId }),
    ...(projectId === '' ? {} : { projectId }),
    ...(state === undefined ? {} : { state }),
    ...(host === '' ? {} : { host }),
  };
}
