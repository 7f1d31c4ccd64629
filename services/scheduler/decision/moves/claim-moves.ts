import type { ClaimMovesResponse, Destination, Move } from '#libs/contracts/messages';
import { BerthError } from '#libs/domain/errors';
import { seededRandom, seedOf } from '#libs/domain/random';
import type { RefusedClaims } from '../../fleet/located-request';
import type { PendingClaim } from '../../fleet/pending-claims';
import type { ClassifiedSpec } from '../../request/equivalence-class';
import { catchUp, judgeCommit, writesOf } from '../claim';
import { completeRequest } from '../complete-request';
import { type Decision, decide, type SelectRequest } from '../decide';
import { diagnoseRefusedClaims } from '../diagnose';
import { sealDestination } from '../seal-destination';
import type { Caller, SelectDeps } from '../select-destinations';

/** An instance that is to be moved, and what it is to be then. */
export interface AskedMove extends ClassifiedSpec {
  readonly instanceUuid: string;
  readonly move: Move;
}

/**
 * Claims a destination for each of some instances that are moved, all in one commit, or says where they would go. Each is decided by
 * the same filters and weighers as any request, as if those before were placed; the largest first, and one that finds no host is tried
 * before all others, once: a place that any would do for is then left to it. What they leave is not free before they have left. A host
 * that the commit refuses though the decision was not stale is left out from then on, as in `selectDestinations`.
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
  // What is moved may have been claimed just now, by another scheduler.
  await catchUp(deps, caller);
  const refusedClaims = new Map<number, string>();
  for (let conflicts = 0; conflicts < settings.claimAttempts; conflicts++) {
    if (caller.isAborted) throw new BerthError('deadline_exceeded', 'caller_left', 'the caller no longer waits');
    const plan = planInSomeOrder(asked, deps, refusedClaims);
    if (plan.kind === 'refused') return plan.response;
    const toClaim = plan.moves.filter(({ decision }) => decision.toClaim.length > 0);
    if (dryRun || toClaim.length === 0) return { ...NONE, destinations: inOrderOf(asked, plan.moves, 0, deps) };
    const consumers = toClaim.flatMap(({ request, decision }) =>
      writesOf(decision.toClaim, { ...request.spec, ...request }, decision.spreadAmong, request.move, mirror),
    );
    const claims = toClaim.flatMap(({ decision }) => decision.toClaim.map(({ claim }) => claim));
    const decidedAtRevision = mirror.revision;
    for (const claim of claims) fleet.pending.add(claim);
    try {
      const terms = { kind: 'write_allocations', atMs: clock.now(), withinQuota: true } as const;
      const result = await placement.commit({ ...terms, consumers });
      const picks = toClaim.flatMap(({ decision }) => decision.toClaim);
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
  | { readonly kind: 'refused'; readonly refused: AskedMove; readonly response: ClaimMovesResponse };

/** Each may be the first once. */
function planInSomeOrder(asked: readonly AskedMove[], deps: SelectDeps, refusedClaims: RefusedClaims): Plan {
  let order = asked.toSorted((a, b) => sizeOf(b) - sizeOf(a) || (a.instanceUuid < b.instanceUuid ? -1 : 1));
  const wasFirst = new Set<AskedMove>(order.slice(0, 1));
  for (;;) {
    const plan = planEach(order, deps, refusedClaims);
    if (plan.kind === 'planned' || wasFirst.has(plan.refused)) return plan;
    const { refused } = plan;
    wasFirst.add(refused);
    order = [refused, ...order.filter((one) => one !== refused)];
  }
}

/** One after the other. Those before are held as on their way, so that the members of a group see one another. */
function planEach(order: readonly AskedMove[], deps: SelectDeps, refusedClaims: RefusedClaims): Plan {
  const { fleet, clock } = deps;
  const held: PendingClaim[] = [];
  const moves: PlannedMove[] = [];
  try {
    for (const one of order) {
      const request = requestOf(one, deps);
      const random = seededRandom(seedOf(one.instanceUuid));
      const decision = decide(request, clock.now(), random, deps, refusedClaims);
      if (decision.kind === 'refused') {
        const response = { destinations: [], noValidHost: decision.diagnosis, refusedInstanceUuid: one.instanceUuid };
        return { kind: 'refused', refused: one, response };
      }
      const claims = decision.toClaim.map(({ claim }) => claim);
      fleet.hold(claims, decision.assumed);
      held.push(...claims);
      moves.push({ request, decision });
    }
    return { kind: 'planned', moves };
  } finally {
    fleet.settle(held);
  }
}

function requestOf({ instanceUuid, move, ...asked }: AskedMove, { fleet }: SelectDeps): SelectRequest {
  // Who comes before it, and whether it makes room for others, stays as it is.
  const { priority, isProtected } = fleet.view.consumer(instanceUuid) ?? {};
  const rank = {
    ...(priority === undefined ? {} : { priority }),
    ...(isProtected === undefined ? {} : { isProtected }),
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
