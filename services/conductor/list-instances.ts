import { type Identity, requireProject, speaksForProject } from '#libs/contracts/identity';
import type {
  InstanceView,
  ListInstancesRequest,
  ListInstancesResponse,
  MigrationView,
} from '#libs/contracts/messages';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Instance } from '#libs/domain/instance';
import type { InstanceFilter } from '#libs/instances/store';
import type { Conductor } from './context';
import { faultError } from './lifecycle';

/**
 * Instances that match, of those that are the sender's: a page by uuid, or one by its uuid.
 *
 * @throws BerthError `permission_denied / wrong_project`.
 */
export async function listInstances(
  c: Conductor,
  request: ListInstancesRequest,
  sender: Identity,
): Promise<ListInstancesResponse> {
  const { instanceUuid, requestId, state, host, marker, limit } = request;
  if (instanceUuid !== '') {
    const found = await c.instances.get([instanceUuid]);
    return { instances: found.filter((instance) => speaksForProject(sender, instance.projectId)).map(instanceView) };
  }
  const projectId = request.projectId || (sender.kind === 'project' ? sender.projectId : '');
  requireProject(sender, projectId);
  const filter: InstanceFilter = {
    ...(requestId === '' ? {} : { requestId }),
    ...(projectId === '' ? {} : { projectId }),
    ...(state === undefined ? {} : { state }),
    ...(host === '' ? {} : { host }),
  };
  return { instances: (await c.instances.list(filter, marker || undefined, limit)).map(instanceView) };
}

/** An instance as clients see it. */
export function instanceView(instance: Instance): InstanceView {
  const { uuid, requestId, name, projectId, userId, state, attempts, createdAtMs, updatedAtMs, version } = instance;
  return {
    uuid,
    requestId,
    name,
    projectId,
    userId,
    state,
    host: instance.host ?? '',
    attempts,
    fault: faultError(instance),
    createdAtMs,
    updatedAtMs,
    requestSpec: requestSpecCodec.decode(instance.requestSpec),
    version,
    migration: migrationView(instance),
  };
}

function migrationView({ migration }: Instance): MigrationView | undefined {
  if (migration === undefined) return undefined;
  const { uuid, kind, source, destination, confirmAtMs = 0 } = migration;
  return { uuid, kind, sourceHost: source.host, destHost: destination.host, confirmAtMs };
}
