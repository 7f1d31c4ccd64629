import { addResources, type Resources } from '#libs/domain/inventory';
import { counted } from '#libs/runtime/counted';
import type { PendingClaim } from '../../fleet/pending-claims';
import { askedOf } from '../../fleet/quota-exceeded';
import type { SelectRequest } from '../complete-request';
import {
  type Decided,
  type DecidedKind,
  type DecideParts,
  type Decision,
  decide,
  type InstanceDestination,
} from '../decide';
import type { Attempt } from '../start-decision';
import { requestsByKind } from './kinds';

/**
 * One decision for all kinds of a request: each kind by the filters and weighers of its own spec, as if the kinds before were
 * placed. The kind whose members are largest goes first, because the others find room beside it more easily than it beside
 * them. All kinds find hosts, or none does.
 */
export function decideKinds(request: SelectRequest, attempt: Attempt, parts: DecideParts): Decision {
  if (request.furtherKinds === undefined) return decide(request, attempt, parts);
  const requests = requestsByKind(request);
  const held: PendingClaim[] = [];
  const decided = new Map<SelectRequest, Decided>();
  let besides: Resources = {};
  try {
    for (const one of requests.toSorted(largestFirst)) {
      const decision = decide({ ...one, besides }, attempt, parts);
      if (decision.kind === 'refused') return namingKind(decision, requests.indexOf(one), requests);
      const claims = decision.toClaim.map(({ claim }) => claim);
      parts.fleet.hold(claims, decision.assumed);
      held.push(...claims);
      decided.set(one, decision);
      besides = addResources(besides, askedOf(one.spec, claims.length));
    }
  } finally {
    parts.fleet.settle(held);
  }
  return together(requests.map((one) => ({ request: one, decision: decided.get(one) as Decided })));
}

/** The parts of a decision by kind, the first kind's first. */
export function kindsDecided(request: SelectRequest, decision: Decided): readonly DecidedKind[] {
  return decision.kinds ?? [{ request, decision }];
}

function together(kinds: readonly DecidedKind[]): Decided {
  const [{ decision: first }] = kinds as [DecidedKind, ...DecidedKind[]];
  const destinations = kinds.flatMap(({ decision }): readonly InstanceDestination[] => decision.destinations);
  const toClaim = kinds.flatMap(({ decision }) => decision.toClaim);
  // The kinds were decided in another order: all of their claims make the fleet as it will be.
  const assumed = kinds
    .filter(({ decision }) => decision !== first)
    .flatMap(({ decision }) => decision.toClaim)
    .reduce((fleet, { claim }) => fleet.assume(claim), first.assumed);
  return { ...first, destinations, toClaim, assumed, kinds };
}

function namingKind(
  { diagnosis, ...refused }: Extract<Decision, { kind: 'refused' }>,
  n: number,
  requests: readonly SelectRequest[],
): Decision {
  const count = counted(requests[n]?.instanceUuids.length ?? 0, 'instance');
  const summary = `kind ${n + 1} of ${requests.length} of the gang (${count}): ${diagnosis.summary}`;
  return { ...refused, diagnosis: { ...diagnosis, summary } };
}

function largestFirst(a: SelectRequest, b: SelectRequest): number {
  return sizeOf(b) - sizeOf(a);
}

/** Amounts of classes that both ask for decide; a class that only one asks for is rare, and makes it the larger. */
function sizeOf({ spec }: SelectRequest): number {
  return Object.values(askedOf(spec, 1)).reduce((sum, amount) => sum + Math.log2(1 + amount), 0);
}
