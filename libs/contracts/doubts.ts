import { berth } from '#generated/berth';
import { hostName, hostNameOrEmpty, text, uuid, uuidOrEmpty, whole } from './checks';
import { enumOf, list } from './fields';
import { MAX_DOUBTS_LISTED } from './limits';
import { message, type PlainOf } from './message';
import { FEW, ofServices } from './message-rules';

const wire = berth.conductor.v1;

/** A finding that is kept and shown, because it is too uncertain to act on. */
const doubt = message(wire.Doubt, {
  instanceUuid: uuidOrEmpty,
  host: hostNameOrEmpty,
  finding: text,
  message: text,
  sinceMs: whole,
  seenAtMs: whole,
});
export type DoubtView = PlainOf<typeof doubt>;

/** To `rpc.conductor`: what is in doubt. For operators. */
export const listDoubtsMethod = {
  request: message(wire.ListDoubtsRequest, {}, { rule: ofServices(FEW) }),
  response: message(wire.ListDoubtsResponse, {
    doubts: list(doubt, MAX_DOUBTS_LISTED),
    storeBornAtMs: whole,
    storeJumpsAtMs: list(whole, Infinity),
  }),
};
export type ListDoubtsResponse = PlainOf<typeof listDoubtsMethod.response>;

/** To `rpc.conductor`: an operator's word on an instance in doubt. */
export const settleDoubtMethod = {
  request: message(
    wire.SettleDoubtRequest,
    { instanceUuid: uuid, host: hostName, action: enumOf(wire.DoubtAction, 'DOUBT_ACTION') },
    { rule: ofServices(FEW) },
  ),
  response: message(wire.SettleDoubtResponse, {}),
};
export type SettleDoubtRequest = PlainOf<typeof settleDoubtMethod.request>;
