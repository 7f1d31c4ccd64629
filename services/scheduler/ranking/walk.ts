import { type Random, randomInt } from '#libs/domain/random';
import type { Personal } from '../select/personal';
import type { Ranking } from './ranking';
import { NOTHING } from './tournament';

/** A host on a walk, with the weight that it has for this request. */
export interface Step {
  readonly index: number;
  readonly weight: number;
}

/**
 * Hosts that pass, best first, one by one, for one request: O(log n) each, and nothing is computed for hosts that are
 * not reached.
 *
 * The frontier is a heap of tournament nodes and hosts (best-first search). What comes out of it is at least as good as
 * all that is left: a host is the next best, and from a node the way goes down to its best host, the rivals on the way
 * put in. Equal weights come in an order drawn from the request's own random, so that many schedulers with equal hosts
 * before them do not all take the first.
 *
 * Few hosts have a weight of their own for this request (members of its soft groups): they are put in by themselves and
 * left out of the tree. When the request names the only hosts that it may have, just these are put in.
 */
export class Walk {
  private readonly heap: Entry[] = [];
  /** For hosts put in by themselves, which entry is valid. */
  private readonly latest = new Map<number, number>();

  constructor(
    private readonly ranking: Ranking,
    private readonly personal: Personal,
    private readonly random: Random,
  ) {
    const { only, weighted } = personal;
    for (const index of only ?? weighted.keys()) this.again(index);
    if (only === undefined) this.enter(ROOT);
  }

  /** The next best host; undefined when there is none. */
  next(): Step | undefined {
    const { leaves } = this.ranking.tournament;
    for (let entry = this.pop(); entry !== undefined; entry = this.pop()) {
      const index = (entry.node < leaves ? this.descend(entry.node) : entry.node) - leaves;
      const isValid = (this.latest.get(index) ?? 0) === entry.turn;
      if (isValid && this.personal.allows(index)) return { index, weight: entry.weight };
    }
    return undefined;
  }

  /** The best leaf below a node, its rivals on the way left in the heap. No other entry can be better than it. */
  private descend(node: number): number {
    const { tournament } = this.ranking;
    let best = node;
    while (best < tournament.leaves) {
      const left = tournament.at(2 * best);
      const right = tournament.at(2 * best + 1);
      const isLeftBest = left === right ? this.random.next() < 0.5 : left > right;
      this.enter(2 * best + (isLeftBest ? 1 : 0));
      best = 2 * best + (isLeftBest ? 0 : 1);
    }
    return best;
  }

  /** Puts a host in with the weight that it has now: it was put back, or changed. */
  again(index: number): void {
    const turn = (this.latest.get(index) ?? 0) + 1;
    this.latest.set(index, turn);
    const weight = this.ranking.tournament.of(index) + this.personal.weightOf(index);
    if (weight !== NOTHING) this.push({ node: this.ranking.tournament.leaves + index, weight, tie: this.tie(), turn });
  }

  private enter(node: number): void {
    const weight = this.ranking.tournament.at(node) + this.personal.usualWeight;
    if (weight !== NOTHING) this.push({ node, weight, tie: this.tie(), turn: 0 });
  }

  /** A whole number: a fraction would be an object of its own. */
  private tie(): number {
    return randomInt(this.random, 2 ** 31);
  }

  private push(entry: Entry): void {
    const { heap } = this;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(entry, heap[parent] as Entry)) break;
      heap[at] = heap[parent] as Entry;
      at = parent;
    }
    heap[at] = entry;
  }

  private pop(): Entry | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Entry, heap[child] as Entry)) child += 1;
      if (!isBefore(heap[child] as Entry, last)) break;
      heap[at] = heap[child] as Entry;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

const ROOT = 1;

interface Entry {
  readonly node: number;
  readonly weight: number;
  readonly tie: number;
  /** 0 for what came from the tree. */
  readonly turn: number;
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.weight > b.weight || (a.weight === b.weight && a.tie > b.tie);
}
