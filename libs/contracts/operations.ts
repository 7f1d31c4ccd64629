import { berth } from '#generated/berth';
import { hostNameOrEmpty, name, uuid, whole } from './checks';
import { enumOf, omittable, optional } from './fields';
import { instanceView } from './instance';
import { message, type PlainOf } from './message';
import { KIB, MANY, ofTenants } from './message-rules';
import { requestSpec } from './request-spec';

const wire = berth.conductor.v1;

export const instanceOperation = enumOf(wire.InstanceOperation, 'INSTANCE_OPERATION');
export type InstanceOperation = PlainOf<typeof instanceOperation>;

/** To `rpc.conductor`: stops an instance, starts it again, moves it, or builds it elsewhere when its host is dead. */
export const operateInstanceMethod = {
  request: message(
    wire.OperateInstanceRequest,
    {
      instanceUuid: uuid,
      operation: instanceOperation,
      /** The one that the client has seen; 0 for any. */
      version: whole,
      /** For a resize: a flavor, or resources and extra specs. */
      resizeTo: optional(requestSpec),
      /** For a migration; '' for any host. */
      targetHost: omittable(hostNameOrEmpty),
      /** For a migration, to the top: the cell to build it in anew; its own cell when not given. */
      targetCell: optional(name),
      /** For a resize or a cold migration; 0 for the conductor's setting. */
      confirmAfterMs: omittable(whole),
    },
    { rule: ofTenants(512 * KIB, MANY) },
  ),
  response: message(wire.OperateInstanceResponse, { instance: instanceView }),
};
export type OperateInstanceRequest = PlainOf<typeof operateInstanceMethod.request>;
export type OperateInstanceResponse = PlainOf<typeof operateInstanceMethod.response>;

/** Where an instance is, is not its tenant's to say. */
export function isForOperators(operation: InstanceOperation): boolean {
  return operation === 'evacuate' || operation === 'migrate' || operation === 'live_migrate';
}
