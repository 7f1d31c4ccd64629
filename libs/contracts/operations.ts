import { berth } from '#generated/berth';
import { enumeration, missing, uuid, whole } from './checks';
import { codec, type Method } from './codec';
import { viewFromWire, viewToWire } from './instance';
import type { OperateInstanceRequest, OperateInstanceResponse } from './messages';

const wire = berth.conductor.v1;
const { InstanceOperation } = wire;
const OPERATIONS = enumeration({
  stop: InstanceOperation.INSTANCE_OPERATION_STOP,
  start: InstanceOperation.INSTANCE_OPERATION_START,
  evacuate: InstanceOperation.INSTANCE_OPERATION_EVACUATE,
});

/** To `rpc.conductor`: stops an instance, starts it again, or builds it elsewhere when its host is dead. */
export const operateInstanceMethod: Method<OperateInstanceRequest, OperateInstanceResponse> = {
  request: codec(
    'berth.conductor.v1.OperateInstanceRequest',
    wire.OperateInstanceRequest,
    (request) => ({ ...request, operation: OPERATIONS.toWire(request.operation) }),
    ({ instanceUuid, operation, version }) => ({
      instanceUuid: uuid(instanceUuid, 'instance_uuid'),
      operation: OPERATIONS.fromWire(operation, 'operation'),
      version: whole(version, 'version'),
    }),
  ),
  response: codec(
    'berth.conductor.v1.OperateInstanceResponse',
    wire.OperateInstanceResponse,
    ({ instance }) => ({ instance: viewToWire(instance) }),
    ({ instance }) => {
      if (!instance) throw missing('instance');
      return { instance: viewFromWire(instance, 'instance') };
    },
  ),
};
