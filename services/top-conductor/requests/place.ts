import { isOfOneCell, isOverZones, type Membership, type NamedGroup } from '#libs/domain/server-group';

/** Where an instance counts as a member of its group. */
export interface Place {
  /** Of the cell. */
  readonly name: string;
  readonly zone?: string | undefined;
  /** Of a group that spreads over zones: all that members may go to. Left out, it is in its zone whatever the others do. */
  readonly among?: readonly string[] | undefined;
}

/**
 * A membership as the top's store counts it. To that a cell is what a host is to a cell's: a group that must stay in one cell is one of
 * affinity to it. Zones are what they are to a cell's store.
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
