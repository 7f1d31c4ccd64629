import type { Ring } from './ring';

/** A member's fair share of `keyCount` keys by its weight; 0 when it is not in the ring. */
export function fairShare({ members }: Ring, name: string, keyCount: number): number {
  const sum = members.reduce((all, { weight }) => all + weight, 0);
  const own = members.find((member) => member.name === name)?.weight ?? 0;
  return sum === 0 ? 0 : (keyCount * own) / sum;
}

/** The keys of a member, and the bounds on what it may keep. */
export interface Holding {
  readonly name: string;
  readonly held: readonly string[];
  /** Number of keys of all members together. */
  readonly keyCount: number;
  /** Fraction of its fair share that a member may hold in excess, to avoid moves. */
  readonly slack: number;
}

/**
 * The keys that a member gives up, among those that it holds and the ring assigns to another.
 *
 * The naive way is to give up all of them. Then a member that dies and comes back costs two moves of each of its keys,
 * and each deployment of a fleet moves everything twice. So a member keeps its keys up to its fair share plus the
 * slack; the other members lack at most that slack. No agreement is needed: a kept key is held by its lease, and the
 * assigned member takes it as soon as it is given up or its holder dies.
 */
export function keysToGiveUp(ring: Ring, { name, held, keyCount, slack }: Holding): string[] {
  if (!ring.members.some((member) => member.name === name)) return [...held];
  const most = Math.ceil(fairShare(ring, name, keyCount) * (1 + slack));
  const others = held.filter((key) => ring.ownerOf(key) !== name).toSorted();
  const keptCount = Math.max(0, most - (held.length - others.length));
  return others.slice(keptCount);
}
