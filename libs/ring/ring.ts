/** A member of a ring: its name and its relative share of the keys. */
export interface RingMember {
  readonly name: string;
  /** Above 0; a member of weight 2 has twice the keys of one of weight 1. */
  readonly weight: number;
}

/** Maps each key to its member. */
export interface Ring {
  readonly members: readonly RingMember[];
  /** Undefined when the ring has no members. */
  ownerOf(key: string): string | undefined;
}

/** Points of a member of weight 1: shares then differ by about 1 / sqrt(512), 4 percent, from the fair ones. */
const POINTS_PER_WEIGHT = 512;

/**
 * A consistent hash ring: each member stands at many points of a circle of 2^32, and a key belongs to the member at the
 * first point at or after the key's own. So adding or removing a member changes the owners of its own keys only, and
 * the list of members determines all owners. (Karger et al., "Consistent hashing and random trees", 1997; the weights
 * as in Ketama.)
 *
 * Pure: the same members, in any order, make the same ring in every process and version. Hashes and points are
 * therefore part of the contract between agents of different versions.
 */
export function createRing(members: readonly RingMember[]): Ring {
  const sorted = members.toSorted((a, b) => compare(a.name, b.name));
  const points = sorted.flatMap(pointsOf).toSorted((a, b) => a.at - b.at || compare(a.name, b.name));
  const places = Uint32Array.from(points, ({ at }) => at);
  return {
    members: sorted,
    ownerOf(key) {
      const next = firstFrom(places, placeOf(key));
      return points[next === places.length ? 0 : next]?.name;
    },
  };
}

interface Point {
  readonly at: number;
  readonly name: string;
}

function pointsOf({ name, weight }: RingMember): Point[] {
  const count = Math.max(1, Math.round(weight * POINTS_PER_WEIGHT));
  return Array.from({ length: count }, (_, n) => ({ at: placeOf(`${name} ${n}`), name }));
}

/** The index of the first place that is not before `at`. */
function firstFrom(places: Uint32Array, at: number): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((places[middle] as number) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** FNV-1a with MurmurHash3's finalizer: FNV alone places names that differ in their last digit side by side. */
function placeOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
