import type { PlaceLease } from '#libs/domain/queueing/place-lease';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Fleet } from '../fleet/fleet';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import { nominationsBefore } from '../fleet/leases/nominations';
import { type DomainName, type LocatedRequest, locate, type RefusedClaims } from '../fleet/located-request';
import { quotaExceeded } from '../fleet/quota-exceeded';
import { placesOf } from '../ranking/judgement';
import { RequestConstraints } from '../ranking/request-constraints';
import { type EquivalenceClass, forBatch, withoutPreferred } from '../request/equivalence-class';
import { besideReservations } from '../reservation/reserved-fleet';
import { withoutItsOwn, withoutReservations } from './alternates/reserved-room';
import type { SelectRequest } from './complete-request';
import { type ClaimsHeld, claimsHeld } from './held-claims';
import type { DecisionParts } from './pick-hosts';

/** One attempt at a decision: with the fleet, all that it follows from. */
export interface Attempt {
  readonly nowMs: number;
  /** Seed of the draws among equal hosts. */
  readonly seed: number;
  /** Hosts that are not feasible in it. */
  readonly refusedClaims?: RefusedClaims | undefined;
  /** Likewise, because they did not confirm it. */
  readonly unconfirmed?: RefusedClaims | undefined;
  /** Likewise, because a guarantee would not stand. */
  readonly unguarded?: RefusedClaims | undefined;
  /** The only domain that counts, of those in which a gang may stay. */
  readonly inDomain?: DomainName | undefined;
  /** The fleet to decide on in place of the present one, where a past decision is made again. */
  readonly asIf?: ((present: FleetSnapshot) => FleetSnapshot) | undefined;
}

/** The start of a decision: the fleet as the request sees it, and what the request asks of a host. */
export interface DecisionStart extends ClaimsHeld {
  readonly present: FleetSnapshot;
  /** The present fleet without what the request's own instances keep. */
  readonly snapshot: FleetSnapshot;
  readonly nominations: readonly PlaceLease[];
  readonly located: LocatedRequest;
  readonly constraints: RequestConstraints;
  readonly equivalenceClass: EquivalenceClass;
}

export function startDecision(
  request: SelectRequest,
  { nowMs, refusedClaims, unconfirmed, unguarded, inDomain, asIf = unchanged }: Attempt,
  { fleet, settings }: Pick<DecisionParts, 'fleet' | 'settings'>,
): DecisionStart {
  const { spec, together, besides } = request;
  const present = asIf(fleet.snapshot(nowMs));
  const itsOwn = withoutItsOwn(request, fleet, withoutReservations(request, fleet, present));
  const { snapshot, within } = besideReservations(request, nowMs, fleet, itsOwn);
  const { held, unclaimed } = claimsHeld(request, fleet, snapshot);
  const isOpen = placesOf(request.equivalenceClass, settings);
  const nominations = nominationsBefore(request, fleet.view, nowMs);
  const located = locate(
    spec,
    unclaimed,
    { fleet, snapshot, isOpen },
    {
      refusedClaims,
      unconfirmed,
      unguarded,
      isMove: request.move !== undefined,
      nominations,
      leaves: request.move?.sourceHost,
      together,
      besides,
      inDomain,
      within,
      hasNoQuota: request.window !== undefined,
    },
  );
  const constraints = new RequestConstraints(located, settings);
  const equivalenceClass = forBatch(affordable(request, unclaimed, fleet), batchSizeOf(spec, unclaimed));
  return { present, snapshot, held, unclaimed, nominations, located, constraints, equivalenceClass };
}

const unchanged = (present: FleetSnapshot) => present;

/** Preferred resources are taken only if all of them are within the quota; they never refuse an instance. */
function affordable(
  { spec, equivalenceClass, besides }: SelectRequest,
  unclaimed: readonly string[],
  { view }: Fleet,
): EquivalenceClass {
  if (Object.keys(spec.preferredResources).length === 0) return equivalenceClass;
  const isAffordable = quotaExceeded(spec, unclaimed, view, { more: spec.preferredResources, besides }).length === 0;
  return isAffordable ? equivalenceClass : withoutPreferred(equivalenceClass);
}

/** The instances of an affinity group go to one host together, all others one by one. */
function batchSizeOf({ group }: RequestSpec, unclaimed: readonly string[]): number {
  return group?.policy === 'affinity' ? Math.max(1, unclaimed.length) : 1;
}
