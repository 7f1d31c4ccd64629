import type { Diagnosis } from '#libs/contracts/diagnosis';
import { counted } from '#libs/runtime/counted';
import { decideAsMany, type PartialDecision } from '../decision/as-many-as-fit';
import type { SelectRequest } from '../decision/complete-request';
import { type Decided, type DecideParts, type Decision, decide } from '../decision/decide';
import { kindsDecided } from '../decision/gang/decide-kinds';
import { instancesOf } from '../decision/gang/kinds';
import type { PickedHost } from '../decision/pick-hosts';
import type { Attempt } from '../decision/start-decision';
import { GUARANTEE, NO_FAILOVER } from '../ranking/request-constraints';
import { breachText, shortText } from './breach-text';
import type { ComingClaim, GuaranteeKeeper, PlannedPlace } from './guarantee-keeper';
import { guaranteedInstance } from './instance-item';
import type { Breach } from './kept-guarantee';

/** Dependencies of decisions under guarantees. */
export interface KeptParts extends DecideParts {
  readonly guarantees: GuaranteeKeeper;
  readonly noteGuarantee: (outcome: GuaranteeOutcome, why: string) => void;
}

export type GuaranteeOutcome = 'refused' | 'flagged' | 'moved_by_plan' | 'moved_otherwise';

/**
 * A decision after which every guarantee still has its witnesses. A host whose claim would leave an instance without a
 * place is left out, and all is decided again, for so many hosts. An instance that leaves a dead host goes where the
 * witness has it, and no guarantee refuses it, as it is what guarantees are for; unless it would take the place of another that
 * is lost.
 */
export function decideKept(request: SelectRequest, attempt: Attempt, parts: KeptParts): PartialDecision {
  const { guarantees } = parts;
  if (!guarantees.isActive) return decideAsMany(request, attempt, parts);
  guarantees.bring(attempt.nowMs);
  if (isMove(request, parts)) return decideMoved(request, attempt, parts, decideAsMany);
  return decideGuarded({ request, attempt, decideOnce: decideAsMany }, parts, (decision) => {
    const { refused, flagged } = guarantees.admit(comingOfKinds(decision, request));
    if (flagged) parts.noteGuarantee('flagged', breachText(flagged));
    return refused;
  });
}

/**
 * The decision for what is moved: to where a witness has it, if it leaves a dead host; else to where it takes no place of what is lost.
 * The witnesses have it there until `settle`, so that others of its group follow it.
 */
export function decideMoved(
  request: SelectRequest,
  attempt: Attempt,
  parts: KeptParts,
  decideOnce: DecideOnce = decide,
): PartialDecision {
  const { guarantees } = parts;
  if (!guarantees.isActive) return decideOnce(request, attempt, parts);
  guarantees.bring(attempt.nowMs);
  const breachOf = (decision: Decided, plan?: PlannedPlace) =>
    guarantees.breachOfMove(comingOfKinds(decision, request), plan);
  const planned = decidePlanned(request, attempt, parts, breachOf);
  const decision = planned ?? decideGuarded({ request, attempt, decideOnce }, parts, breachOf);
  if (decision.kind === 'decided') guarantees.admit(comingOfKinds(decision, request), false);
  return decision;
}

type DecideOnce = (request: SelectRequest, attempt: Attempt, parts: DecideParts) => PartialDecision;

/** Decides until no breach is found, each time without the host of the last. */
function decideGuarded(
  { request, attempt, decideOnce }: { request: SelectRequest; attempt: Attempt; decideOnce: DecideOnce },
  parts: KeptParts,
  breachOf: (decision: Decided) => Breach | undefined,
): PartialDecision {
  const unguarded = new Map<number, string>();
  let why = '';
  for (;;) {
    const decision = decideOnce(
      request,
      unguarded.size === 0 ? attempt : { ...attempt, unguarded: new Map(unguarded) },
      parts,
    );
    if (decision.kind === 'refused') {
      if (unguarded.size === 0) return decision;
      parts.noteGuarantee('refused', why);
      return explained(decision, why);
    }
    const breach = breachOf(decision);
    if (!breach) return decision;
    why = breachText(breach);
    unguarded.set(breach.hostIndex, shortText(breach));
    if (unguarded.size < parts.settings.guaranteeHosts) continue;
    parts.noteGuarantee('refused', why);
    return refusedBy(decision, why, unguarded.size, { request, parts });
  }
}

/** The decision for an instance that leaves a dead host, to where a witness has it; undefined where it can't be that. */
function decidePlanned(
  request: SelectRequest,
  attempt: Attempt,
  parts: KeptParts,
  breachOf: (decision: Decided, plan: PlannedPlace) => Breach | undefined,
): Decision | undefined {
  const [uuid = ''] = request.instanceUuids;
  if (request.instanceUuids.length !== 1 || request.spec.forceHosts.length > 0) return undefined;
  if (request.move !== undefined || !leavesHost(request, uuid, parts)) return undefined;
  const snapshot = parts.fleet.snapshot(attempt.nowMs);
  const plans = parts.guarantees.plansFor(uuid);
  for (const plan of plans) {
    const host = snapshot.at(plan.place)?.host.name;
    if (host === undefined) continue;
    // Preferences are not in the plan: the preferred host may be another's place.
    const spec = { ...request.spec, forceHosts: [host], preferredResources: {} };
    const equivalenceClass = { ...request.equivalenceClass, preferredResources: {} };
    const key = `planned ${request.equivalenceClass.key}`;
    const asked = { ...request, spec, equivalenceClass: { ...equivalenceClass, key }, numAlternates: 0 };
    const decision = decide(asked, attempt, parts);
    if (decision.kind === 'refused' || breachOf(decision, plan)) continue;
    parts.noteGuarantee('moved_by_plan', `instance ${uuid}: ${host}`);
    return decision;
  }
  if (plans.length > 0)
    parts.noteGuarantee('moved_otherwise', `instance ${uuid}: not to its ${counted(plans.length, 'place')}`);
  return undefined;
}

function isMove(request: SelectRequest, parts: KeptParts): boolean {
  return request.move !== undefined || instancesOf(request).every((uuid) => leavesHost(request, uuid, parts));
}

/** True for an instance that holds a claim on a host that its request ignores. */
function leavesHost({ spec }: SelectRequest, uuid: string, { fleet }: KeptParts): boolean {
  const host = fleet.newestAt(fleet.indexOfConsumer(uuid));
  return host !== undefined && spec.ignoreHosts.includes(host.host.name);
}

function comingOfKinds(decision: Decided, request: SelectRequest): readonly ComingClaim[] {
  return kindsDecided(request, decision).flatMap((kind) => comingClaims(kind.decision.toClaim, kind.request));
}

/** Claims that are about to be made, with what each instance asks for. */
export function comingClaims(picks: readonly PickedHost[], request: SelectRequest): readonly ComingClaim[] {
  const { spec, equivalenceClass, priority } = request;
  const isToRead = spec.ignoreHosts.length > 0;
  const lasting = isToRead ? { ...spec, ignoreHosts: [] } : spec;
  return picks.map(({ claim, instanceUuid }) => {
    const instance = guaranteedInstance(instanceUuid, { spec: lasting, equivalenceClass }, priority);
    return { claim, instance, isToRead };
  });
}

/** No host is left; the guarantee that refused the last one is among the reasons. */
function explained(decision: Extract<PartialDecision, { kind: 'refused' }>, why: string): PartialDecision {
  const diagnosis = { ...decision.diagnosis, summary: `${decision.diagnosis.summary}; ${why}` };
  return { ...decision, diagnosis };
}

function refusedBy(
  { basis }: Extract<PartialDecision, { kind: 'decided' }>,
  why: string,
  tried: number,
  { request: { instanceUuids }, parts: { fleet } }: { readonly request: SelectRequest; readonly parts: KeptParts },
): PartialDecision {
  const { symbol } = NO_FAILOVER;
  const diagnosis: Diagnosis = {
    hostsConsidered: fleet.names(0).length,
    hostsPassed: 0,
    filters: [{ filter: GUARANTEE, refused: tried, reasons: { [symbol]: tried } }],
    claimConflicts: 0,
    summary: `no failover capacity for ${counted(instanceUuids.length, 'instance')} (${symbol}), ${counted(tried, 'host')} tried: ${why}`,
    quotaExceeded: [],
  };
  return { kind: 'refused', diagnosis, basis: basis && { ...basis, diagnosis }, preemption: undefined };
}
