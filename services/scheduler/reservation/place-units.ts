import type { EncodedRequestSpec } from '#libs/contracts/codec';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { isUnplaced, type Reservation, type ReservedUnit } from '#libs/domain/queueing/reservation';
import { seedOf } from '#libs/domain/random';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { completeRequest, type SelectRequest } from '../decision/complete-request';
import { type DecideParts, decide } from '../decision/decide';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { ClassifiedSpec } from '../request/equivalence-class';
import { withUnits } from './reserved-fleet';

export interface PlaceParts extends DecideParts {
  readonly classify: (spec: EncodedRequestSpec) => ClassifiedSpec;
}

/** A unit without a host. */
export const UNPLACED: ReservedUnit = { host: '', rootUuid: '', allocations: {} };

/** Units with their hosts, and why some have none; '' when all have one. */
export interface PlacedUnits {
  readonly units: readonly ReservedUnit[];
  readonly reason: string;
}

/**
 * A host for each unit that has none, by the scheduler's own filters and weighers on the fleet as it is at the start of the
 * window: what ends by then is free, and what other reservations keep in the window is not. One after the other, as if those
 * before were placed.
 */
export function placeUnits(
  { units, ...about }: Omit<Reservation, 'updatedAtMs' | 'reason'>,
  nowMs: number,
  parts: PlaceParts,
): PlacedUnits {
  const request = requestOf(about, nowMs, parts);
  const placed: ReservedUnit[] = [];
  let reason = '';
  const taken = units.filter((unit) => !isUnplaced(unit));
  for (const [n, unit] of units.entries()) {
    if (!isUnplaced(unit)) {
      placed.push(unit);
      continue;
    }
    if (reason !== '') {
      placed.push(UNPLACED);
      continue;
    }
    const asIf = (present: FleetSnapshot) => withUnits({ ...about, units: taken }, parts.fleet, present);
    const attempt = { nowMs, seed: seedOf(about.name) + n, asIf };
    // Flight records have no decisions on other fleets than the present one.
    const decision = decide(request, attempt, { ...parts, recorder: undefined });
    const pick = decision.kind === 'decided' ? decision.toClaim[0] : undefined;
    if (decision.kind === 'refused') reason = decision.diagnosis.summary;
    if (!pick) {
      placed.push(UNPLACED);
      continue;
    }
    const { rootUuid, allocations } = pick.claim;
    const found = { host: pick.host.host.name, rootUuid, allocations };
    placed.push(found);
    taken.push(found);
  }
  return { units: placed, reason };
}

/** The request of one unit. It is no claim: quotas count when an instance is placed. */
function requestOf(
  { name, projectId, requestSpec, fromMs, untilMs }: Omit<Reservation, 'updatedAtMs' | 'reason' | 'units'>,
  nowMs: number,
  { classify, fleet }: PlaceParts,
): SelectRequest {
  const spec = requestSpecCodec.decode(Buffer.from(requestSpec, 'base64'));
  const asked = completeRequest(classify(requestSpecCodec.encode(spec)), fleet);
  const window = {
    projectId,
    reservation: name,
    startsAtMs: Math.max(fromMs, nowMs),
    endsAtMs: untilMs,
    endingOn: endingOn(fleet.view),
  };
  return { ...asked, requestId: name, instanceUuids: [`unit of ${name}`], numAlternates: 0, window };
}

/** Providers with consumers that end by themselves. */
function endingOn(view: Pick<PlacementView, 'consumers'>): ReadonlySet<string> {
  const providers = new Set<string>();
  for (const { endsAtMs, allocations } of view.consumers()) {
    if (endsAtMs !== undefined) for (const uuid in allocations) providers.add(uuid);
  }
  return providers;
}
