import type { Clock } from '#libs/domain/clock';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { findCandidatesInTurns, type SearchAids } from '#libs/placement/search/find-candidates';
import { type Candidate, type CandidateQuery, MAX_STEPS_PER_ROOT } from '#libs/placement/search/query';
import { turnsBy } from '#libs/placement/search/turns';
import { groupBy } from '#libs/runtime/group-by';
import type { NovaFacts, NovaNode } from '../facts/nova-facts';
import type { HostVerdicts } from './host-verdicts';
import { type Refusals } from './refusals';
import { whyNoCandidate } from './why-no-candidate';

/** Nodes on which something can be claimed, each with the ways to do it. */
export interface FoundHosts {
  readonly hosts: readonly { readonly node: NovaNode; readonly candidates: readonly Candidate[] }[];
  /** Roots of candidates that are no compute node that Nova's API told of. */
  readonly unknownRoots: readonly string[];
}

/** A request of many instances may put several on a host that has several providers to choose from. */
const MOST_PER_HOST = 8;

/** Dependencies of the search for hosts. */
export interface FindDeps {
  readonly view: PlacementView;
  readonly facts: NovaFacts;
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
  { view, facts, aids, clock, maxSearchSteps: maxSteps }: FindDeps,
): Promise<FoundHosts> {
  const limit = Math.max(1, view.providerCount) * Math.min(instanceCount, MOST_PER_HOST);
  const options = { limit, maxSteps, maxStepsPerRoot: Math.min(maxSteps, MAX_STEPS_PER_ROOT) };
  const candidates: Candidate[] = [];
  for (const query of queries) {
    const found = await findCandidatesInTurns(view, query, options, { ...aids, ...turnsBy(clock) });
    candidates.push(...found.candidates);
  }
  const hosts: { node: NovaNode; candidates: Candidate[] }[] = [];
  const unknownRoots: string[] = [];
  for (const [root, ofRoot] of groupBy(candidates, ({ rootUuid }) => rootUuid)) {
    const node = facts.node(root);
    if (node === undefined) unknownRoots.push(root);
    else hosts.push({ node, candidates: ofRoot });
  }
  return { hosts, unknownRoots };
}

/** Counts the nodes on which nothing can be claimed, by why; tells each where verdicts are taken. */
export function explainNoCandidates(
  query: CandidateQuery,
  found: FoundHosts,
  { view, facts }: { readonly view: PlacementView; readonly facts: NovaFacts },
  refusals: Refusals,
  verdicts?: HostVerdicts,
): void {
  const has = new Set(found.hosts.map(({ node }) => node.uuid));
  for (const node of facts.nodes()) {
    if (has.has(node.uuid)) continue;
    const why = whyNoCandidate(query, node, view);
    refusals.add('placement', why);
    verdicts?.refuse(node.uuid, node.host, 'placement', why);
  }
}
