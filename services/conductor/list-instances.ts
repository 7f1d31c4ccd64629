import type { InstanceView, ListInstancesRequest, ListInstancesResponse } from '#libs/contracts/messages';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Instance } from '#libs/domain/instance';
import type { InstanceFilter } from '#libs/instances/store';
import type { Conductor } from './context';
import { faultError } from './lifecycle';

/** Instances that match, for whoever asks: a page by uuid, or one by its uuid. */
export async function listInstances(c: Conductor, request: ListInstancesRequest): Promise<ListInstancesResponse> {
  const { instanceUuid, requestId, projectId, state, host, marker, limit } = request;
  if (instanceUuid !== '') return { instances: (await c.instances.get([instanceUuid])).map(view) };
  const filter: InstanceFilter = {
    ...(requestId === '' ? {} : { requestId }),
    ...(projectId === '' ? {} : { projectId }),
    ...(state === undefined ? {} : { state }),
    ...(host === '' ? {} : { host }),
  };
  return { instances: (await c.instances.list(filter, marker || undefined, limit)).map(view) };
}

function view(instance: Instance): InstanceView {
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
  };
}
