import type { EncodedRequestSpec } from '#libs/contracts/codec';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { fleetGroupId } from '#libs/domain/server-group';

/**
 * A request as cells get it: what they have under the same name is theirs, and not what the fleet has.
 *
 * @param zone  of a group that spreads over zones: the one that the top has chosen, in which the cell has nothing to compare
 */
export function specForCell(encoded: EncodedRequestSpec, zone?: string): EncodedRequestSpec {
  const spec = requestSpecCodec.decode(encoded);
  const { flavor, group } = spec;
  if (flavor === undefined && group === undefined) return encoded;
  const named = group && { ...group, id: fleetGroupId(group.id) };
  const availabilityZone = zone ?? spec.availabilityZone;
  return requestSpecCodec.encode({ ...spec, flavor: undefined, group: named, availabilityZone });
}

/** The same for a move to another cell: hosts that were named for the build are of its old cell, and bind nothing any more. */
export function specForMove(encoded: EncodedRequestSpec, zone?: string): EncodedRequestSpec {
  const spec = requestSpecCodec.decode(specForCell(encoded, zone));
  return requestSpecCodec.encode({ ...spec, forceHosts: [] });
}
