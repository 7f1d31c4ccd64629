import type { Clock } from '#libs/domain/clock';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { type Random, seededRandom, seedOf } from '#libs/domain/random';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { SearchAids } from '#libs/placement/search/find-candidates';
import type { CandidateQuery } from '#libs/placement/search/query';
import { counted } from '#libs/runtime/counted';
import type { FactKind, NovaFacts, NovaNode } from '../facts/nova-facts';
import { metadataOf } from '../filters/aggregates';
import type { Selection } from '../objects/selection';
import { candidateQueryOf, type QuerySettings } from '../request/candidate-query';
import { wantsPinning } from '../request/hardware-wishes';
import { NoHost } from '../request/no-host';
import type { NovaRequest } from '../request/nova-request';
import { allocationRequestOf, type Claimed, claimAll } from './claim';
import { explainNoCandidates, type FoundHosts, findHosts } from './find-hosts';
import { heldClaims } from './held-claims';
import type { FreeAmounts } from './host-state';
import { HostVerdicts } from './host-verdicts';
import { type Pick, type Placed, type PlaceSettings, placeInstances } from './place-instances';
import { Refusals } from './refusals';
import type { UsageOverlay } from './usage-overlay';

export interface SelectSettings extends PlaceSettings, QuerySettings {
  /** Limit of further decisions when others took the hosts first. */
  readonly claimAttempts: number;
  /** Nova's `[scheduler] max_attempts`: a host and its alternates. */
  readonly maxAttempts: number;
  readonly catchUpMs: number;
  /** Providers tried for one query, at most. */
  readonly maxSearchSteps: number;
  /** True when pinned processors may be VCPU of hosts without PCPU (not `disable_fallback_pcpu_query`). */
  readonly fallbackPcpuQuery: boolean;
}

export interface SelectDeps {
  readonly clock: Clock;
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly facts: NovaFacts;
  readonly refresh: (kind: FactKind) => Promise<void>;
  readonly aids: SearchAids;
  readonly freeAmounts: (rootUuid: string) => FreeAmounts;
  /** Claims on their way, of all calls of this process. */
  readonly inFlight: UsageOverlay;
  readonly settings: SelectSettings;
}

export interface Asked {
  readonly request: NovaRequest;
  /** Undefined from callers before version 4.4, for which nothing is claimed. */
  readonly instanceUuids: readonly string[] | undefined;
  readonly withAlternates: boolean;
  /** Decide, as if nothing were held, and claim nothing. */
  readonly isDryRun?: boolean;
  /** Take the verdict on each host: the decision is recorded, or compared. */
  readonly isObserved?: boolean;
}

/** A host and its alternates for each instance, and what it took. */
export interface Selected extends DecisionBasis {
  readonly selections: readonly (readonly Selection[])[];
  readonly conflicts: number;
  readonly placed: readonly Placed[];
}

/** The basis of a decision. */
export interface DecisionBasis {
  /** The mirror's. */
  readonly revision: number;
  /** Undefined where nobody observes. */
  readonly verdicts: HostVerdicts | undefined;
}

/**
 * Selects a host for each instance of a request, claims all of them in one commit, and names alternates.
 *
 * Like Berth's own scheduler, it decides in one synchronous piece on a mirror that may be stale, the commit checks it, and after a
 * conflict everything is decided again on what was learned. Where nothing is claimed (a rebuild, a caller that names no instances) the
 * decision is the answer.
 *
 * @throws NoHost with the diagnosis; RemoteError `AllocationUpdateFailed`; BerthError `unavailable`
 */
export async function selectDestinations(asked: Asked, deps: SelectDeps): Promise<Selected> {
  const { settings } = deps;
  const places = placesOf(asked);
  const random = seededRandom(seedOf(places.join() || 'none'));
  const refusedRoots = new Set<string>();
  for (let conflicts = 0; conflicts <= settings.claimAttempts; conflicts++) {
    const { placed, ...basis } = await place({ ...asked, places, refusedRoots }, random, deps);
    const claimed = asked.isDryRun ? NOTHING_TO_CLAIM : await claimPlaced(placed, asked.request, deps);
    if (claimed.kind === 'claimed') {
      const selections = placed.map(({ pick, alternates }) =>
        [pick, ...alternates].map((one) => selectionOf(one, deps)),
      );
      return { selections, conflicts, placed, ...basis };
    }
    if (claimed.refusedRoot !== undefined) refusedRoots.add(claimed.refusedRoot);
  }
  throw new NoHost(`Others took the hosts first, ${settings.claimAttempts + 1} times in a row; try again.`);
}

const NOTHING_TO_CLAIM: Claimed = { kind: 'claimed' };

/** An instance for each place; undefined for those of a caller that names none. */
function placesOf({ request, instanceUuids }: Asked): readonly (string | undefined)[] {
  return instanceUuids ?? Array.from({ length: request.spec.num_instances ?? 1 }, () => undefined);
}

interface Attempt extends Asked {
  readonly places: readonly (string | undefined)[];
  /** Hosts that the store refused though the mirror shows no reason. */
  readonly refusedRoots: ReadonlySet<string>;
}

/** Decides on the mirror as it is; once more when Nova has hosts that were not known. @throws NoHost */
async function place(
  attempt: Attempt,
  random: Random,
  deps: SelectDeps,
): Promise<DecisionBasis & { placed: readonly Placed[] }> {
  const first = await decide(attempt, random, deps);
  const isDecided = first.result.kind === 'placed' || first.found.unknownRoots.length === 0;
  if (!isDecided) await deps.refresh('nodes');
  const last = isDecided ? first : await decide(attempt, random, deps);
  const { result, queries, found, ...basis } = last;
  const refusals = result.kind === 'placed' ? new Refusals() : result.refusals;
  const [query] = queries;
  if (query !== undefined && (result.kind === 'refused' || attempt.isDryRun))
    explainNoCandidates(query, found, { ...deps, view: deps.mirror }, refusals, basis.verdicts);
  if (result.kind === 'placed') return { placed: result.placed, ...basis };
  const { placedCount } = result;
  const before = `${placedCount} of ${attempt.places.length} instances found a host; for the next: `;
  const why = refusals.isEmpty ? 'Nova has no compute nodes' : refusals.toText();
  const reason = `${placedCount > 0 ? before : ''}${counted(deps.facts.nodeCount, 'host')}: ${why}.`;
  throw new NoHost(reason, { filters: refusals.toFilters(), verdicts: basis.verdicts });
}

async function decide(
  { request, instanceUuids, places, withAlternates, refusedRoots, isObserved, isDryRun = false }: Attempt,
  random: Random,
  deps: SelectDeps,
) {
  const { settings, mirror: view, facts, inFlight, freeAmounts } = deps;
  const claims = !request.isRebuild && instanceUuids !== undefined;
  const queries = request.isRebuild ? [] : queriesOf(request, deps);
  const found = await hostsFor(request, queries, places.length, refusedRoots, deps);
  const keeps = claims && !isDryRun;
  const held = keeps ? heldClaims(request, instanceUuids, queries, { view, facts }) : new Map<string, Pick>();
  const alternateCount = withAlternates && claims ? settings.maxAttempts - 1 : 0;
  // Without a claim the search only tells which hosts have capacity.
  const hosts = claims ? found.hosts : found.hosts.map(({ node }) => ({ node, candidates: [] }));
  const { revision } = view;
  const verdicts = isObserved ? new HostVerdicts() : undefined;
  const from = { request, instanceUuids: places, hosts, held, alternateCount, verdicts };
  const result = placeInstances({ ...from, view, facts, inFlight, freeAmounts }, random, settings);
  return { result, queries, found, revision, verdicts };
}

async function claimPlaced(placed: readonly Placed[], request: NovaRequest, deps: SelectDeps): Promise<Claimed> {
  const { clock, settings, inFlight } = deps;
  const claims = placed.flatMap(({ instanceUuid, pick: { candidate }, isHeld }) =>
    isHeld || instanceUuid === undefined || candidate === undefined ? [] : { instanceUuid, candidate },
  );
  if (claims.length === 0) return NOTHING_TO_CLAIM;
  for (const { candidate } of claims) inFlight.add(candidate.allocations);
  try {
    return await claimAll(claims, request, { ...deps, ...settings, nowMs: () => clock.now() });
  } finally {
    for (const { candidate } of claims) inFlight.add(candidate.allocations, -1);
  }
}

/** The queries of a request: where it wants processors of its own, first for PCPU and then for VCPU. */
function queriesOf(request: NovaRequest, { facts, settings }: SelectDeps): CandidateQuery[] {
  const inTree = requestedNode(request, facts)?.uuid;
  const aggregates = facts.aggregates();
  const query = (isPinningTranslated: boolean) =>
    candidateQueryOf(request, { aggregates, inTree, settings, isPinningTranslated });
  const isFallback = settings.fallbackPcpuQuery && wantsPinning(request);
  return isFallback ? [query(true), query(false)] : [query(true)];
}

/** The one node that a request names by destination or force; undefined when it names none, or a host of several. */
function requestedNode({ spec }: NovaRequest, facts: NovaFacts): NovaNode | undefined {
  const host = spec.requested_destination?.host ?? spec.force_hosts?.[0];
  const node = spec.requested_destination?.node ?? spec.force_nodes?.[0];
  if (host === undefined && node === undefined) return undefined;
  const candidates = host === undefined ? [...facts.nodes()] : facts.nodesOf(host);
  const nodes = candidates.filter(({ nodename }) => node === undefined || nodename === node);
  if (nodes.length === 0) throw new NoHost(`No such host - host: ${host ?? 'None'} node: ${node ?? 'None'}`);
  return nodes.length === 1 ? nodes[0] : undefined;
}

async function hostsFor(
  request: NovaRequest,
  queries: readonly CandidateQuery[],
  count: number,
  refusedRoots: ReadonlySet<string>,
  { mirror: view, facts, aids, clock, settings }: SelectDeps,
): Promise<FoundHosts> {
  if (request.isRebuild) {
    return { hosts: [...facts.nodes()].map((node) => ({ node, candidates: [] })), unknownRoots: [] };
  }
  const found = await findHosts(queries, count, { view, facts, aids, clock, maxSearchSteps: settings.maxSearchSteps });
  return { ...found, hosts: found.hosts.filter(({ node }) => !refusedRoots.has(node.uuid)) };
}

function selectionOf({ node, candidate }: Pick, { facts, settings }: SelectDeps): Selection {
  const aggregates = facts.aggregatesOf(node.host);
  const [zone = settings.defaultAvailabilityZone] = metadataOf({ aggregates }, ZONE_KEY);
  return {
    computeNodeUuid: node.uuid,
    serviceHost: node.host,
    nodename: node.nodename,
    cellUuid: node.cellUuid ?? '',
    allocationRequest: candidate && allocationRequestOf(candidate),
    availabilityZone: zone,
  };
}
