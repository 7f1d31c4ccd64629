import { berth } from '#generated/berth';
import { uuid, whole } from './checks';
import { count, list } from './fields';
import { MAX_INSTANCES_PER_REQUEST } from './limits';
import { message, type PlainOf } from './message';
import { MANY, ofServices } from './message-rules';

const wire = berth.conductor.v1;

const instanceClaim = message(wire.InstanceClaim, { instanceUuid: uuid, claimToken: whole });
export type InstanceClaim = PlainOf<typeof instanceClaim>;

/** To a cell's `rpc.conductor`, from the top: gives back claims of instances that are not on record. */
export const releaseClaimsMethod = {
  request: message(
    wire.ReleaseClaimsRequest,
    { claims: list(instanceClaim, MAX_INSTANCES_PER_REQUEST) },
    { rule: ofServices(MANY) },
  ),
  response: message(wire.ReleaseClaimsResponse, { released: count }),
};
export type ReleaseClaimsRequest = PlainOf<typeof releaseClaimsMethod.request>;
export type ReleaseClaimsResponse = PlainOf<typeof releaseClaimsMethod.response>;
