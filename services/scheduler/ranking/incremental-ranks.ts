import type { Random } from '#libs/domain/random';
import { NO_PRICES, type Prices } from '../demand/prices';
import { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import { PersistentVector } from '../fleet/persistent-vector';
import type { EquivalenceClass } from '../request/equivalence-class';
import { BestFirst } from './best-first';
import { CANDIDATES, type FlatCandidates, type HostCandidate, needsSearch, noCandidate, searchOn } from './candidates';
import { Judgement, type RankingSettings } from './judgement';
import type { Feasibility, RankedHost } from './ranked-host';
import { RefusalCounts } from './refusal-counts';
import type { RequestConstraints } from './request-constraints';
import { NOTHING, Tournament } from './tournament';

/**
 * The ranks of one equivalence class, brought from snapshot to snapshot.
 *
 * The naive way runs every filter and weigher on every host for every request: half a second of a decision at 1,000 hosts
 * in Nova, and more with each host that joins. But two requests of one class see the same fleet with a few hosts changed:
 * those that were claimed on, or reported. Filters and weighers are pure functions of host and class, and snapshots share
 * the hosts that are the same. So the weight of each host that passes is kept in a tournament, and only hosts that differ
 * between the last snapshot and the one asked about are judged again; the refusals to be taken away are those of the old
 * state, which is still there. A decision costs a few microseconds at any size of the fleet; a new class costs the naive
 * way, once. What it takes: weights between fixed bounds, and 8 bytes a host.
 *
 * On hosts with nested or shared providers the candidate search, which is dear, has the last word. It is done for hosts
 * that are reached, and what it found is kept until the host changes: the host without a candidate leaves the tournament,
 * and one that gives less of what is preferred than its amounts promise weighs less from then on.
 *
 * Other prices change every weight at once: whoever passes is weighed anew by the weighers that look at them, when the class is
 * asked for next. So prices change rarely (`demand/pricing.ts`), and where there are any, what the other weighers give is kept
 * beside the tournament, 8 bytes a host more.
 */
export class IncrementalRanks {
  private judgement: Judgement;
  private snapshot = NO_HOSTS;
  private tournament = new Tournament(SMALLEST);
  /** Weights of feasible hosts by weighers that ignore prices; undefined until there are prices. */
  private unpriced: Float64Array | undefined;
  private readonly refusals = new RefusalCounts();
  /** Hosts that pass the filters. */
  private passedCount = 0;
  /** Feasible hosts by state of the search: not searched, candidate found, no candidate. */
  private readonly unsearched = new Set<number>();
  private readonly candidates = new Map<number, HostCandidate>();
  private readonly withoutCandidate = new Set<number>();

  constructor(
    private readonly equivalenceClass: EquivalenceClass,
    settings: RankingSettings,
    private prices: Prices,
    private readonly flatCandidates: FlatCandidates,
  ) {
    this.judgement = new Judgement(equivalenceClass, settings, prices);
  }

  /** Places for hosts. */
  get size(): number {
    return this.tournament.leaves;
  }

  /** Judges the hosts that differ in a snapshot, older or newer, from the last one; weighs all of them by other prices. */
  bringTo(snapshot: FleetSnapshot, prices: Prices): this {
    const isPricedAnew = prices !== this.prices;
    if (snapshot === this.snapshot && !isPricedAnew) return this;
    if (isPricedAnew) {
      this.prices = prices;
      this.judgement = this.judgement.pricedBy(prices);
    }
    const before = this.snapshot;
    this.snapshot = snapshot;
    if (snapshot.hosts.length > this.size || before === NO_HOSTS) {
      this.begin();
      return this;
    }
    before.hosts.forEachDifference(snapshot.hosts, (index, old, now) => {
      if (old) this.leave(old);
      const passes = now !== undefined && this.enter(now);
      this.tournament.set(index, !passes ? NOTHING : isPricedAnew ? this.weightUnpriced(now) : this.weight(now));
    });
    if (isPricedAnew) this.priceAll();
    return this;
  }

  /** As {@link RankedHosts.bestFirst}, of the snapshot that the ranks are brought to. */
  *bestFirst(
    constraints: RequestConstraints,
    random: Random,
    isWanted: (host: HostState) => boolean = () => true,
  ): Generator<RankedHost> {
    const { snapshot, tournament, candidates, flatCandidates, equivalenceClass } = this;
    const order = new BestFirst(tournament, constraints, random);
    for (let next = order.next(); next !== undefined; next = order.next()) {
      const { index, weight } = next;
      const host = snapshot.at(index) as HostState;
      if (!isWanted(host) || !this.hasCandidate(host)) continue;
      if (tournament.of(index) + constraints.weight(index) < weight) {
        order.putBack(index);
        continue;
      }
      yield { host, weight, candidate: candidates.get(index) ?? flatCandidates.on(host, equivalenceClass) };
      if (this.snapshot !== snapshot) throw new Error('ranks were brought to another snapshot while they were read');
    }
  }

  /** As {@link RankedHosts.feasibility}, of the snapshot that the ranks are brought to. */
  feasibility(constraints: RequestConstraints): Feasibility {
    const { snapshot } = this;
    const { hostCount } = snapshot;
    const refusals = this.refusals.copy();
    for (const { filter, kind, hosts, reason } of constraints.constraints) {
      const named = [...hosts].filter((index) => snapshot.at(index)).length;
      refusals.addHosts(filter, reason, kind === 'only' ? hostCount - named : named);
    }
    // The search takes hosts out of the set while it is walked, which sets allow.
    for (const index of this.unsearched) {
      if (constraints.allows(index)) this.hasCandidate(snapshot.at(index) as HostState);
    }
    const withoutCandidate = [...this.withoutCandidate].filter((index) => constraints.allows(index)).length;
    refusals.addHosts(CANDIDATES, noCandidate(this.equivalenceClass), withoutCandidate);
    return { hostCount, feasibleCount: this.countPassed(constraints) - withoutCandidate, refusals };
  }

  private begin(): void {
    this.refusals.byFilter.clear();
    this.passedCount = 0;
    for (const kept of [this.unsearched, this.candidates, this.withoutCandidate]) kept.clear();
    const { hosts } = this.snapshot;
    this.tournament = new Tournament(Math.max(SMALLEST, 2 ** Math.ceil(Math.log2(hosts.length))));
    this.unpriced = this.prices === NO_PRICES ? undefined : new Float64Array(this.size);
    this.tournament.fill(hosts.length, (index) => {
      const host = hosts.at(index);
      return host && this.enter(host) ? this.weight(host) : NOTHING;
    });
  }

  /** Weighs by prices all hosts that pass and have not been found without a candidate. */
  private priceAll(): void {
    const { tournament, snapshot, judgement, candidates } = this;
    const isFirst = this.unpriced === undefined;
    const unpriced = (this.unpriced ??= new Float64Array(this.size));
    tournament.fill(snapshot.hosts.length, (index) => {
      if (tournament.of(index) === NOTHING) return NOTHING;
      const host = snapshot.at(index) as HostState;
      if (isFirst) this.weightUnpriced(host, candidates.get(index)?.preferred);
      return (unpriced[index] as number) + judgement.priced.weight(host);
    });
  }

  private weight(host: HostState, found?: readonly string[]): number {
    return this.weightUnpriced(host, found) + this.judgement.priced.weight(host);
  }

  private weightUnpriced(host: HostState, found?: readonly string[]): number {
    const weight = this.judgement.unpriced.weight(host, found);
    if (this.unpriced) this.unpriced[host.index] = weight;
    return weight;
  }

  /** Counts a host; answers whether it passes. */
  private enter(host: HostState): boolean {
    const refusals = this.judgement.refusals(host);
    if (refusals.length > 0) {
      this.refusals.add(refusals);
      return false;
    }
    this.passedCount += 1;
    if (needsSearch(this.equivalenceClass, host)) this.unsearched.add(host.index);
    return true;
  }

  /** Takes away what {@link enter} counted. */
  private leave(host: HostState): void {
    const { index } = host;
    if (this.passes(index)) {
      this.passedCount -= 1;
      for (const kept of [this.unsearched, this.candidates, this.withoutCandidate]) kept.delete(index);
    } else {
      this.refusals.remove(this.judgement.refusals(host));
    }
  }

  /** As {@link RankedHosts.passes}, of the snapshot that the ranks are brought to. */
  passes(index: number): boolean {
    return this.tournament.of(index) !== NOTHING || this.withoutCandidate.has(index);
  }

  /** True if the search finds a candidate on a host that passes the filters. */
  private hasCandidate(host: HostState): boolean {
    const { equivalenceClass, candidates } = this;
    if (!needsSearch(equivalenceClass, host)) return true;
    const { index } = host;
    if (!this.unsearched.delete(index)) return candidates.has(index);
    const candidate = searchOn(equivalenceClass, host);
    if (candidate) {
      candidates.set(index, candidate);
      this.tournament.set(index, this.weight(host, candidate.preferred));
    } else {
      this.withoutCandidate.add(index);
      this.tournament.set(index, NOTHING);
    }
    return candidate !== undefined;
  }

  /** Hosts that pass filters and constraints; looks only at hosts that constraints name. */
  private countPassed(constraints: RequestConstraints): number {
    const passes = (index: number) => this.passes(index);
    if (constraints.only) {
      return [...constraints.only].filter((index) => passes(index) && constraints.allows(index)).length;
    }
    const excepted = new Set(constraints.constraints.flatMap(({ hosts }) => [...hosts]));
    return this.passedCount - [...excepted].filter(passes).length;
  }
}

/** Places for hosts at first; a power of two, as every size after it. */
const SMALLEST = 1_024;

const NO_HOSTS = new FleetSnapshot(PersistentVector.of<HostState>(), 0, new Map());
