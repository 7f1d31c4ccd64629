import { berth } from '#generated/berth';
import { list, uuid, whole } from './checks';
import { codec, type Method, type Mutable } from './codec';
import { MAX_INSTANCES_PER_REQUEST } from './limits';
import type { InstanceClaim, ReleaseClaimsRequest, ReleaseClaimsResponse } from './messages';

const wire = berth.conductor.v1;

/** To a cell's `rpc.conductor`, from the top: gives back claims of instances that are not on record. */
export const releaseClaimsMethod: Method<ReleaseClaimsRequest, ReleaseClaimsResponse> = {
  request: codec(
    'berth.conductor.v1.ReleaseClaimsRequest',
    wire.ReleaseClaimsRequest,
    ({ claims }) => ({ claims: claims as Mutable<InstanceClaim>[] }),
    ({ claims }) => ({ claims: list(claims, 'claims', MAX_INSTANCES_PER_REQUEST, claimFromWire) }),
  ),
  response: codec(
    'berth.conductor.v1.ReleaseClaimsResponse',
    wire.ReleaseClaimsResponse,
    (response) => response,
    ({ released }) => ({ released }),
  ),
};

function claimFromWire(value: berth.conductor.v1.IInstanceClaim, field: string): InstanceClaim {
  const { instanceUuid, claimToken } = value as berth.conductor.v1.InstanceClaim;
  return {
    instanceUuid: uuid(instanceUuid, `${field}.instance_uuid`),
    claimToken: whole(claimToken, `${field}.claim_token`),
  };
}
