import { isOfOneCell, isOverZones, type Membership, type NamedGroup } from '#libs/domain/server-group';

/** The place where an instance counts as a member of its group. */
export interface Place {
  /** Name of the cell. */
  readonly name: string;
  readonly zone?: string | undefined;
  /**
   * For a group that spreads over zones: all zones that members may go to. Undefined to count it in its zone whatever
   * the group allows.
   */
  readonly among?: readonly string[] | undefined;
}

/**
 * A membership in the top's store. A cell takes the place of a host there: a group bound to one cell is an affinity
 * group. Zones are the same as in a cell's store.
 */
export function membershipIn(place: Place | undefined, group: NamedGroup | undefined): Membership | undefined {
  if (group?.policy === undefined || place === undefined) return undefined;
  const { name: host, zone } = place;
  const { id } = group;
  if (isOfOneCell(group)) return { group: { id, policy: 'affinity', maxPerHost: 0 }, host };
  const rules = { id, policy: 'soft-affinity', maxPerHost: 0 } as const;
  if (zone === undefined || !isOverZones(group)) return { group: rules, host };
  const { among = [zone] } = place;
  return { group: { ...rules, spread: group.spread }, host, spread: { domain: zone, among } };
}
