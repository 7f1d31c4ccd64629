import { berth } from '#generated/berth';
import { enumeration, hostNameOrEmpty, missing, name, uuid, whole } from './checks';
import { codec, type Method } from './codec';
import { viewFromWire, viewToWire } from './instance';
import type { InstanceOperation, OperateInstanceRequest, OperateInstanceResponse } from './messages';
import { specFromWire, specToWire } from './request-spec';

const wire = berth.conductor.v1;
const { InstanceOperation } = wire;
const OPERATIONS = enumeration({
  stop: InstanceOperation.INSTANCE_OPERATION_STOP,
  start: InstanceOperation.INSTANCE_OPERATION_START,
  evacuate: InstanceOperation.INSTANCE_OPERATION_EVACUATE,
  shelve: InstanceOperation.INSTANCE_OPERATION_SHELVE,
  unshelve: InstanceOperation.INSTANCE_OPERATION_UNSHELVE,
  resize: InstanceOperation.INSTANCE_OPERATION_RESIZE,
  migrate: InstanceOperation.INSTANCE_OPERATION_MIGRATE,
  live_migrate: InstanceOperation.INSTANCE_OPERATION_LIVE_MIGRATE,
  confirm: InstanceOperation.INSTANCE_OPERATION_CONFIRM,
  revert: InstanceOperation.INSTANCE_OPERATION_REVERT,
});

/** To `rpc.conductor`: stops an instance, starts it again, moves it, or builds it elsewhere when its host is dead. */
export const operateInstanceMethod: Method<OperateInstanceRequest, OperateInstanceResponse> = {
  request: codec(
    'berth.conductor.v1.OperateInstanceRequest',
    wire.OperateInstanceRequest,
    ({ targetHost = '', targetCell = '', confirmAfterMs = 0, resizeTo, ...request }) => ({
      ...request,
      targetHost,
      targetCell,
      confirmAfterMs,
      operation: OPERATIONS.toWire(request.operation),
      resizeTo: resizeTo ? specToWire(resizeTo) : null,
    }),
    ({ instanceUuid, operation, version, resizeTo, targetHost, targetCell, confirmAfterMs }) => ({
      instanceUuid: uuid(instanceUuid, 'instance_uuid'),
      operation: OPERATIONS.fromWire(operation, 'operation'),
      version: whole(version, 'version'),
      resizeTo: resizeTo ? specFromWire(resizeTo, 'resize_to') : undefined,
      targetHost: hostNameOrEmpty(targetHost, 'target_host'),
      ...(targetCell === '' ? {} : { targetCell: name(targetCell, 'target_cell') }),
      confirmAfterMs: whole(confirmAfterMs, 'confirm_after_ms'),
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

/** Where an instance is, is not its tenant's to say. */
export function isForOperators(operation: InstanceOperation): boolean {
  return operation === 'evacuate' || operation === 'migrate' || operation === 'live_migrate';
}
