import type { Diagnosis } from '#libs/contracts/diagnosis';
import type { SelectRequest } from './complete-request';
import { type DecideParts, type Decision, decide } from './decide';
import { claimsHeld } from './held-claims';
import type { Attempt } from './start-decision';

/** A decision; with hosts for some of the instances only, also why not for more. */
export type PartialDecision = Decision & { readonly whyNotMore?: Diagnosis };

/**
 * A decision for all instances or, where the request says how many are enough, for as many as find a host, those first that
 * hold a claim. Capacity, quotas, a group that goes to one host, and groups that spread each refuse a number of instances
 * otherwise, so the number is searched by deciding, half of what is left at a time: for a thousand instances that is ten
 * decisions more, when not all fit.
 */
export function decideAsMany(request: SelectRequest, attempt: Attempt, parts: DecideParts): PartialDecision {
  const { instanceUuids, minCount = 0, mayPreempt = false } = request;
  if (minCount === 0 || minCount >= instanceUuids.length) return decide(request, attempt, parts);

  // Preemption is searched for only at the smallest count that is enough.
  const decideFor = (uuids: readonly string[]) => {
    const some = { ...request, instanceUuids: uuids, mayPreempt: mayPreempt && uuids.length === minCount };
    return decide(some, attempt, parts);
  };
  const forAll = decideFor(instanceUuids);
  if (forAll.kind === 'decided') return forAll;

  const { held } = claimsHeld(request, parts.fleet, parts.fleet.snapshot(attempt.nowMs));
  const heldFirst = [...held.keys(), ...instanceUuids.filter((uuid) => !held.has(uuid))];
  const forFirst = (count: number) => decideFor(heldFirst.slice(0, count));

  let best = forFirst(minCount);
  if (best.kind === 'refused') return best;
  let fits = minCount;
  let tooMany = instanceUuids.length;
  while (tooMany - fits > 1) {
    const count = Math.floor((fits + tooMany) / 2);
    const decision = forFirst(count);
    if (decision.kind === 'decided') {
      best = decision;
      fits = count;
    } else tooMany = count;
  }
  return { ...best, whyNotMore: forAll.diagnosis };
}
