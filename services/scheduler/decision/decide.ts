import type { Diagnosis } from '#libs/contracts/diagnosis';
import { seededRandom } from '#libs/domain/random';
import { groupKey } from '#libs/domain/server-group';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import { alternatesChooser } from './alternates/choose-alternates';
import type { SelectRequest } from './complete-request';
import { type DecisionBasis, noteBasis } from './decision-basis';
import { diagnose } from './diagnose';
import { namingWhatNobodyHas } from './explain/nobody-has';
import { type DecisionParts, type HostForInstance, type PickedHost, type PricesInUse, pickHosts } from './pick-hosts';
import { decidePreemption } from './preemption/decide-preemption';
import type { DecidedPreemption } from './preemption/find-preemption';
import { type Attempt, type DecisionStart, startDecision } from './start-decision';

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
      /** Parts of the decision by kind, for a gang of several kinds. */
      readonly kinds?: readonly DecidedKind[] | undefined;
    }
  | {
      readonly kind: 'refused';
      readonly basis: DecisionBasis | undefined;
      readonly diagnosis: Diagnosis;
      readonly preemption: DecidedPreemption | undefined;
    };

export type Decided = Extract<Decision, { kind: 'decided' }>;

/** A kind of a gang's members and its part of the decision. */
export interface DecidedKind {
  readonly request: SelectRequest;
  readonly decision: Decided;
}

/** Dependencies of `decide`. */
export interface DecideParts extends DecisionParts {
  /** Takes each decision with all that it follows from, where decisions are recorded. */
  readonly recorder?: DecisionRecorder | undefined;
}

export interface DecisionRecorder {
  decided(request: SelectRequest, attempt: Attempt, decision: Decision, pricing: PricesInUse): void;
}

/**
 * One decision, start to end: take a snapshot of the fleet, see which instances hold a claim already, rank the feasible
 * hosts (filter and weigh), pick one for each instance as if those before were placed, name alternates for all.
 */
export function decide(request: SelectRequest, attempt: Attempt, parts: DecideParts): Decision {
  const decision = decideFrom(startDecision(request, attempt, parts), request, attempt, parts);
  parts.recorder?.decided(request, attempt, decision, parts.pricing);
  return decision;
}

function decideFrom(start: DecisionStart, request: SelectRequest, attempt: Attempt, parts: DecisionParts): Decision {
  const { fleet, rankHosts, settings } = parts;
  const { spec, instanceUuids } = request;
  const { present, snapshot, held, unclaimed, nominations, located, constraints, equivalenceClass } = start;
  const random = seededRandom(attempt.seed);

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
