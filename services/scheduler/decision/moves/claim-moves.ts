import type { ClaimMovesResponse } from '#libs/contracts/moves';
import type { Destination, Move } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { seedOf } from '#libs/domain/random';
import { groupKey } from '#libs/domain/server-group';
import type { RefusedClaims } from '../../fleet/located-request';
import type { PendingClaim } from '../../fleet/pending-claims';
import { decideMoved } from '../../guarantee/decide-kept';
import type { ClassifiedSpec } from '../../request/equivalence-class';
import { besidesOf, catchUp, judgeCommit, writesOf } from '../claim';
import { completeRequest, type SelectRequest } from '../complete-request';
import type { Decision } from '../decide';
import { diagnoseRefusedClaims } from '../diagnose';
import { sealDestination } from '../seal-destination';
import type { Caller, SelectDeps } from '../select-destinations';

/** An instance that is to be moved, and what it is to be then. */
export interface AskedMove extends ClassifiedSpec {
  readonly instanceUuid: string;
  /** Undefined for an evacuation: the claim takes the place of the one on the dead host. */
  readonly move: Move | undefined;
}

/**
 * Claims a destination for each of some instances that are moved, all in one commit, or says where they would go. Each is decided by
 * the same filters and weighers as any request, as if those before were placed; the largest first, and one that finds no host is tried
 * before all others, once: a place that any would do for is then left to it. What they leave is not free before they have left. A host
 * that the commit refuses though the decision was not stale is left out from then on, as in `selectDestinations`.
 *
 * The members of an affinity group go together, to the first host that takes all of them; they are claimed as one, or not at all.
 *
 * Asked again for moves that are claimed it answers the same.
 *
 * @throws BerthError `aborted / claim_conflicts` after too many conflicts; `failed_precondition / claim_changed`,
 *   `/ foreign_consumer`, `/ migration_uuid_taken`; `deadline_exceeded / caller_left`; `unavailable`; what `completeRequest` throws.
 */
export async function claimMoves(
  asked: readonly AskedMove[],
  dryRun: boolean,
  caller: Caller,
  deps: SelectDeps,
): Promise<ClaimMovesResponse> {
  const { fleet, mirror, placement, clock, settings } = deps;
  // Another scheduler may have claimed a moving instance just now.
  await catchUp(deps, caller);
  const refusedClaims = new Map<number, string>();
  for (let conflicts = 0; conflicts < settings.claimAttempts; conflicts++) {
    if (caller.isAborted) throw new BerthError('deadline_exceeded', 'caller_left', 'the caller no longer waits');
    const admissionTurn = deps.guarantees.isActive && !dryRun ? await deps.takeTurn(caller) : undefined;
    const plan = planInSomeOrder(asked, deps, refusedClaims);
    if (plan.kind === 'refused') return plan.response;
    const toClaim = plan.moves.filter(({ decision }) => decision.toClaim.length > 0);
    if (dryRun || toClaim.length === 0) return { ...NONE, destinations: inOrderOf(asked, plan.moves, 0, deps) };
    const consumers = toClaim.flatMap(({ request, decision }) =>
      writesOf(
        { ...decision, picks: decision.toClaim, spec: { ...request.spec, ...request }, move: request.move },
        mirror,
      ),
    );
    const claims = toClaim.flatMap(({ decision }) => decision.toClaim.map(({ claim }) => claim));
    const decidedAtRevision = mirror.revision;
    fleet.count(claims);
    try {
      const terms = { kind: 'write_allocations', atMs: clock.now(), withinQuota: true, admissionTurn } as const;
      const picks = toClaim.flatMap(({ decision }) => decision.toClaim);
      const result = await placement.commit({ ...terms, consumers, besides: besidesOf(picks, mirror) });
      const specs = toClaim.map(({ request }) => request.spec);
      const claimed = await judgeCommit(result, { picks, specs, decidedAtRevision }, caller, deps);
      if (claimed.kind === 'claimed') {
        return { ...NONE, destinations: inOrderOf(asked, plan.moves, claimed.claimToken, deps) };
      }
      if (claimed.kind === 'contradicted') for (const [index, why] of claimed.hosts) refusedClaims.set(index, why);
    } finally {
      fleet.settle(claims);
    }
  }
  if (refusedClaims.size > 0) {
    const { hostCount } = fleet.snapshot(clock.now());
    const noValidHost = diagnoseRefusedClaims(refusedClaims, hostCount, settings.claimAttempts);
    return { ...NONE, noValidHost, refusedInstanceUuid: asked[0]?.instanceUuid ?? '' };
  }
  throw new BerthError('aborted', 'claim_conflicts', 'others took the hosts first each time; ask again');
}

const NONE = { destinations: [], noValidHost: undefined, refusedInstanceUuid: '' };

type Decided = Extract<Decision, { kind: 'decided' }>;

interface PlannedMove {
  readonly request: SelectRequest;
  readonly decision: Decided;
}

type Plan =
  | { readonly kind: 'planned'; readonly moves: readonly PlannedMove[] }
  | {
      readonly kind: 'refused';
      readonly refused: AskedMove;
      readonly response: ClaimMovesResponse;
      /** The host where others of its affinity group were placed, and it does not fit. */
      readonly tooSmall: UnfitHost | undefined;
    };

interface UnfitHost {
  readonly group: string;
  readonly index: number;
}

/** By affinity group: hosts that do not take all of it. */
type UnfitHosts = Map<string, Map<number, string>>;

/** So many hosts are tried for the affinity groups of one request. */
const MOST_UNFIT = 64;

/** Each may be the first once. */
function planInSomeOrder(asked: readonly AskedMove[], deps: SelectDeps, refusedClaims: RefusedClaims): Plan {
  let order = asked.toSorted((a, b) => sizeOf(b) - sizeOf(a) || (a.instanceUuid < b.instanceUuid ? -1 : 1));
  const wasFirst = new Set<AskedMove>(order.slice(0, 1));
  const unfit: UnfitHosts = new Map();
  for (let unfitCount = 0; ; ) {
    const plan = planEach(order, deps, refusedClaims, unfit);
    if (plan.kind === 'planned') return plan;
    const { refused, tooSmall } = plan;
    if (tooSmall && unfitCount < MOST_UNFIT) {
      unfitCount += 1;
      const known = unfit.get(tooSmall.group) ?? new Map<number, string>();
      unfit.set(tooSmall.group, known.set(tooSmall.index, 'not all members of its group fit there'));
      continue;
    }
    if (wasFirst.has(refused)) return plan;
    wasFirst.add(refused);
    order = [refused, ...order.filter((one) => one !== refused)];
  }
}

/** One after the other. Those before are held as on their way, so that the members of a group see one another. */
function planEach(
  order: readonly AskedMove[],
  deps: SelectDeps,
  refusedClaims: RefusedClaims,
  unfit: UnfitHosts,
): Plan {
  const { fleet, clock } = deps;
  const held: PendingClaim[] = [];
  const moves: PlannedMove[] = [];
  const requests = order.map((one) => requestOf(one, deps));
  const together = affinityGroups(requests);
  try {
    for (const [n, one] of order.entries()) {
      const group = affinityKeyOf(requests[n] as SelectRequest);
      const request = { ...(requests[n] as SelectRequest), together: together.get(group ?? '') };
      const refusing = new Map([...refusedClaims, ...(unfit.get(group ?? '') ?? [])]);
      const attempt = { nowMs: clock.now(), seed: seedOf(one.instanceUuid), refusedClaims: refusing };
      const decision = decideMoved(request, attempt, deps);
      if (decision.kind === 'refused') {
        const response = { destinations: [], noValidHost: decision.diagnosis, refusedInstanceUuid: one.instanceUuid };
        const beside = group === undefined ? undefined : held.find((claim) => claim.group === group);
        const tooSmall = beside && { group: beside.group ?? '', index: beside.hostIndex };
        return { kind: 'refused', refused: one, response, tooSmall };
      }
      const claims = decision.toClaim.map(({ claim }) => claim);
      fleet.hold(claims, decision.assumed);
      held.push(...claims);
      moves.push({ request, decision });
    }
    return { kind: 'planned', moves };
  } finally {
    fleet.settle(held);
    deps.guarantees.settle(
      moves.flatMap(({ request }) => request.instanceUuids),
      false,
    );
  }
}

/** Uuids of those that are asked for together, by affinity group. */
function affinityGroups(requests: readonly SelectRequest[]): ReadonlyMap<string, ReadonlySet<string>> {
  const groups = new Map<string, Set<string>>();
  for (const request of requests) {
    const key = affinityKeyOf(request);
    if (key === undefined) continue;
    const members = groups.get(key) ?? new Set();
    for (const uuid of request.instanceUuids) members.add(uuid);
    groups.set(key, members);
  }
  return groups;
}

function affinityKeyOf({ spec: { group, projectId } }: SelectRequest): string | undefined {
  return group?.policy === 'affinity' ? groupKey(projectId, group.id) : undefined;
}

function requestOf({ instanceUuid, move, ...asked }: AskedMove, { fleet }: SelectDeps): SelectRequest {
  // Priority, protection and end stay as the claim has them.
  const { priority, isProtected, endsAtMs } = fleet.view.consumer(instanceUuid) ?? {};
  const rank = {
    ...(priority === undefined ? {} : { priority }),
    ...(isProtected === undefined ? {} : { isProtected }),
    ...(endsAtMs === undefined ? {} : { endsAtMs }),
  };
  const about = { requestId: instanceUuid, instanceUuids: [instanceUuid], numAlternates: 0, move, ...rank };
  return { ...about, ...completeRequest(asked, fleet) };
}

function inOrderOf(
  asked: readonly AskedMove[],
  moves: readonly PlannedMove[],
  claimToken: number,
  { sealer }: SelectDeps,
): Destination[] {
  const byUuid = new Map(
    moves.map(({ request, decision: { destinations, spreadAmong } }): [string, Destination[]] => {
      const seal = sealDestination({ ...request.spec, ...request }, spreadAmong, sealer);
      return [request.instanceUuids[0] ?? '', destinations.map((one) => seal(one, claimToken))];
    }),
  );
  return asked.flatMap(({ instanceUuid }) => byUuid.get(instanceUuid) ?? []);
}

function sizeOf({ spec }: AskedMove): number {
  return Object.values(spec.resources).reduce((sum, amount) => sum + amount, 0);
}
