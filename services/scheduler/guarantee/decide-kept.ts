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
import { breachText } from './breach-text';
import type { ComingClaim, GuaranteeKeeper } from './guarantee-keeper';
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
 * witness has it, and no guarantee refuses it: it is what guarantees are for.
 */
export function decideKept(request: SelectRequest, attempt: Attempt, parts: KeptParts): PartialDecision {
  const { guarantees } = parts;
  if (!guarantees.isActive) return decideAsMany(request, attempt, parts);
  guarantees.bring(attempt.nowMs);
  const isMove = request.move !== undefined || instancesOf(request).every((uuid) => leavesHost(request, uuid, parts));
  if (isMove) {
    const decision = decidePlanned(request, attempt, parts) ?? decideAsMany(request, attempt, parts);
    if (decision.kind === 'decided') guarantees.admit(comingOfKinds(decision, request), false);
    return decision;
  }
  const unguarded = new Map<number, string>();
  let why = '';
  for (;;) {
    const decision = decideAsMany(request, unguarded.size === 0 ? attempt : { ...attempt, unguarded }, parts);
    if (decision.kind === 'refused') {
      if (unguarded.size === 0) return decision;
      parts.noteGuarantee('refused', why);
      return explained(decision, why);
    }
    const { refused, flagged } = guarantees.admit(comingOfKinds(decision, request));
    if (flagged) parts.noteGuarantee('flagged', breachText(flagged));
    if (!refused) return decision;
    why = breachText(refused);
    unguarded.set(refused.hostIndex, shortText(refused));
    if (unguarded.size < parts.settings.guaranteeHosts) continue;
    parts.noteGuarantee('refused', why);
    return refusedBy(decision, why, unguarded.size, { request, parts });
  }
}

/** The decision for an instance that leaves a dead host, to where the witness has it; undefined where it can't be that. */
export function decidePlanned(request: SelectRequest, attempt: Attempt, parts: KeptParts): Decision | undefined {
  const [uuid = ''] = request.instanceUuids;
  if (request.instanceUuids.length !== 1 || request.spec.forceHosts.length > 0) return undefined;
  if (!parts.guarantees.isActive || request.move !== undefined || !leavesHost(request, uuid, parts)) return undefined;
  parts.guarantees.bring(attempt.nowMs);
  const planned = parts.fleet.snapshot(attempt.nowMs).at(parts.guarantees.planFor(uuid));
  if (!planned) return undefined;
  // Preferences are not in the plan: the preferred host may be another's place.
  const spec = { ...request.spec, forceHosts: [planned.host.name], preferredResources: {} };
  const equivalenceClass = { ...request.equivalenceClass, preferredResources: {} };
  const key = `planned ${request.equivalenceClass.key}`;
  const asked = { ...request, spec, equivalenceClass: { ...equivalenceClass, key }, numAlternates: 0 };
  const decision = decide(asked, attempt, parts);
  const outcome = decision.kind === 'decided' ? 'moved_by_plan' : 'moved_otherwise';
  parts.noteGuarantee(outcome, `instance ${uuid}: ${planned.host.name}`);
  return decision.kind === 'decided' ? decision : undefined;
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
  return picks.map(({ claim, instanceUuid }) => ({
    claim,
    instance: guaranteedInstance(instanceUuid, request, request.priority),
  }));
}

function shortText({ guarantee, kept }: Breach): string {
  return `guarantee '${guarantee.name}' would not stand the loss of ${kept.loss.domains.join(' and ')}`;
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
