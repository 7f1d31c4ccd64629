import type { PlaceLease } from '#libs/domain/queueing/place-lease';
import type { Random } from '#libs/domain/random';
import { groupKey } from '#libs/domain/server-group';
import type { FleetSnapshot } from '../../fleet/fleet-snapshot';
import type { LocatedRequest } from '../../fleet/located-request';
import { askedOf, quotaExceeded } from '../../fleet/quota-exceeded';
import { Judgement } from '../../ranking/judgement';
import { RequestConstraints } from '../../ranking/request-constraints';
import type { EquivalenceClass } from '../../request/equivalence-class';
import type { SelectRequest } from '../complete-request';
import type { DecisionParts } from '../pick-hosts';
import { type Picks, pickHosts } from '../pick-hosts';
import type { DecidedPreemption } from './find-preemption';
import { type FoundPreemption, findPreemption } from './find-preemption';
import { sparedLenders } from './lent-quota';
import { findReclaim } from './reclaim';

/** A decision that ended without a host for some instances. */
export interface RefusedDecision {
  readonly request: SelectRequest;
  /** Its instances that hold no claim. */
  readonly unclaimed: readonly string[];
  readonly equivalenceClass: EquivalenceClass;
  readonly snapshot: FleetSnapshot;
  readonly located: LocatedRequest;
  readonly nominations: readonly PlaceLease[];
  /** Those that found a host before one did not. */
  readonly picked: Picks;
}

/** Finds a preemption for a refused request; if a quota refused it, among those who borrowed that quota. */
export function decidePreemption(
  refused: RefusedDecision,
  random: Random,
  parts: DecisionParts,
): DecidedPreemption | undefined {
  const { request, unclaimed, equivalenceClass, located, nominations, picked } = refused;
  const about = {
    equivalenceClass,
    judgement: new Judgement(equivalenceClass, parts.settings, parts.pricing.prices),
    view: parts.fleet.view,
    random,
    priority: request.priority ?? 0,
  };
  const { snapshot, constraints, picks } = picked;
  const asked = askedOf(request.spec, unclaimed.length);
  const preemptor = { projectId: request.spec.projectId, priority: about.priority, asked };
  const isSpared = sparedLenders(preemptor, about.view.quotas);
  const found =
    located.quotaExceeded.length > 0
      ? reclaim()
      : withPlacesOf(
          picks,
          findPreemption({ ...about, snapshot, constraints, isSpared }, unclaimed.length - picks.length),
        );
  if (found === undefined) return undefined;
  const places = found.places.map((place, n) => [unclaimed[n] as string, place] as const);
  return { view: found.view, places: new Map(places) };

  function reclaim(): FoundPreemption | undefined {
    const { spec } = request;
    const { fleet, settings } = parts;
    const start = {
      snapshot: refused.snapshot,
      constraints: new RequestConstraints({ ...located, quotaExceeded: [] }, settings),
    };
    const group = spec.group && groupKey(spec.projectId, spec.group.id);
    const anyway = pickHosts(unclaimed, start, { ...parts, equivalenceClass, group, random });
    const instanceCount = unclaimed.length;
    return findReclaim({
      ...about,
      ...start,
      fleet,
      projectId: spec.projectId,
      instanceCount,
      asked,
      places: anyway.kind === 'picked' ? anyway.picks.map(({ claim }) => claim) : undefined,
      excessWithout: (givenBack) => quotaExceeded(spec, unclaimed, fleet.view, { nominations, givenBack }),
    });
  }
}

function withPlacesOf(picks: Picks['picks'], found: FoundPreemption | undefined): FoundPreemption | undefined {
  return found && { ...found, places: [...picks.map(({ claim }) => claim), ...found.places] };
}
