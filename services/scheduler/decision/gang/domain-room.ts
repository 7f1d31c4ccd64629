import type { FleetSnapshot } from '../../fleet/fleet-snapshot';
import { requiredDemands } from '../../fleet/host-capacity';
import type { HostDomains } from '../../fleet/host-domains';
import type { HostState } from '../../fleet/host-state';
import type { RankHosts } from '../../ranking/ranked-hosts';
import type { RequestConstraints } from '../../ranking/request-constraints';
import type { EquivalenceClass } from '../../request/equivalence-class';

/** A kind of a gang that needs hosts, as it starts. */
export interface KindToPlace {
  readonly count: number;
  readonly equivalenceClass: EquivalenceClass;
  readonly constraints: RequestConstraints;
  readonly snapshot: FleetSnapshot;
  /** So many may be on one host, by the gang's group. */
  readonly mostOnHost: (index: number) => number;
}

/** Upper bound of the pieces of each kind that fit into a domain: each kind counted alone. */
export interface DomainRoom {
  readonly domain: string;
  readonly pieces: readonly number[];
  /** Pieces that are missing, over all kinds; 0 where each kind fits by itself. */
  readonly lacks: number;
  /** Pieces that would be left over. */
  readonly leftOver: number;
}

/**
 * The room of each domain for a gang. For one kind on hosts of one provider it is exact; several kinds take room from each
 * other, so that a domain with room for each may not have room for all.
 */
export function roomsIn({ byDomain }: HostDomains, kinds: readonly KindToPlace[], rankHosts: RankHosts): DomainRoom[] {
  const counts = kinds.map((kind) => countsByDomain(byDomain, kind, rankHosts));
  return [...byDomain.keys()].map((domain) => {
    const pieces = counts.map((ofKind) => ofKind.get(domain) ?? 0);
    const over = pieces.map((count, n) => count - (kinds[n]?.count ?? 0));
    const lacks = over.reduce((sum, count) => sum + Math.max(0, -count), 0);
    return { domain, pieces, lacks, leftOver: over.reduce((sum, count) => sum + Math.max(0, count), 0) };
  });
}

/** Domains where each kind fits, the fewest pieces left over first (Kueue's best fit); then the others, the least lacking first. */
export function bestFit(a: DomainRoom, b: DomainRoom): number {
  return a.lacks - b.lacks || a.leftOver - b.leftOver || (a.domain < b.domain ? -1 : 1);
}

function countsByDomain(
  byDomain: HostDomains['byDomain'],
  { equivalenceClass, constraints, snapshot, mostOnHost }: KindToPlace,
  rankHosts: RankHosts,
): ReadonlyMap<string, number> {
  const ranked = rankHosts(equivalenceClass, snapshot);
  const demands = requiredDemands(equivalenceClass);
  const counts = new Map<string, number>();
  for (const [domain, indexes] of byDomain) {
    let count = 0;
    for (const index of indexes) {
      if (!ranked.passes(index) || !constraints.allows(index)) continue;
      const host = snapshot.at(index) as HostState;
      count += Math.min(piecesOn(host, demands), mostOnHost(index));
    }
    counts.set(domain, count);
  }
  return counts;
}

function piecesOn({ free }: HostState, demands: ReturnType<typeof requiredDemands>): number {
  let pieces = Infinity;
  for (const { resourceClass, inAll } of demands) {
    pieces = Math.min(pieces, Math.floor((free[resourceClass] ?? 0) / inAll));
  }
  return pieces;
}
