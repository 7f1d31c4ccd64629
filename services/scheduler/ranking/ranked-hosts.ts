import type { Random } from '#libs/domain/random';
import type { Prices } from '../demand/prices';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import type { EquivalenceClass } from '../request/equivalence-class';
import { FlatCandidates } from './candidates';
import { IncrementalRanks } from './incremental-ranks';
import type { RankingSettings } from './judgement';
import type { Feasibility, RankedHost } from './ranked-host';
import type { RequestConstraints } from './request-constraints';

/**
 * The hosts of one snapshot, filtered and ranked for one equivalence class: pure questions, whatever is kept behind
 * them. A host is feasible when it passes all filters and the request's constraints and the candidate search finds a way.
 */
export interface RankedHosts {
  /**
   * Feasible hosts, best first, lazily; equal weights in an order drawn from `random`. Hosts that are not wanted are left
   * out. To be read before others are asked for.
   */
  bestFirst(
    constraints: RequestConstraints,
    random: Random,
    isWanted?: (host: HostState) => boolean,
  ): Iterable<RankedHost>;

  /** True for a host, by index, that passes all filters; constraints and the candidate search are not asked. */
  passes(index: number): boolean;

  /** Counts every filter that refuses a host, and the candidate search where no filter or constraint does. */
  feasibility(constraints: RequestConstraints): Feasibility;
}

/** The hosts of a snapshot, ranked for a class. */
export type RankHosts = (equivalenceClass: EquivalenceClass, snapshot: FleetSnapshot) => RankedHosts;

/** The first `count` of ranked hosts. */
export function best(count: number, ranked: Iterable<RankedHost>): RankedHost[] {
  const first: RankedHost[] = [];
  if (count > 0) for (const one of ranked) if (first.push(one) === count) break;
  return first;
}

/** The ranks of the classes that were asked for lately, each kept up to date from snapshot to snapshot. */
export class KeptRanks {
  private readonly byKey = new Map<string, IncrementalRanks>();
  private readonly flatCandidates = new FlatCandidates();
  private latestKey: string | undefined;

  /** By the prices of the moment in which hosts are ranked. `maxRankedHosts` bounds their memory: hosts times classes, at some 8 bytes each, 16 where there are prices. One class is always kept. */
  constructor(
    private readonly settings: RankingSettings,
    private readonly pricing: { readonly prices: Prices },
    private readonly maxRankedHosts: number,
  ) {}

  /** Keys of the classes with ranks in memory, the one used last at the end. */
  keys(): readonly string[] {
    return [...this.byKey.keys()];
  }

  readonly rank: RankHosts = (equivalenceClass, snapshot) => {
    const { key } = equivalenceClass;
    const { prices } = this.pricing;
    const known = this.byKey.get(key);
    const ranks = known ?? new IncrementalRanks(equivalenceClass, this.settings, prices, this.flatCandidates);
    ranks.bringTo(snapshot, prices);
    if (known === undefined || key !== this.latestKey) this.noteUse(key, ranks);
    return {
      bestFirst: (constraints, random, isWanted) =>
        ranks.bringTo(snapshot, prices).bestFirst(constraints, random, isWanted),
      passes: (index) => ranks.bringTo(snapshot, prices).passes(index),
      feasibility: (constraints) => ranks.bringTo(snapshot, prices).feasibility(constraints),
    };
  };

  private noteUse(key: string, ranks: IncrementalRanks): void {
    // The order of a map's keys is the order of their last use.
    this.byKey.delete(key);
    this.byKey.set(key, ranks);
    this.latestKey = key;
    const most = Math.max(1, Math.floor(this.maxRankedHosts / ranks.size));
    for (const oldest of this.byKey.keys()) {
      if (this.byKey.size <= most) return;
      this.byKey.delete(oldest);
    }
  }
}
