import type { Clock } from '#libs/domain/clock';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { findCandidatesInTurns, type SearchAids } from '#libs/placement/search/find-candidates';
import { type Candidate, type CandidateQuery, MAX_STEPS_PER_ROOT } from '#libs/placement/search/query';
import { turnsBy } from '#libs/placement/search/turns';
import type { NovaFacts } from '../facts/nova-facts';
import type { RefusalSinks } from './host-verdicts';
import type { KnownHost, KnownHosts } from './known-hosts';
import { whyNoCandidate } from './why-no-candidate';

/** Nodes on which something can be claimed, each with the ways to do it. */
export interface FoundHosts {
  readonly hosts: readonly { readonly known: KnownHost; readonly candidates: readonly Candidate[] }[];
  /** Roots of candidates that are no compute node that Nova's API told of. */
  readonly unknownRoots: readonly string[];
}

/** A request of many instances may put several on a host that has several providers to choose from. */
const MOST_PER_HOST = 8;

/** Dependencies of the search for hosts. */
export interface FindDeps {
  readonly view: PlacementView;
  readonly knownHosts: Pick<KnownHosts, 'of'>;
  readonly aids: SearchAids;
  readonly clock: Pick<Clock, 'elapsed'>;
  /** Providers tried for one query, at most. */
  readonly maxSearchSteps: number;
}

/**
 * Allocation candidates of the queries, by node; those of an earlier query come first. A long search leaves others their turn, so a
 * candidate may be older than the view: the commit of its claim finds that.
 */
export async function findHosts(
  queries: readonly CandidateQuery[],
  instanceCount: number,
  { view, knownHosts, aids, clock, maxSearchSteps: maxSteps }: FindDeps,
): Promise<FoundHosts> {
  const limit = Math.max(1, view.providerCount) * Math.min(instanceCount, MOST_PER_HOST);
  const options = { limit, maxSteps, maxStepsPerRoot: Math.min(maxSteps, MAX_STEPS_PER_ROOT) };
  const hosts: { readonly known: KnownHost; readonly candidates: Candidate[] }[] = [];
  const unknownRoots: string[] = [];
  const add = (candidate: Candidate): Candidate[] => {
    const candidates = [candidate];
    const known = knownHosts.of(candidate.rootUuid);
    if (known === undefined) unknownRoots.push(candidate.rootUuid);
    else hosts.push({ known, candidates });
    return candidates;
  };
  let byRoot: Map<string, Candidate[]> | undefined;
  for (const query of queries) {
    const { candidates, rootCount } = await findCandidatesInTurns(view, query, options, {
      ...aids,
      ...turnsBy(clock),
    });
    // Most requests find one way for each host: nothing is looked up by root then.
    const isFirst = hosts.length + unknownRoots.length === 0;
    const firstCount = isFirst ? rootCount : 0;
    for (let i = 0; i < firstCount; i++) add(candidates[i] as Candidate);
    for (const candidate of candidates.slice(firstCount)) {
      byRoot ??= new Map(hosts.map((host) => [host.known.node.uuid, host.candidates]));
      const known = byRoot.get(candidate.rootUuid);
      if (known === undefined) byRoot.set(candidate.rootUuid, add(candidate));
      else known.push(candidate);
    }
  }
  return { hosts, unknownRoots: [...new Set(unknownRoots)] };
}

/** Counts the nodes on which nothing can be claimed, by why; tells each where verdicts are taken. */
export function explainNoCandidates(
  query: CandidateQuery,
  found: FoundHosts,
  { view, facts }: { readonly view: PlacementView; readonly facts: NovaFacts },
  { refusals, verdicts }: RefusalSinks,
): void {
  const has = new Set(found.hosts.map(({ known }) => known.node.uuid));
  for (const node of facts.nodes()) {
    if (has.has(node.uuid)) continue;
    const why = whyNoCandidate(query, node, view);
    refusals.add('placement', why);
    verdicts?.refuse(node.uuid, node.host, 'placement', why);
  }
}
