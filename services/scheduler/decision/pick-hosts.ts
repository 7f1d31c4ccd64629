import { type Random, randomInt } from '#libs/domain/random';
import type { Candidate } from '#libs/placement/search/query';
import type { Pricing } from '../demand/pricing';
import type { Fleet } from '../fleet/fleet';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import type { PendingClaim } from '../fleet/pending-claims';
import { type HostCandidate, needsSearch, requiredOn, searchOn } from '../ranking/candidates';
import type { RankedHost } from '../ranking/ranked-host';
import type { RankHosts } from '../ranking/ranked-hosts';
import type { RequestConstraints } from '../ranking/request-constraints';
import { type EquivalenceClass, forBatch, withoutPreferred } from '../request/equivalence-class';
import type { SelectSettings } from '../settings';

/** A host, and what an instance takes there. */
export interface HostForInstance {
  readonly host: HostState;
  readonly candidate: Candidate;
  /** For an alternate with preferred resources: the claim there without them. */
  readonly required?: Candidate | undefined;
}

/** A host picked for an instance, and the claim to be made for it. */
export interface PickedHost extends HostForInstance {
  readonly candidate: HostCandidate;
  readonly instanceUuid: string;
  readonly claim: PendingClaim;
}

/** The fleet, and what the request asks of it, as of the picks made so far. */
interface Assumed {
  readonly snapshot: FleetSnapshot;
  readonly constraints: RequestConstraints;
}

/** A host for each instance; or, when one finds none, the picks made before. */
export interface Picks extends Assumed {
  readonly kind: 'picked' | 'refused';
  readonly picks: readonly PickedHost[];
}

/** Settings of one request by which hosts are picked. */
export interface Picking extends Pick<DecisionParts, 'rankHosts' | 'settings'> {
  readonly equivalenceClass: EquivalenceClass;
  /** The key of the request's group, if it has one. */
  readonly group: string | undefined;
  readonly random: Random;
}

/** Hosts are drawn among the best as long as they weigh no less than the best by this: a tenth of one usual weight. */
const NEARLY = 0.1;

/**
 * Picks a host for each instance, batch by batch, each as if those before were placed. What instances prefer never refuses
 * another of the request its host: when it would, none of it is taken.
 */
export function pickHosts(instanceUuids: readonly string[], start: Assumed, picking: Picking): Picks {
  const picks = pickEach(instanceUuids, start, picking);
  const hasTaken = picks.picks.some(({ candidate }) => candidate.preferred.length > 0);
  if (picks.kind === 'picked' || !hasTaken) return picks;
  return pickEach(instanceUuids, start, requiredOnly(picking));
}

function requiredOnly(picking: Picking): Picking {
  return { ...picking, equivalenceClass: withoutPreferred(picking.equivalenceClass) };
}

function pickEach(instanceUuids: readonly string[], start: Assumed, picking: Picking): Picks {
  const { equivalenceClass, rankHosts, settings, random } = picking;
  const picks: PickedHost[] = [];
  let assumed = start;
  while (picks.length < instanceUuids.length) {
    const batch = instanceUuids.slice(picks.length, picks.length + equivalenceClass.batchSize);
    const ranked = rankHosts(equivalenceClass, assumed.snapshot).bestFirst(assumed.constraints, random);
    const placed = placeBatch(batch, drawn(ranked, settings.hostSubsetSize, random), assumed, picking);
    if (!placed) return { kind: 'refused', picks, ...assumed };
    picks.push(...placed.picks);
    assumed = { snapshot: placed.snapshot, constraints: placed.constraints };
  }
  return { kind: 'picked', picks, ...assumed };
}

/** Hosts best first, but each drawn among the best few that weigh nearly the same, so that schedulers part. */
function* drawn(ranked: Iterable<RankedHost>, subsetSize: number, random: Random): Generator<RankedHost> {
  const rest = ranked[Symbol.iterator]();
  const best: RankedHost[] = [];
  let ahead: RankedHost | undefined;
  for (;;) {
    while (best.length < subsetSize) {
      ahead ??= rest.next().value as RankedHost | undefined;
      if (!ahead || ahead.weight < (best[0] ?? ahead).weight - NEARLY) break;
      best.push(ahead);
      ahead = undefined;
    }
    const [host] = best.splice(randomInt(random, best.length), 1);
    if (!host) return;
    yield host;
  }
}

interface BatchPlaced extends Assumed {
  readonly picks: readonly PickedHost[];
}

/** Places a whole batch on the first host that can take all of it. */
function placeBatch(
  batch: readonly string[],
  hosts: Iterable<RankedHost>,
  assumed: Assumed,
  picking: Picking,
): BatchPlaced | undefined {
  for (const host of hosts) {
    const placed = placeOn(host, batch, assumed, picking);
    if (placed) return placed;
  }
  return undefined;
}

/** With what the instances prefer; without it when that leaves no room for what others of the batch require. */
function placeOn(
  ranked: RankedHost,
  batch: readonly string[],
  assumed: Assumed,
  picking: Picking,
): BatchPlaced | undefined {
  const placed = placeEach(ranked, batch, assumed, picking);
  if (placed || ranked.candidate.preferred.length === 0) return placed;
  const { host } = ranked;
  const candidate = requiredOn(picking.equivalenceClass, host);
  return candidate && placeEach({ host, candidate }, batch, assumed, requiredOnly(picking));
}

function placeEach(
  { host: { index }, candidate: first }: Pick<RankedHost, 'host' | 'candidate'>,
  batch: readonly string[],
  { snapshot: before, constraints }: Assumed,
  { equivalenceClass, group }: Picking,
): BatchPlaced | undefined {
  const picks: PickedHost[] = [];
  let snapshot = before;
  for (const instanceUuid of batch) {
    const host = snapshot.at(index) as HostState;
    // Earlier instances may have taken the candidate that was found first.
    const isFirst = picks.length === 0 || !needsSearch(equivalenceClass, host);
    const candidate = isFirst ? first : searchOn(forBatch(equivalenceClass, 1), host);
    if (!candidate) return undefined;
    const { rootUuid, allocations } = candidate;
    const claim = { consumerUuid: instanceUuid, hostIndex: index, rootUuid, allocations, group };
    picks.push({ instanceUuid, host, candidate, claim });
    snapshot = snapshot.assume(claim);
  }
  return { picks, snapshot, constraints: constraints.withMembers(index, batch.length) };
}

/** Prices of capacity, and the demand that they follow from. */
export type PricesInUse = Pick<Pricing, 'prices' | 'asked' | 'of'>;

/** Dependencies of a decision. */
export interface DecisionParts {
  readonly fleet: Fleet;
  readonly pricing: PricesInUse;
  readonly rankHosts: RankHosts;
  readonly settings: SelectSettings;
  /** True while successful decisions are recorded. */
  readonly keepsSelected: () => boolean;
}
