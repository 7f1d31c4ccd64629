import { isSkewed, type Spread, settled } from '../server-group';
import { MAX_ZONES } from './cell-summary';
import { type CellCandidate, type CellRequest, classesIn, mayFit } from './rank-cells';

/** A zone, the members of a group in it, and how many more it can take. */
export interface ZoneForMembers {
  readonly zone: string;
  readonly members: number;
  readonly room: number;
}

/**
 * The zones that members of a group may go to, sorted: all zones of enabled cells, reachable or not, full or not,
 * except zones whose hosts lack the required traits. A zone of several cells counts once. Zones that no summary names
 * do not count.
 */
export function zonesFor(
  request: Pick<CellRequest, 'zone' | 'requiredTraits' | 'forbiddenTraits'>,
  cells: Iterable<Pick<CellCandidate, 'state' | 'summary'>>,
): readonly string[] {
  const zones = new Set<string>();
  for (const { state, summary } of cells) {
    if (state !== 'enabled' || summary === undefined) continue;
    for (const zone of summary.zones) {
      if (request.zone !== '' && zone !== request.zone) continue;
      // Without a class all hosts of the zone are unavailable, and their traits are unknown.
      const classes = classesIn(summary, zone);
      if (classes.length === 0 || classes.some((one) => mayFit(one, summary, request))) zones.add(zone);
    }
  }
  return [...zones].sort().slice(0, MAX_ZONES);
}

/**
 * The zones of `count` more members, in order: each member goes to the zone with the fewest among those with capacity.
 * Stops early when the next member would exceed the skew; no other order places more.
 */
export function spreadEvenly(spread: Spread, count: number, zones: readonly ZoneForMembers[]): readonly string[] {
  const among = zones.map(({ zone }) => zone);
  const members = new Map(zones.map((one) => [one.zone, one.members]));
  const room = new Map(zones.map((one) => [one.zone, one.room]));
  const membersIn = (zone: string) => members.get(zone) ?? 0;
  const places: string[] = [];
  while (places.length < count) {
    const open = among.filter((zone) => (room.get(zone) ?? 0) > 0);
    const [first] = open;
    if (first === undefined) break;
    const domain = open.reduce((least, zone) => (membersIn(zone) < membersIn(least) ? zone : least), first);
    if (isSkewed(spread, { domain, among }, (zone) => settled(membersIn(zone)))) break;
    places.push(domain);
    members.set(domain, membersIn(domain) + 1);
    room.set(domain, (room.get(domain) ?? 0) - 1);
  }
  return places;
}
