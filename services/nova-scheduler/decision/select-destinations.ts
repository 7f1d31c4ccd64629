import type { Clock } from '#libs/domain/clock';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { type Random, randomInt, seededRandom, seedOf } from '#libs/domain/random';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { SearchAids } from '#libs/placement/search/find-candidates';
import type { CandidateQuery } from '#libs/placement/search/query';
import { counted } from '#libs/runtime/counted';
import { claimElsewhere, type Elsewhere, type ShownHoldings, stillHeld } from '../elsewhere/claim-elsewhere';
import type { FactKind, NovaFacts, NovaNode } from '../facts/nova-facts';
import { metadataOf } from '../filters/aggregates';
import { numaTopologyFilter } from '../filters/hardware';
import type { HostHardware } from '../hardware/host-hardware';
import type { WantedHardware } from '../hardware/wanted-hardware';
import type { NumaLimits, Selection } from '../objects/selection';
import { candidateQueryOf, type QuerySettings } from '../request/candidate-query';
import { wantsPinning } from '../request/hardware-wishes';
import { NoHost } from '../request/no-host';
import type { NovaRequest } from '../request/nova-request';
import { allocationRequestOf, type Claimed, claimAll, type InstanceClaim } from './claim';
import { explainNoCandidates, type FoundHosts, findHosts } from './find-hosts';
import type { HardwareOverlay } from './hardware-overlay';
import { heldClaims } from './held-claims';
import { HostVerdicts } from './host-verdicts';
import type { KnownHosts } from './known-hosts';
import { type Pick, type Placed, type PlaceResult, type PlaceSettings, placeInstances } from './place-instances';
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
  readonly knownHosts: KnownHosts;
  /** Claims on their way, of all calls of this process. */
  readonly inFlight: UsageOverlay;
  /** Hardware that instances got and Nova's database does not tell yet, of all calls of this process. */
  readonly hardware: HardwareOverlay;
  readonly settings: SelectSettings;
  /** Where placement is not Berth's, and the mirror that of a copy of it. */
  readonly elsewhere?: Elsewhere | undefined;
  readonly recorder?: NovaDecisionRecorder | undefined;
}

/** Writes down what decisions follow from, and what came of each. */
export interface NovaDecisionRecorder {
  decided(attempt: Attempt, seed: number, result: PlaceResult): void;
  /** Claims are on their way, each with hardware. Returns their number. */
  hold(claims: readonly InstanceClaim[], hardware: WantedHardware): number;
  settle(id: number, isClaimed: boolean): void;
}

export interface Asked {
  readonly request: NovaRequest;
  /** Undefined from callers before version 4.4, for which nothing is claimed. */
  readonly instanceUuids: readonly string[] | undefined;
  readonly withAlternates: boolean;
  /** Nova's, a uuid. */
  readonly requestId?: string | undefined;
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
    const { placed, shown, ...basis } = await place({ ...asked, places, refusedRoots }, random, deps);
    const claimed = asked.isDryRun ? NOTHING_TO_CLAIM : await claimPlaced(placed, asked.request, shown, deps);
    if (claimed.kind === 'claimed') {
      const selections = placed.map(({ pick, alternates }) =>
        [pick, ...alternates].map((one) => selectionOf(one, asked.request, deps)),
      );
      return { selections, conflicts, placed, ...basis };
    }
    if (claimed.refusedRoot !== undefined) refusedRoots.add(claimed.refusedRoot);
  }
  throw new NoHost(`Others took the hosts first, ${settings.claimAttempts + 1} times in a row; try again.`);
}

/** Seeds of decisions. */
const SEEDS = 2 ** 32;

const NOTHING_TO_CLAIM: Claimed = { kind: 'claimed' };

/** An instance for each place; undefined for those of a caller that names none. */
function placesOf({ request, instanceUuids }: Asked): readonly (string | undefined)[] {
  return instanceUuids ?? Array.from({ length: request.spec.num_instances ?? 1 }, () => undefined);
}

export interface Attempt extends Asked {
  readonly places: readonly (string | undefined)[];
  /** Hosts that the store refused though the mirror shows no reason. */
  readonly refusedRoots: ReadonlySet<string>;
}

/** Decides on the mirror as it is; once more when Nova has hosts that were not known. @throws NoHost */
async function place(
  attempt: Attempt,
  random: Random,
  deps: SelectDeps,
): Promise<DecisionBasis & { placed: readonly Placed[]; shown: ShownHoldings }> {
  const first = await decide(attempt, randomInt(random, SEEDS), deps);
  const isDecided = first.result.kind === 'placed' || first.found.unknownRoots.length === 0;
  if (!isDecided) await deps.refresh('nodes');
  const last = isDecided ? first : await decide(attempt, randomInt(random, SEEDS), deps);
  const { result, queries, found, ...basis } = last;
  const refusals = result.kind === 'placed' ? new Refusals() : result.refusals;
  const [query] = queries;
  if (query !== undefined && (result.kind === 'refused' || attempt.isDryRun))
    explainNoCandidates(query, found, { ...deps, view: deps.mirror }, { refusals, ...basis });
  if (result.kind === 'placed') return { placed: result.placed, ...basis };
  const { placedCount } = result;
  const before = `${placedCount} of ${attempt.places.length} instances found a host; for the next: `;
  const why = refusals.isEmpty ? 'Nova has no compute nodes' : refusals.toText();
  const reason = `${placedCount > 0 ? before : ''}${counted(deps.facts.nodeCount, 'host')}: ${why}.`;
  throw new NoHost(reason, { filters: refusals.toFilters(), verdicts: basis.verdicts });
}

/** One decision, claiming nothing: the same inputs have the same result. */
export async function decide(attempt: Attempt, seed: number, deps: SelectDeps) {
  const { request, instanceUuids, places, withAlternates, refusedRoots, isObserved, isDryRun = false } = attempt;
  const { settings, mirror: view, facts, inFlight, hardware } = deps;
  const claims = !request.isRebuild && instanceUuids !== undefined;
  const queries = request.isRebuild ? [] : queriesOf(request, deps);
  const found = await hostsFor({ request, places, refusedRoots }, queries, deps);
  const keeps = claims && !isDryRun;
  const shown = new Map((instanceUuids ?? []).map((uuid) => [uuid, view.consumer(uuid)?.allocations ?? {}]));
  const heldHere = keeps ? heldClaims(request, instanceUuids, queries, { view, facts }) : new Map<string, Pick>();
  const held = deps.elsewhere ? await stillHeld(heldHere, deps.elsewhere.client) : heldHere;
  const alternateCount = withAlternates && claims ? settings.maxAttempts - 1 : 0;
  // Without a claim the search only tells which hosts have capacity.
  const hosts = claims ? found.hosts : found.hosts.map(({ known }) => ({ known, candidates: [] }));
  const { revision } = view;
  const verdicts = isObserved ? new HostVerdicts() : undefined;
  const awaitedOn = deps.elsewhere?.awaited.roots;
  const from = { request, instanceUuids: places, hosts, held, alternateCount, verdicts, awaitedOn };
  const result = placeInstances({ ...from, view, facts, inFlight, hardware }, seededRandom(seed), settings);
  deps.recorder?.decided(attempt, seed, result);
  return { result, queries, found, revision, verdicts, shown };
}

async function claimPlaced(
  placed: readonly Placed[],
  request: NovaRequest,
  shown: ShownHoldings,
  deps: SelectDeps,
): Promise<Claimed> {
  const { clock, settings, inFlight, hardware, facts, placement, mirror, elsewhere, recorder } = deps;
  const claims = placed.flatMap(({ instanceUuid, pick: { candidate }, isHeld }) =>
    isHeld || instanceUuid === undefined || candidate === undefined ? [] : { instanceUuid, candidate },
  );
  if (claims.length === 0) return NOTHING_TO_CLAIM;
  const { catchUpMs, filters } = settings;
  for (const { candidate } of claims) {
    inFlight.add(candidate.allocations);
    hardware.take(candidate.rootUuid, facts.hardware(candidate.rootUuid), request.hardware, settings);
  }
  const heldId = recorder?.hold(claims, request.hardware);
  let isClaimed = false;
  try {
    const nowMs = () => clock.now();
    const claimed = elsewhere
      ? await claimElsewhere(claims, request, shown, { ...elsewhere, mirror, clock, catchUpMs })
      : await claimAll(claims, request, { placement, mirror, catchUpMs, filters, nowMs });
    isClaimed = claimed.kind === 'claimed';
    return claimed;
  } finally {
    for (const { candidate } of claims) {
      inFlight.add(candidate.allocations, -1);
      if (!isClaimed) hardware.forget(candidate.rootUuid);
    }
    if (heldId !== undefined) recorder?.settle(heldId, isClaimed);
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
  { request, places, refusedRoots }: Omit<Attempt, 'instanceUuids' | 'withAlternates'>,
  queries: readonly CandidateQuery[],
  { mirror: view, facts, knownHosts, aids, clock, settings }: SelectDeps,
): Promise<FoundHosts> {
  if (request.isRebuild) {
    const all = [...facts.nodes()].flatMap(({ uuid }) => knownHosts.of(uuid) ?? []);
    return { hosts: all.map((known) => ({ known, candidates: [] })), unknownRoots: [] };
  }
  const { maxSearchSteps } = settings;
  const found = await findHosts(queries, places.length, { view, knownHosts, aids, clock, maxSearchSteps });
  if (refusedRoots.size === 0) return found;
  return { ...found, hosts: found.hosts.filter(({ known }) => !refusedRoots.has(known.node.uuid)) };
}

function selectionOf({ node, candidate }: Pick, request: NovaRequest, { facts, settings }: SelectDeps): Selection {
  const aggregates = facts.aggregatesOf(node.host);
  const [zone = settings.defaultAvailabilityZone] = metadataOf({ aggregates }, ZONE_KEY);
  return {
    computeNodeUuid: node.uuid,
    serviceHost: node.host,
    nodename: node.nodename,
    cellUuid: node.cellUuid ?? '',
    allocationRequest: candidate && allocationRequestOf(candidate),
    availabilityZone: zone,
    numaLimits: numaLimitsOf(facts.hardware(node.uuid), request, settings),
  };
}

/** Limits that nova-compute fits by when it claims; none where it is not asked for NUMA nodes, or nobody looked at them. */
function numaLimitsOf(
  hardware: HostHardware | undefined,
  { hardware: { topology } }: NovaRequest,
  { filters }: SelectSettings,
): NumaLimits | undefined {
  if (hardware === undefined || topology === undefined || !filters.includes(numaTopologyFilter)) return undefined;
  const { cpuAllocationRatio, ramAllocationRatio } = hardware;
  return { cpuAllocationRatio, ramAllocationRatio, networks: topology.networks };
}
