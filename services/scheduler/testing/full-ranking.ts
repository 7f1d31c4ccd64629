import type { Prices } from '../demand/prices';
import type { HostState } from '../fleet/host-state';
import { CANDIDATES, FlatCandidates, needsSearch, noCandidate, searchOn } from '../ranking/candidates';
import { Judgement, type RankingSettings } from '../ranking/judgement';
import type { RankedHost } from '../ranking/ranked-host';
import type { RankHosts } from '../ranking/ranked-hosts';
import { RefusalCounts } from '../ranking/refusal-counts';

/**
 * Ranked hosts by definition: filter all hosts, search those that pass, weigh what is left, sort. What the incremental
 * ranks must agree with.
 */
export function fullRanking(settings: RankingSettings, prices: Prices): RankHosts {
  return (equivalenceClass, snapshot) => {
    const judgement = new Judgement(equivalenceClass, settings, prices);
    const flatCandidates = new FlatCandidates();
    const hosts: HostState[] = [];
    snapshot.hosts.forEach((_index, host) => hosts.push(host));
    const candidateOn = (host: HostState) =>
      needsSearch(equivalenceClass, host)
        ? searchOn(equivalenceClass, host)
        : flatCandidates.on(host, equivalenceClass);
    return {
      bestFirst(constraints, _random, isWanted = () => true) {
        const ranked: RankedHost[] = [];
        for (const host of hosts) {
          const passes = judgement.refusals(host).length === 0 && constraints.allows(host.index) && isWanted(host);
          const candidate = passes ? candidateOn(host) : undefined;
          // Ranks are kept as 32-bit numbers.
          const found = needsSearch(equivalenceClass, host) ? candidate?.preferred : undefined;
          const weight = Math.fround(judgement.weight(host, found)) + constraints.weight(host.index);
          if (candidate) ranked.push({ host, weight, candidate });
        }
        return ranked.sort((a, b) => b.weight - a.weight);
      },
      passes(index) {
        const host = snapshot.at(index);
        return host !== undefined && judgement.refusals(host).length === 0;
      },
      feasibility(constraints) {
        const refusals = new RefusalCounts();
        let feasibleCount = 0;
        for (const host of hosts) {
          const byFilters = judgement.refusals(host);
          const byConstraints = constraints.constraints.filter(
            ({ kind, hosts: named }) => named.has(host.index) !== (kind === 'only'),
          );
          refusals.add([...byFilters, ...byConstraints]);
          if (byFilters.length + byConstraints.length > 0) continue;
          if (candidateOn(host)) feasibleCount += 1;
          else refusals.add([{ filter: CANDIDATES, reason: noCandidate(equivalenceClass) }]);
        }
        return { hostCount: hosts.length, feasibleCount, refusals };
      },
    };
  };
}
