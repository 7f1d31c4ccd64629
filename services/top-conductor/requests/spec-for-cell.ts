import type { EncodedRequestSpec } from '#libs/contracts/codec';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { fleetGroupId } from '#libs/domain/server-group';

/**
 * A request in the form for cells: without references to the fleet's own objects, since a cell's objects of the same
 * name are others.
 *
 * @param zone  for a group that spreads over zones: the zone chosen by the top, in which the cell has nothing to
 *   balance
 */
export function specForCell(encoded: EncodedRequestSpec, zone?: string): EncodedRequestSpec {
  const spec = requestSpecCodec.decode(encoded);
  const { flavor, group } = spec;
  if (flavor === undefined && group === undefined) return encoded;
  const named = group && { ...group, id: fleetGroupId(group.id) };
  const availabilityZone = zone ?? spec.availabilityZone;
  return requestSpecCodec.encode({ ...spec, flavor: undefined, group: named, availabilityZone });
}

/** The same for a move to another cell: without the hosts named for the build, which belong to its old cell. */
export function specForMove(encoded: EncodedRequestSpec, zone?: string): EncodedRequestSpec {
  const spec = requestSpecCodec.decode(specForCell(encoded, zone));
  return requestSpecCodec.encode({ ...spec, forceHosts: [] });
}
