import type { Clock } from '#libs/domain/clock';
import { type Allocations, isClaimOf } from '#libs/domain/consumer';
import { BerthError } from '#libs/domain/errors';
import { addResources } from '#libs/domain/inventory';
import { MAX_LEASED_PLACES, RESERVATION_CONSUMER, reservationUuidOf } from '#libs/domain/queueing/place-lease';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { ConsumerGuard, ConsumerWrite, PlacementStore } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { SchedulerConfig } from '../../options';
import type { SelectRequest } from '../complete-request';
import type { InstanceDestination } from '../decide';
import type { HostForInstance } from '../pick-hosts';
import { failureRate } from './failure-rate';
import type { NoteNotHeld } from './not-held';

/** Holds the alternates of a request's instances, as far as it can: they are alternates all the same where it can't. */
export type HoldAlternates = (destinations: readonly InstanceDestination[], request: SelectRequest) => Promise<void>;

export interface HoldParts {
  readonly placement: Pick<PlacementStore, 'commit'>;
  readonly mirror: PlacementView & Pick<Mirror, 'apply'>;
  readonly clock: Clock;
  readonly notHeld: NoteNotHeld;
  readonly config: Pick<SchedulerConfig, 'leaseMs' | 'failureHalfLifeMs'>;
}

/**
 * Leases or reserves alternates, once their instances are claimed and before anybody is told of them.
 *
 * The naive way to keep an alternate free is to claim it. That is `reserved`, and with two alternates each build takes three
 * times the room for as long as it lasts, while of a hundred builds perhaps five need their first alternate. So `leased` says
 * who would like to have it and how likely that is; claims are not checked against it, and other decisions keep away from that
 * room while there is other room (`weighers/leases.ts`). Leases on one host overlap by the measured failure rates.
 *
 * Whoever dies here leaves claims without leases, or a reservation that nobody was told of: the caller asks again, and both are
 * made anew; and what is left over ends by itself, a lease by its time, a reservation by the conductors' audit.
 */
export function alternateHolder(parts: HoldParts): HoldAlternates {
  return async (destinations, request) => {
    const { alternatesHeld } = request;
    if (alternatesHeld === undefined) return;
    const [hold, what] =
      alternatesHeld === 'leased' ? [lease, 'alternates' as const] : [reserve, 'reservation' as const];
    const withAlternates = destinations.filter(({ alternates }) => alternates.length > 0);
    await Promise.all(
      withAlternates.map(async (one) => {
        const why = await hold(one, request, parts).catch((thrown: unknown) => BerthError.from(thrown).reason);
        if (why !== undefined) parts.notHeld(what, one.instanceUuid, why);
      }),
    );
  };
}

/** Why not, if it could not: as `reserve`. */
async function lease(
  { instanceUuid: consumerUuid, selected, alternates }: InstanceDestination,
  { spec: { projectId }, priority = 0 }: SelectRequest,
  { placement, mirror, clock, config }: HoldParts,
): Promise<string | undefined> {
  const nowMs = clock.now();
  // Each is needed when all before it have failed.
  let likelihood = 1;
  let before = selected.host;
  const places = alternates.slice(0, MAX_LEASED_PLACES).map(({ host, candidate: { rootUuid, allocations } }) => {
    likelihood *= failureRate(before, mirror, nowMs, config.failureHalfLifeMs);
    before = host;
    return { rootUuid, allocations, likelihood: Math.round(likelihood * 10_000) / 10_000 };
  });
  const untilMs = nowMs + config.leaseMs;
  const about = { kind: 'alternates', consumerUuid, projectId, priority, untilMs, places } as const;
  const result = await placement.commit({ kind: 'write_lease', atMs: nowMs, lease: about });
  if (result.kind !== 'committed') return result.kind;
  mirror.apply(result.change);
  return undefined;
}

/**
 * All of them in one claim, or, when some do not fit any more, those that do; the best come last to be left out.
 *
 * @returns why nothing is reserved, if it is for another reason
 */
async function reserve(
  { instanceUuid, alternates }: InstanceDestination,
  { spec: { projectId, userId } }: SelectRequest,
  { placement, mirror, clock }: HoldParts,
): Promise<string | undefined> {
  const uuid = reservationUuidOf(instanceUuid);
  const present = mirror.consumer(uuid);
  if (present && !isClaimOf({ projectId }, present, RESERVATION_CONSUMER)) return 'owner';
  const expect: ConsumerGuard = present ? { kind: 'claim', claimToken: present.claimToken } : { kind: 'absent' };
  let left = alternates;
  for (;;) {
    const write = { ...reservation(uuid, projectId, userId), allocations: sumOf(left), expect };
    const result = await placement.commit({
      kind: 'write_allocations',
      atMs: clock.now(),
      withinQuota: true,
      consumers: [write],
    });
    switch (result.kind) {
      case 'committed':
        mirror.apply(result.change);
        return undefined;
      case 'unchanged':
        return undefined;
      case 'capacity':
      case 'nominated':
      case 'reserved':
      case 'quota':
      case 'not_found':
        if (left.length === 0) return undefined;
        break;
      default:
        return result.kind;
    }
    left = without(left, 'providerUuid' in result ? result.providerUuid : undefined);
  }
}

/** Without the last one that takes something of a provider; without the last of all, when none does. */
function without(alternates: readonly HostForInstance[], providerUuid: string | undefined): readonly HostForInstance[] {
  const takes = ({ candidate }: HostForInstance) => providerUuid !== undefined && providerUuid in candidate.allocations;
  const at = alternates.findLastIndex(takes);
  return at < 0 ? alternates.slice(0, -1) : alternates.toSpliced(at, 1);
}

function sumOf(alternates: readonly HostForInstance[]): Allocations {
  const sum: Record<string, Allocations[string]> = {};
  for (const { candidate } of alternates) {
    for (const [uuid, resources] of Object.entries(candidate.allocations)) {
      sum[uuid] = addResources(sum[uuid] ?? {}, resources);
    }
  }
  return sum;
}

/** The writes that give back what is reserved for instances, in the commit in which they are claimed anew. */
export function freedReservations(
  instanceUuids: readonly string[],
  { alternatesHeld, spec: { projectId, userId } }: Pick<SelectRequest, 'alternatesHeld' | 'spec'>,
  view: Pick<PlacementView, 'consumer'>,
): readonly ConsumerWrite[] {
  if (alternatesHeld !== 'reserved') return [];
  return instanceUuids.flatMap((instanceUuid): readonly ConsumerWrite[] => {
    const uuid = reservationUuidOf(instanceUuid);
    const held = view.consumer(uuid);
    if (!isClaimOf({ projectId }, held, RESERVATION_CONSUMER)) return [];
    return [{ ...reservation(uuid, projectId, userId), allocations: {}, expect: { kind: 'any' } }];
  });
}

function reservation(uuid: string, projectId: string, userId: string) {
  return { uuid, projectId, userId, consumerType: RESERVATION_CONSUMER, owner: 'conductor', mappings: {} } as const;
}
