import { bestFirst } from '../weighers/weigher';
import type { HostState } from './host-state';
import { Refusals } from './refusals';

/** Receivers of refusals: their counts, and the verdict on each host where verdicts are taken. */
export interface RefusalSinks {
  readonly refusals: Refusals;
  readonly verdicts?: HostVerdicts | undefined;
}

interface RefusedHost {
  readonly kind: 'refused';
  readonly host: string;
  readonly step: string;
  readonly reason: string;
}

interface WeighedHost {
  readonly kind: 'weighed';
  readonly host: string;
  readonly weight: number;
  /** Weights by weigher; weighers that weigh all hosts alike are left out. */
  readonly weights: Readonly<Record<string, number>>;
}

/** The finding about one host in a decision. */
export type HostVerdict = RefusedHost | WeighedHost;

/** Limit of the best hosts in a record. */
const BEST = 10;

/**
 * The verdicts on all hosts for the first instance of a request. A decision that is recorded, or compared with another scheduler's, fills
 * one; it costs about a number per host and weigher.
 */
export class HostVerdicts {
  readonly #refused = new Map<string, RefusedHost>();
  #indexByRoot: ReadonlyMap<string, number> | undefined;
  readonly #parts = new Map<string, Float64Array>();
  #hosts: readonly HostState[] = [];
  #weights: Float64Array = new Float64Array();
  #isRanked = false;

  refuse(root: string, host: string, step: string, reason: string): void {
    if (!this.#refused.has(root)) this.#refused.set(root, { kind: 'refused', host, step, reason });
  }

  /** @param weigh  weighs the hosts that passed, and fills the parts of each weigher if it gets a map */
  rank(hosts: readonly HostState[], weigh: (parts?: Map<string, Float64Array>) => Float64Array): Float64Array {
    if (this.#isRanked) return weigh();
    this.#isRanked = true;
    this.#hosts = hosts;
    this.#weights = weigh(this.#parts);
    return this.#weights;
  }

  /** By the uuid of the root provider; undefined for a host that the decision did not know. */
  of(root: string): HostVerdict | undefined {
    const index = this.#indexes.get(root);
    return index === undefined ? this.#refused.get(root) : this.#at(index);
  }

  /** The verdict on each host that was looked at. */
  all(): HostVerdict[] {
    const refused = [...this.#refused].filter(([root]) => !this.#indexes.has(root)).map(([, verdict]) => verdict);
    return [...this.#hosts.map((_, index) => this.#at(index)), ...refused];
  }

  get passedCount(): number {
    return this.#hosts.length;
  }

  /** The refused hosts, counted. */
  refusals(): Refusals {
    const refusals = new Refusals();
    for (const [root, verdict] of this.#refused)
      if (!this.#indexes.has(root)) refusals.add(verdict.step, verdict.reason);
    return refusals;
  }

  /** The best hosts, and these roots beside. */
  best(roots: Iterable<string>): WeighedHost[] {
    const best: number[] = [];
    const ranked = bestFirst(this.#weights);
    for (let next = ranked.next(); next.done !== true && best.length < BEST; next = ranked.next())
      best.push(next.value);
    const wanted = new Set(roots);
    const also = [...this.#hosts.keys()].filter((i) => wanted.has(this.#hosts[i]?.node.uuid ?? ''));
    return [...new Set([...best, ...also])].map((index) => this.#at(index));
  }

  get #indexes(): ReadonlyMap<string, number> {
    return (this.#indexByRoot ??= new Map(this.#hosts.map(({ node }, i) => [node.uuid, i])));
  }

  #at(index: number): WeighedHost {
    const weights = [...this.#parts].map(([name, part]) => [name, part[index] ?? 0] as const);
    return {
      kind: 'weighed',
      host: this.#hosts[index]?.node.host ?? '',
      weight: this.#weights[index] ?? 0,
      weights: Object.fromEntries(weights),
    };
  }
}
