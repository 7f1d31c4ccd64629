import type { Ring } from './ring';

/** How many of `keyCount` keys are a member's by its weight; 0 for one that is not in the ring. */
export function fairShare({ members }: Ring, name: string, keyCount: number): number {
  const sum = members.reduce((all, { weight }) => all + weight, 0);
  const own = members.find((member) => member.name === name)?.weight ?? 0;
  return sum === 0 ? 0 : (keyCount * own) / sum;
}

/** What a member has, and how much of it it may keep. */
export interface Holding {
  readonly name: string;
  readonly held: readonly string[];
  /** Of all members together. */
  readonly keyCount: number;
  /** By which part of its fair share a member may have more than that, to spare moves. */
  readonly slack: number;
}

/**
 * The keys that a member gives up, of those that it holds and the ring names another for.
 *
 * The naive way is to give up all of them. Then a member that dies and comes back costs two moves of each of its keys, and
 * each deployment of a fleet moves everything twice. So a member keeps what it holds while that is not above its fair share
 * and the slack: what the ring says is then missing with the other is at most that slack. It needs nobody's agreement: a key
 * that is kept is held by its lease, and the member that the ring names has it as soon as it is given up or the holder dies.
 */
export function keysToGiveUp(ring: Ring, { name, held, keyCount, slack }: Holding): string[] {
  if (!ring.members.some((member) => member.name === name)) return [...held];
  const most = Math.ceil(fairShare(ring, name, keyCount) * (1 + slack));
  const others = held.filter((key) => ring.ownerOf(key) !== name).toSorted();
  const keptCount = Math.max(0, most - (held.length - others.length));
  return others.slice(keptCount);
}
