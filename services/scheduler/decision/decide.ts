import type { Diagnosis } from '#libs/contracts/diagnosis';
import type { Random } from '#libs/domain/random';
import type { RequestSpec } from '#libs/domain/request-spec';
import { groupKey } from '#libs/domain/server-group';
import type { Fleet } from '../fleet/fleet';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import { nominationsBefore } from '../fleet/leases/nominations';
import { locate, type RefusedClaims } from '../fleet/located-request';
import { quotaExceeded } from '../fleet/quota-exceeded';
import { placesOf } from '../ranking/judgement';
import { RequestConstraints } from '../ranking/request-constraints';
import { type EquivalenceClass, forBatch, withoutPreferred } from '../request/equivalence-class';
import { alternatesChooser } from './alternates/choose-alternates';
import { withoutItsOwn, withoutReservations } from './alternates/reserved-room';
import type { SelectRequest } from './complete-request';
import { type DecisionBasis, noteBasis } from './decision-basis';
import { diagnose } from './diagnose';
import { claimsHeld } from './held-claims';
import { namingWhatNobodyHas } from './nobody-has';
import { type DecisionParts, type HostForInstance, type PickedHost, pickHosts } from './pick-hosts';
import { decidePreemption } from './preemption/decide-preemption';
import type { DecidedPreemption } from './preemption/find-preemption';

/** Where one instance goes, and where it can go when that fails. */
export interface InstanceDestination {
  readonly instanceUuid: string;
  readonly selected: HostForInstance;
  readonly alternates: readonly HostForInstance[];
  /** The token of the claim that it holds already; undefined when it is yet to be claimed. */
  readonly claimToken: number | undefined;
}

/** Hosts for all instances of a request, or none and why. The basis is given where the decision is recorded. */
export type Decision =
  | {
      readonly kind: 'decided';
      readonly basis: DecisionBasis | undefined;
      readonly destinations: readonly InstanceDestination[];
      readonly toClaim: readonly PickedHost[];
      /** The fleet as it is once they are claimed. */
      readonly assumed: FleetSnapshot;
      /** The domains that members of the request's group may go to, if it spreads. */
      readonly spreadAmong: readonly string[] | undefined;
    }
  | {
      readonly kind: 'refused';
      readonly basis: DecisionBasis | undefined;
      readonly diagnosis: Diagnosis;
      readonly preemption: DecidedPreemption | undefined;
    };

/** One attempt at a decision. */
export interface Attempt {
  readonly nowMs: number;
  readonly random: Random;
  /** Hosts that are not feasible in it. */
  readonly refusedClaims?: RefusedClaims;
}

/**
 * One decision, start to end: take a snapshot of the fleet, see which instances hold a claim already, rank the feasible
 * hosts (filter and weigh), pick one for each instance as if those before were placed, name alternates for all.
 */
export function decide(
  request: SelectRequest,
  { nowMs, random, refusedClaims }: Attempt,
  parts: DecisionParts,
): Decision {
  const { fleet, rankHosts, settings } = parts;
  const { spec, instanceUuids, together } = request;

  const present = fleet.snapshot(nowMs);
  const snapshot = withoutItsOwn(request, fleet, withoutReservations(request, fleet, present));
  const { held, unclaimed } = claimsHeld(request, fleet, snapshot);
  const isOpen = placesOf(request.equivalenceClass, settings);
  const nominations = nominationsBefore(request, fleet.view, nowMs);
  const located = locate(
    spec,
    unclaimed,
    { fleet, snapshot, isOpen },
    {
      refusedClaims,
      isMove: request.move !== undefined,
      nominations,
      leaves: request.move?.sourceHost,
      together,
    },
  );
  const constraints = new RequestConstraints(located, settings);
  const equivalenceClass = forBatch(affordable(request, unclaimed, fleet), batchSizeOf(spec, unclaimed));

  const { quotaExceeded: beyond } = located;
  const basisOf = noteBasis(equivalenceClass, { snapshot, constraints, quotaExceeded: beyond }, parts);
  const group = spec.group && groupKey(spec.projectId, spec.group.id);
  const picking = { equivalenceClass, group, random, rankHosts, settings };
  const picked = pickHosts(unclaimed, { snapshot, constraints }, picking);
  if (picked.kind === 'refused') {
    const before = { placed: picked.picks.length, of: unclaimed.length };
    const feasibility = rankHosts(equivalenceClass, picked.snapshot).feasibility(picked.constraints);
    const diagnosis = namingWhatNobodyHas(diagnose(feasibility, beyond, before), spec, {
      fleet,
      snapshot: picked.snapshot,
      equivalenceClass,
    });
    const refused = { request, unclaimed, equivalenceClass, snapshot, located, nominations, picked };
    const preemption = request.mayPreempt ? decidePreemption(refused, random, parts) : undefined;
    return { kind: 'refused', diagnosis, basis: basisOf([], diagnosis), preemption };
  }

  const alternatesTo = alternatesChooser(request, picked, picking);
  const pickOf = new Map(picked.picks.map((pick) => [pick.instanceUuid, pick]));
  const destinations = instanceUuids.map((instanceUuid): InstanceDestination => {
    const claim = held.get(instanceUuid);
    const selected = claim ?? (pickOf.get(instanceUuid) as PickedHost);
    return { instanceUuid, selected, alternates: alternatesTo(selected), claimToken: claim?.claimToken };
  });
  const spreadAmong = located.members?.spread?.among;
  const basis = basisOf(destinations.map(({ selected }) => selected.host));
  const { picks } = picked;
  // The next request sees what was hidden from this one only.
  const assumed = snapshot === present ? picked.snapshot : picks.reduce((one, { claim }) => one.assume(claim), present);
  return { kind: 'decided', destinations, toClaim: picks, assumed, spreadAmong, basis };
}

/** Preferred resources are taken only if all of them are within the quota; they never refuse an instance. */
function affordable(
  { spec, equivalenceClass }: SelectRequest,
  unclaimed: readonly string[],
  { view }: Fleet,
): EquivalenceClass {
  if (Object.keys(spec.preferredResources).length === 0) return equivalenceClass;
  const isAffordable = quotaExceeded(spec, unclaimed, view, { more: spec.preferredResources }).length === 0;
  return isAffordable ? equivalenceClass : withoutPreferred(equivalenceClass);
}

/** The instances of an affinity group go to one host together, all others one by one. */
function batchSizeOf({ group }: RequestSpec, unclaimed: readonly string[]): number {
  return group?.policy === 'affinity' ? Math.max(1, unclaimed.length) : 1;
}
