import { berth } from '#generated/berth';
import { enumeration, hostName, hostNameOrEmpty, list, text, uuid, uuidOrEmpty, whole } from './checks';
import { codec, type Method, type Mutable } from './codec';
import { MAX_DOUBTS_LISTED } from './limits';
import type { DoubtView, ListDoubtsResponse, SettleDoubtRequest } from './messages';

const wire = berth.conductor.v1;
const { DoubtAction } = wire;
const ACTIONS = enumeration({
  adopt: DoubtAction.DOUBT_ACTION_ADOPT,
  destroy: DoubtAction.DOUBT_ACTION_DESTROY,
});

/** To `rpc.conductor`: what is in doubt. For operators. */
export const listDoubtsMethod: Method<Record<string, never>, ListDoubtsResponse> = {
  request: codec(
    'berth.conductor.v1.ListDoubtsRequest',
    wire.ListDoubtsRequest,
    () => ({}),
    () => ({}),
  ),
  response: codec(
    'berth.conductor.v1.ListDoubtsResponse',
    wire.ListDoubtsResponse,
    (response) => ({
      ...response,
      doubts: response.doubts as DoubtView[],
      storeJumpsAtMs: response.storeJumpsAtMs as number[],
    }),
    (response) => ({
      doubts: list(response.doubts, 'doubts', MAX_DOUBTS_LISTED, doubtFromWire),
      storeBornAtMs: whole(response.storeBornAtMs, 'store_born_at_ms'),
      storeJumpsAtMs: response.storeJumpsAtMs.map((atMs, n) => whole(atMs, `store_jumps_at_ms[${n}]`)),
    }),
  ),
};

/** To `rpc.conductor`: an operator's word on an instance in doubt. */
export const settleDoubtMethod: Method<SettleDoubtRequest, Record<string, never>> = {
  request: codec(
    'berth.conductor.v1.SettleDoubtRequest',
    wire.SettleDoubtRequest,
    (request) => ({ ...request, action: ACTIONS.toWire(request.action) }),
    ({ instanceUuid, host, action }) => ({
      instanceUuid: uuid(instanceUuid, 'instance_uuid'),
      host: hostName(host, 'host'),
      action: ACTIONS.fromWire(action, 'action'),
    }),
  ),
  response: codec(
    'berth.conductor.v1.SettleDoubtResponse',
    wire.SettleDoubtResponse,
    () => ({}),
    () => ({}),
  ),
};

function doubtFromWire(value: berth.conductor.v1.IDoubt, field: string): DoubtView {
  const doubt = value as Mutable<DoubtView>;
  return {
    instanceUuid: uuidOrEmpty(doubt.instanceUuid, `${field}.instance_uuid`),
    host: hostNameOrEmpty(doubt.host, `${field}.host`),
    finding: text(doubt.finding, `${field}.finding`),
    message: text(doubt.message, `${field}.message`),
    sinceMs: whole(doubt.sinceMs, `${field}.since_ms`),
    seenAtMs: whole(doubt.seenAtMs, `${field}.seen_at_ms`),
  };
}
