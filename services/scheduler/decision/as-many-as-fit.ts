import type { Diagnosis } from '#libs/contracts/diagnosis';
import type { SelectRequest } from './complete-request';
import type { DecideParts, Decision } from './decide';
import { decideWithin } from './gang/decide-within';
import { requestOfKinds, requestsByKind } from './gang/kinds';
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
  const kinds = requestsByKind(request);
  const mostSpare = kinds.reduce((sum, kind) => sum + kind.instanceUuids.length - leastOf(kind), 0);
  if (mostSpare === 0) return decideWithin(request, attempt, parts);

  const forAll = decideWithin({ ...request, mayPreempt: false }, attempt, parts);
  if (forAll.kind === 'decided') return forAll;

  const heldFirst = kinds.map((kind) => withHeldFirst(kind, attempt, parts));
  const withSpare = (count: number) => {
    // Preemption is searched for only at the smallest count that is enough.
    const some = {
      ...requestOfKinds(cutDown(heldFirst, count)),
      mayPreempt: (request.mayPreempt ?? false) && count === 0,
    };
    return decideWithin(some, attempt, parts);
  };
  let best = withSpare(0);
  if (best.kind === 'refused') return best;
  let fits = 0;
  let tooMany = mostSpare;
  while (tooMany - fits > 1) {
    const count = Math.floor((fits + tooMany) / 2);
    const decision = withSpare(count);
    if (decision.kind === 'decided') {
      best = decision;
      fits = count;
    } else tooMany = count;
  }
  return { ...best, whyNotMore: forAll.diagnosis };
}

/** So many instances of a kind are enough. */
function leastOf({ instanceUuids, minCount = 0 }: SelectRequest): number {
  return minCount === 0 ? instanceUuids.length : Math.min(minCount, instanceUuids.length);
}

/** Each kind with as many as are enough, and so many more, of the first kinds first. */
function cutDown(kinds: readonly SelectRequest[], spare: number): SelectRequest[] {
  let left = spare;
  return kinds.map((kind) => {
    const least = leastOf(kind);
    const more = Math.min(left, kind.instanceUuids.length - least);
    left -= more;
    return { ...kind, instanceUuids: kind.instanceUuids.slice(0, least + more) };
  });
}

function withHeldFirst(kind: SelectRequest, { nowMs }: Attempt, { fleet }: DecideParts): SelectRequest {
  const { held } = claimsHeld(kind, fleet, fleet.snapshot(nowMs));
  return { ...kind, instanceUuids: [...held.keys(), ...kind.instanceUuids.filter((uuid) => !held.has(uuid))] };
}
