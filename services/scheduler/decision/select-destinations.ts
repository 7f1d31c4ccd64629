import type { IncomingMessage } from '#libs/bus/port';
import type { UnconfirmedHost } from '#libs/contracts/diagnosis';
import type { Destination, SelectDestinationsResponse } from '#libs/contracts/selection';
import type { Clock } from '#libs/domain/clock';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { seedOf } from '#libs/domain/random';
import type { PastDecision } from '#libs/placement/past-decisions/keep-decisions';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { Sealer } from '#libs/placement/sealed/allocation-request';
import type { Confirm } from '../confirmation/confirm';
import type { Pricing } from '../demand/pricing';
import type { TakeTurn } from '../guarantee/admission-turns';
import { decideKept, type KeptParts } from '../guarantee/decide-kept';
import type { ClassifiedSpec } from '../request/equivalence-class';
import { endOf } from '../reservation/holdings';
import { freedReservations, type HoldAlternates } from './alternates/hold-alternates';
import { type Claimed, type ClaimMirror, type ClaimTogether, catchUp, claimAll } from './claim';
import type { RequestKind, SelectRequest } from './complete-request';
import { type CompleteRequest, completeRequest, lacksGroup } from './complete-request';
import type { Decided, InstanceDestination } from './decide';
import type { DecisionBasis } from './decision-basis';
import { diagnoseRefusedClaims, diagnoseUnconfirmed } from './diagnose';
import { kindsDecided } from './gang/decide-kinds';
import { instancesOf, requestsByKind } from './gang/kinds';
import { stageOf } from './move-claim';
import type { PickedHost } from './pick-hosts';
import type { Nominate } from './preemption/nominate';
import type { Refer } from './refer';
import { sealDestination } from './seal-destination';

/** Dependencies of `selectDestinations`. */
export interface SelectDeps extends KeptParts {
  readonly pricing: Pricing;
  readonly placement: PlacementStore;
  readonly mirror: ClaimMirror;
  readonly clock: Clock;
  readonly sealer: Sealer;
  readonly refer: Refer;
  readonly holdAlternates: HoldAlternates;
  readonly nominate: Nominate;
  readonly confirm: Confirm;
  readonly takeTurn: TakeTurn;
  /** Takes what was decided, with its basis: it must not throw. */
  readonly keepDecision: (decision: PastDecision) => void;
}

/** A selection as the caller asks for it. */
export type AskedSelection = Omit<SelectRequest, keyof CompleteRequest | 'furtherKinds'> &
  ClassifiedSpec & { readonly furtherKinds?: readonly AskedKind[] | undefined };

type AskedKind = ClassifiedSpec & Omit<RequestKind, keyof CompleteRequest>;

/** The caller, and whether it still waits for the answer. */
export type Caller = Pick<IncomingMessage, 'isAborted' | 'signal'>;

/** The answer, and how often it had to be decided again. */
export interface Selected {
  readonly response: SelectDestinationsResponse;
  readonly conflicts: number;
}

/**
 * Claims a host for each instance of a request, all or none, or as many as are enough, and names alternates.
 *
 * Optimistic concurrency, as in Google's Omega: a decision is one synchronous piece, made on a mirror that may be stale,
 * and the commit checks it. After a conflict the mirror is brought up to date and all is decided again. A host that the
 * commit refuses though the decision was not stale is left out from then on, so that a filter and the store's rule which
 * do not agree end in no valid host, not in asking for ever. Claims on their
 * way count as made, so that requests at the same time spread over the fleet; because such a claim may fail and leave
 * room, a request refused meanwhile is decided again, once, when they are answered. Where the request asks for it, the
 * hosts are asked before they are claimed (`confirmation/`); one that does not confirm is left out of the next decision.
 *
 * @throws BerthError `aborted / claim_conflicts` after too many conflicts; `deadline_exceeded / caller_left`;
 *   `unavailable`; `invalid_argument / too_many`; `failed_precondition / foreign_consumer`, and of a move `/ claim_changed` or
 *   `/ migration_uuid_taken`; what `completeRequest` throws.
 */
export async function selectDestinations(asked: AskedSelection, caller: Caller, deps: SelectDeps): Promise<Selected> {
  const { fleet, settings, clock } = deps;
  if (asksForMissing(asked, deps)) await catchUp(deps, caller);
  const request = completed(asked, deps);
  const instanceUuids = instancesOf(request);
  const seed = seedOf(request.requestId);
  const refusedClaims = new Map<number, string>();
  const unconfirmed = new Map<number, UnconfirmedHost>();
  let rounds = 0;
  let mayWait = true;
  for (let conflicts = 0; conflicts < settings.claimAttempts; ) {
    if (caller.isAborted) throw new BerthError('deadline_exceeded', 'caller_left', 'the caller no longer waits');
    const admissionTurn = deps.guarantees.isActive ? await deps.takeTurn(caller) : undefined;
    const attempt = { nowMs: clock.now(), seed: seed + conflicts + rounds, refusedClaims };
    const decision = decideKept(request, { ...attempt, unconfirmed: wordsOf(unconfirmed) }, deps);
    if (decision.kind === 'decided') {
      const refusing = request.confirmsHost ? await confirmDecided(decision, request, caller, deps) : NOBODY;
      if (refusing === 'stale' || refusing.length > 0) deps.guarantees.settle(uuidsOf(decision), false);
      if (refusing === 'stale') {
        conflicts += 1;
        continue;
      }
      for (const one of refusing) unconfirmed.set(fleet.indexOfHost(one.host) ?? -1, one);
      if (refusing.length > 0) {
        rounds += 1;
        if (rounds < settings.confirmHosts) continue;
        keep(decision.basis, []);
        const { hostCount } = fleet.snapshot(clock.now());
        const noValidHost = diagnoseUnconfirmed(wordsOf(unconfirmed), hostCount, rounds);
        return { response: { destinations: [], noValidHost }, conflicts };
      }
      const claimed = await claimDecided({ ...decision, admissionTurn }, request, caller, deps);
      if (claimed.kind === 'destinations') {
        keep(decision.basis, claimed.destinations);
        // The claim replaces the nomination.
        await deps.nominate(request, undefined);
        await deps.holdAlternates(claimed.instances, request);
        const destinations = await deps.refer(claimed.destinations);
        return { response: { destinations, noValidHost: decision.whyNotMore }, conflicts };
      }
      if (claimed.kind === 'contradicted') for (const [index, why] of claimed.hosts) refusedClaims.set(index, why);
      conflicts += 1;
    } else if (mayWait && fleet.pending.count > 0) {
      mayWait = false;
      await fleet.pending.whenAnswered();
    } else {
      keep(decision.basis, []);
      const noValidHost = { ...decision.diagnosis, claimConflicts: conflicts };
      const { preemption } = decision;
      await deps.nominate(request, preemption);
      const offered = preemption ? { preemption: preemption.view } : {};
      return { response: { destinations: [], noValidHost, ...offered }, conflicts };
    }
  }
  if (refusedClaims.size > 0) {
    const { hostCount } = fleet.snapshot(clock.now());
    const noValidHost = diagnoseRefusedClaims(refusedClaims, hostCount, settings.claimAttempts);
    return { response: { destinations: [], noValidHost }, conflicts: settings.claimAttempts };
  }
  throw new BerthError('aborted', 'claim_conflicts', 'others took the hosts first each time; ask again');

  function keep(basis: DecisionBasis | undefined, destinations: readonly Destination[]): void {
    if (!basis) return;
    const { requestId, spec } = request;
    const selected = Object.fromEntries(destinations.map((one) => [one.instanceUuid, one.selected.host]));
    const about = { requestId, projectId: spec.projectId, decidedAtMs: clock.now() };
    const silent = unconfirmed.size === 0 ? {} : { unconfirmed: [...unconfirmed.values()] };
    deps.keepDecision({ instanceUuids, decision: { ...about, ...basis, selected, ...silent } });
  }
}

function uuidsOf({ toClaim }: Decided): readonly string[] {
  return toClaim.map(({ instanceUuid }) => instanceUuid);
}

/** True if the mirror lacks a group or a claim of the request, as one that another scheduler made just now. */
function asksForMissing(asked: AskedSelection, { fleet }: SelectDeps): boolean {
  const [moved = ''] = asked.instanceUuids;
  const lacksClaim = asked.move !== undefined && stageOf(asked.move, moved, fleet.view, () => false) === 'changed';
  return lacksClaim || [asked, ...(asked.furtherKinds ?? [])].some((kind) => lacksGroup(kind, fleet));
}

/** The request, each of its kinds, with what the store says of it. @throws as `selectDestinations`. */
function completed({ furtherKinds = [], ...first }: AskedSelection, deps: SelectDeps): SelectRequest {
  const { fleet, settings, clock } = deps;
  const count = furtherKinds.reduce((sum, kind) => sum + kind.instanceUuids.length, first.instanceUuids.length);
  if (count > settings.maxInstances) throw tooMany(settings.maxInstances);
  const { timeLimitMs } = first;
  const ending = timeLimitMs === undefined ? {} : { endsAtMs: endOf(timeLimitMs, clock.now(), settings) };
  const own: SelectRequest = { ...first, ...ending, ...completeRequest(first, fleet) };
  const further = furtherKinds.map((kind) => ({ ...kind, ...completeRequest(kind, fleet) }));
  const request = further.length > 0 ? { ...own, furtherKinds: further } : own;
  for (const kind of requestsByKind(request)) {
    deps.pricing.note(kind.equivalenceClass, kind.instanceUuids, fleet.snapshot(clock.now()));
  }
  return request;
}

/** The claims that instances hold as the mirror shows them, to compare. */
function tokensOf(picks: readonly PickedHost[], mirror: Pick<ClaimMirror, 'consumer'>): string {
  return picks.map(({ instanceUuid }) => mirror.consumer(instanceUuid)?.claimToken ?? 0).join();
}

const NOBODY: readonly UnconfirmedHost[] = [];

/** Reasons of hosts that did not confirm, by their index. */
function wordsOf(unconfirmed: ReadonlyMap<number, UnconfirmedHost>): ReadonlyMap<number, string> {
  return new Map([...unconfirmed].map(([index, { reason, message }]) => [index, `${reason}: ${message}`]));
}

/**
 * Hosts that do not confirm what is to be claimed there. What is held already was confirmed before it was claimed. Asking takes
 * time: a caller who left may have asked another scheduler, whose claim is not this decision's to replace.
 */
async function confirmDecided(
  { toClaim, assumed }: Decided,
  { spec: { projectId } }: SelectRequest,
  caller: Caller,
  { fleet, confirm, mirror }: SelectDeps,
): Promise<readonly UnconfirmedHost[] | 'stale'> {
  if (toClaim.length === 0) return NOBODY;
  const claims = toClaim.map(({ claim }) => claim);
  const held = tokensOf(toClaim, mirror);
  fleet.hold(claims, assumed);
  try {
    const refusing = await confirm({ projectId, picks: toClaim }, caller);
    return caller.isAborted || tokensOf(toClaim, mirror) !== held ? 'stale' : refusing;
  } finally {
    fleet.settle(claims);
  }
}

type ClaimOutcome =
  | {
      readonly kind: 'destinations';
      readonly instances: readonly InstanceDestination[];
      readonly destinations: readonly Destination[];
    }
  | Exclude<Claimed, { kind: 'claimed' }>;

/** The destinations once all are claimed, or the conflict. Until then the claims count as made. */
async function claimDecided(
  decision: Decided & Pick<ClaimTogether, 'admissionTurn'>,
  request: SelectRequest,
  caller: Caller,
  deps: SelectDeps,
): Promise<ClaimOutcome> {
  const { destinations, toClaim, assumed, admissionTurn } = decision;
  const { priority, isProtected, endsAtMs, move } = request;
  const rank = { priority, isProtected, endsAtMs };
  const kinds = kindsDecided(request, decision);
  const claims = toClaim.map(({ claim }) => claim);
  const freed = freedReservations(instancesOf(request), request, deps.mirror);
  deps.fleet.hold(claims, assumed);
  let isMade = false;
  try {
    const wanted = kinds.map(({ request: { spec }, decision: { toClaim: picks, spreadAmong } }) => {
      return { picks, spec: { ...spec, ...rank }, spreadAmong, move };
    });
    const claimed =
      toClaim.length > 0 ? await claimAll(wanted, { freed, admissionTurn }, caller, deps) : NOTHING_TO_CLAIM;
    if (claimed.kind !== 'claimed') return claimed;
    isMade = true;
    const sealed = kinds.flatMap(({ request: { spec }, decision: { destinations: ofKind, spreadAmong } }) => {
      const seal = sealDestination({ ...spec, ...rank }, spreadAmong, deps.sealer);
      return ofKind.map((one) => seal(one, claimed.claimToken));
    });
    return { kind: 'destinations', instances: destinations, destinations: sealed };
  } finally {
    deps.fleet.settle(claims);
    deps.guarantees.settle(uuidsOf(decision), isMade);
  }
}

/** All instances hold claims already. */
const NOTHING_TO_CLAIM = { kind: 'claimed', claimToken: 0 } as const;

function tooMany(most: number): BerthError {
  return invalidArgument('too_many', `instance_uuids may have at most ${most} entries here`, 'instance_uuids');
}
