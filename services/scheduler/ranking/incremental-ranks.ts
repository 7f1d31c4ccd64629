import type { Random } from '#libs/domain/random';
import type { RankingPrices } from '../demand/prices';
import { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import { PersistentVector } from '../fleet/persistent-vector';
import type { EquivalenceClass } from '../request/equivalence-class';
import { BestFirst } from './best-first';
import { CANDIDATES, type FlatCandidates, type HostCandidate, needsSearch, noCandidate, searchOn } from './candidates';
import { Judgement, type RankingSettings } from './judgement';
import type { Feasibility, RankedHost, WeighedHost } from './ranked-hosts';
import { RefusalCounts } from './refusal-counts';
import type { RequestConstraints } from './request-constraints';
import { NOTHING, Tournament } from './tournament';
import { weighedAnew } from './weighed-anew';

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
 * Other prices change every weight at once. So ranks stay at prices that were made some time before the latest, and the hosts
 * that come first by them are weighed by the latest: which hosts are among these is the one thing that is approximate.
 */
export class IncrementalRanks {
  private judgement: Judgement;
  /** By the latest prices; the same when ranks are kept by them. */
  private latestJudgement: Judgement;
  private snapshot = NO_HOSTS;
  private tournament = new Tournament(SMALLEST);
  private readonly refusals = new RefusalCounts();
  /** Hosts that pass the filters. */
  private passedCount = 0;
  /** Of these, those that the search must look at yet, those it found a candidate on, and those without one. */
  private readonly unsearched = new Set<number>();
  private readonly candidates = new Map<number, HostCandidate>();
  private readonly withoutCandidate = new Set<number>();

  constructor(
    private readonly equivalenceClass: EquivalenceClass,
    private readonly settings: RankingSettings,
    private prices: RankingPrices,
    private readonly flatCandidates: FlatCandidates,
  ) {
    this.judgement = new Judgement(equivalenceClass, settings, prices.ofRanks);
    this.latestJudgement = this.judgementByLatest();
  }

  /** Places for hosts. */
  get size(): number {
    return this.tournament.leaves;
  }

  /** Judges the hosts that differ in a snapshot, older or newer, from the last one; all of them by other prices of ranks. */
  bringTo(snapshot: FleetSnapshot, prices: RankingPrices): this {
    if (prices !== this.prices) this.priceBy(prices);
    if (snapshot === this.snapshot) return this;
    const before = this.snapshot;
    this.snapshot = snapshot;
    if (snapshot.hosts.length > this.size || before === NO_HOSTS) this.begin();
    else {
      before.hosts.forEachDifference(snapshot.hosts, (index, old, now) => {
        if (old) this.leave(old);
        this.tournament.set(index, now ? this.enter(now) : NOTHING);
      });
    }
    return this;
  }

  /** As {@link RankedHosts.bestFirst}, of the snapshot that the ranks are brought to. */
  *bestFirst(
    constraints: RequestConstraints,
    random: Random,
    isWanted: (host: HostState) => boolean = () => true,
  ): Generator<RankedHost> {
    const { snapshot, judgement, latestJudgement, candidates, flatCandidates, equivalenceClass } = this;
    const byRank = this.byRank(constraints, random, isWanted);
    const weigh = (host: HostState) => {
      const weight = latestJudgement.weight(host, candidates.get(host.index)?.preferred);
      // Ranks are kept as 32-bit numbers.
      return Math.fround(weight) + constraints.weight(host.index);
    };
    for (const { host, weight } of latestJudgement === judgement ? byRank : weighedAnew(byRank, weigh, random)) {
      const candidate = candidates.get(host.index) ?? flatCandidates.on(host, equivalenceClass);
      yield { host, weight, candidate };
      if (this.snapshot !== snapshot) throw new Error('ranks were brought to another snapshot while they were read');
    }
  }

  /** Feasible hosts by the prices of ranks. */
  private *byRank(
    constraints: RequestConstraints,
    random: Random,
    isWanted: (host: HostState) => boolean,
  ): Generator<WeighedHost, void> {
    const order = new BestFirst(this.tournament, constraints, random);
    for (let next = order.next(); next !== undefined; next = order.next()) {
      const { index, weight } = next;
      const host = this.snapshot.at(index) as HostState;
      if (!isWanted(host) || !this.hasCandidate(host)) continue;
      if (this.tournament.of(index) + constraints.weight(index) < weight) order.putBack(index);
      else yield { host, weight };
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

  private priceBy(prices: RankingPrices): void {
    const { ofRanks } = this.prices;
    this.prices = prices;
    if (prices.ofRanks !== ofRanks) this.rankAnew();
    this.latestJudgement = this.judgementByLatest();
  }

  private judgementByLatest(): Judgement {
    const { latest, ofRanks } = this.prices;
    return latest === ofRanks ? this.judgement : new Judgement(this.equivalenceClass, this.settings, latest);
  }

  private rankAnew(): void {
    this.judgement = new Judgement(this.equivalenceClass, this.settings, this.prices.ofRanks);
    if (this.snapshot === NO_HOSTS) return;
    const { tournament, snapshot, judgement, candidates } = this;
    tournament.fill(snapshot.hosts.length, (index) =>
      tournament.of(index) === NOTHING
        ? NOTHING
        : judgement.weight(snapshot.at(index) as HostState, candidates.get(index)?.preferred),
    );
  }

  private begin(): void {
    this.refusals.byFilter.clear();
    this.passedCount = 0;
    for (const kept of [this.unsearched, this.candidates, this.withoutCandidate]) kept.clear();
    const { hosts } = this.snapshot;
    this.tournament = new Tournament(Math.max(SMALLEST, 2 ** Math.ceil(Math.log2(hosts.length))));
    this.tournament.fill(hosts.length, (index) => {
      const host = hosts.at(index);
      return host ? this.enter(host) : NOTHING;
    });
  }

  /** Counts a host; answers its weight when it passes, else NOTHING. */
  private enter(host: HostState): number {
    const refusals = this.judgement.refusals(host);
    if (refusals.length > 0) {
      this.refusals.add(refusals);
      return NOTHING;
    }
    this.passedCount += 1;
    if (needsSearch(this.equivalenceClass, host)) this.unsearched.add(host.index);
    return this.judgement.weight(host);
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

  private passes(index: number): boolean {
    return this.tournament.of(index) !== NOTHING || this.withoutCandidate.has(index);
  }

  /** Whether there is a way to take what an instance would from a host that passes the filters. */
  private hasCandidate(host: HostState): boolean {
    const { equivalenceClass, candidates } = this;
    if (!needsSearch(equivalenceClass, host)) return true;
    const { index } = host;
    if (!this.unsearched.delete(index)) return candidates.has(index);
    const candidate = searchOn(equivalenceClass, host);
    if (candidate) {
      candidates.set(index, candidate);
      this.tournament.set(index, this.judgement.weight(host, candidate.preferred));
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
