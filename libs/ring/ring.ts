/** Who shares keys by a ring: its name, and how much of them it takes relative to the others. */
export interface RingMember {
  readonly name: string;
  /** Above 0; a member of weight 2 has twice the keys of one of weight 1. */
  readonly weight: number;
}

/** Says of each key which member has it. */
export interface Ring {
  readonly members: readonly RingMember[];
  /** Undefined when the ring has no members. */
  ownerOf(key: string): string | undefined;
}

/** Points of a member of weight 1: shares then differ by about 1 / sqrt(512), 4 percent, from what is fair. */
const POINTS_PER_WEIGHT = 512;

/**
 * A consistent hash ring: each member stands at many points of a circle of 2^32, and a key belongs to the member at the first
 * point from the key's own place on. So of two rings that differ by one member, only the keys of that member have different owners,
 * and whoever knows the members knows all owners without asking. (Karger et al., "Consistent hashing and random trees", 1997;
 * the weights as in Ketama.)
 *
 * Pure: the same members, in any order, make the same ring in every process and version. Hashes and points are therefore part
 * of the contract between agents of different versions.
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

/** FNV-1a, finished as MurmurHash3 does it: FNV alone leaves names that differ in their last digit side by side. */
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
