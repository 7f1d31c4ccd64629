import TinyQueue from 'tinyqueue';
import { type Random, randomInt } from '#libs/domain/random';
import type { RequestConstraints } from './request-constraints';
import { NOTHING, type Tournament } from './tournament';

/** A host by its index, with the weight that it has for one request. */
interface WeighedIndex {
  readonly index: number;
  readonly weight: number;
}

/**
 * Gives the hosts of a tournament that a request's constraints allow, best first, one by one: O(log n) each, and nothing
 * is computed for hosts that are not reached.
 *
 * The frontier is a heap of tournament nodes and hosts (best-first search). What comes out of it is at least as good as
 * all that is left: a host is the next best, and from a node the way goes down to its best host, the rivals on the way
 * put in. Equal weights come in an order drawn from the request's own random, so that many schedulers with equal hosts
 * before them do not all take the first.
 *
 * Few hosts have a weight of their own for this request (members of its soft groups): they are put in by themselves and
 * left out of the tree. When the request names the only hosts that it may have, just these are put in.
 */
export class BestFirst {
  private readonly frontier = new TinyQueue<Entry>([], compareEntries);

  constructor(
    private readonly tournament: Tournament,
    private readonly constraints: RequestConstraints,
    private readonly random: Random,
  ) {
    const { only, weighted, usualWeight } = constraints;
    for (const index of only ?? weighted.keys()) {
      this.enter(tournament.leaves + index, constraints.weight(index), true);
    }
    if (only === undefined) this.enter(ROOT, usualWeight, false);
  }

  /** The next best host; undefined when there is none. */
  next(): WeighedIndex | undefined {
    const { frontier, constraints } = this;
    for (let entry = frontier.pop(); entry !== undefined; entry = frontier.pop()) {
      const leaf = this.descend(entry.node);
      const index = leaf - this.tournament.leaves;
      if (!entry.isByItself && constraints.weighted.has(index)) continue;
      const ownWeight = entry.isByItself ? constraints.weight(index) : constraints.usualWeight;
      if (this.tournament.at(leaf) + ownWeight < entry.weight) {
        // The best host below has left the tournament since: it was reached by itself, and has no candidate.
        this.enter(leaf, ownWeight, entry.isByItself);
        continue;
      }
      if (constraints.allows(index)) return { index, weight: entry.weight };
    }
    return undefined;
  }

  /** Has a host that came out come again, with the weight that it has by now: it was found to be less. */
  putBack(index: number): void {
    this.enter(this.tournament.leaves + index, this.constraints.weight(index), true);
  }

  /** The best leaf below a node, its rivals on the way left in the frontier: nothing there is better than it. */
  private descend(node: number): number {
    const { tournament, random } = this;
    let top = node;
    while (top < tournament.leaves) {
      const left = tournament.at(2 * top);
      const right = tournament.at(2 * top + 1);
      const isLeftBest = left === right ? random.next() < 0.5 : left > right;
      this.enter(2 * top + (isLeftBest ? 1 : 0), this.constraints.usualWeight, false);
      top = 2 * top + (isLeftBest ? 0 : 1);
    }
    return top;
  }

  private enter(node: number, ownWeight: number, isByItself: boolean): void {
    const weight = this.tournament.at(node) + ownWeight;
    // The tie is a whole number: a fraction would be an object of its own.
    if (weight !== NOTHING) this.frontier.push({ node, weight, tie: randomInt(this.random, 2 ** 31), isByItself });
  }
}

const ROOT = 1;

interface Entry {
  readonly node: number;
  readonly weight: number;
  readonly tie: number;
  /** True if the host was put in by itself, with a weight of its own. */
  readonly isByItself: boolean;
}

function compareEntries(a: Entry, b: Entry): number {
  return b.weight - a.weight || b.tie - a.tie;
}
