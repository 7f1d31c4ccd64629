import { isSkewed, type Spread, settled } from '../server-group';
import { MAX_ZONES } from './cell-summary';
import { type CellCandidate, type CellRequest, classesIn, mayFit } from './rank-cells';

/** A zone, how many members of a group are in it, and how many more it has room for. */
export interface ZoneForMembers {
  readonly zone: string;
  readonly members: number;
  readonly room: number;
}

/**
 * The zones that members of a group may go to, in order of text: those of all enabled cells, reachable or not, full or not, but for
 * zones whose hosts have not the traits that are asked for. A zone of several cells is one. Only those that a summary names count.
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
      // Without a class all its hosts are away for now, and what they have is not known.
      const classes = classesIn(summary, zone);
      if (classes.length === 0 || classes.some((one) => mayFit(one, summary, request))) zones.add(zone);
    }
  }
  return [...zones].sort().slice(0, MAX_ZONES);
}

/**
 * The zones that so many members more go to, one after the other: each where there are fewest of those that have room. Fewer when the next
 * would make the group more uneven than it may be: no other order places more.
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
