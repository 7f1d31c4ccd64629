import { type Consumer, isClaimOf } from '#libs/domain/consumer';
import { BerthError } from '#libs/domain/errors';
import type { Instance, InstanceState } from '#libs/domain/instance';
import { RESERVATION_CONSUMER, reservationUuidOf, withoutPlace } from '#libs/domain/queueing/place-lease';
import type { ConsumerWrite } from '#libs/placement/port/placement-store';
import type { AllocationRequest } from '#libs/placement/sealed/allocation-request';
import type { ConductorContext } from '../context';
import { release } from '../steps/claims';

/** The states in which an instance may come to need an alternate. */
export const NEEDING_ALTERNATES: readonly InstanceState[] = ['scheduling', 'building', 'rebuilding', 'unshelving'];

/** And those from which it ends: a conductor that was slow may have held something again. */
const MAY_HOLD: readonly InstanceState[] = [...NEEDING_ALTERNATES, 'deleting', 'undoing'];

/** The reservation for an instance's alternates, if its request wants one and it still holds. */
export async function reservationOf(c: ConductorContext, record: Instance): Promise<Consumer | undefined> {
  if (record.admission?.alternatesHeld !== 'reserved') return undefined;
  const [held] = await c.placement.consumers([reservationUuidOf(record.uuid)]);
  return isClaimOf(record, held, RESERVATION_CONSUMER) ? held : undefined;
}

/**
 * In the commit in which an alternate is claimed its part of the reservation is given back: so nobody comes in between. Of that
 * commit it is the guard of the instance that counts; a reservation that was ended meanwhile is ended again with the build.
 */
export function withoutClaimed(held: Consumer, { allocations }: AllocationRequest): ConsumerWrite {
  const { uuid, projectId, userId } = held;
  const about = { consumerType: RESERVATION_CONSUMER, owner: 'conductor', mappings: {} } as const;
  const left = withoutPlace(held.allocations, allocations);
  return { uuid, projectId, userId, ...about, allocations: left, expect: { kind: 'any' } };
}

/**
 * Ends what holds the alternates of an instance that will not need them any more: a reservation, a lease, or the nomination of
 * one that waited. Where that fails an audit ends the reservation, and time the lease.
 */
export async function endHeldAlternates(
  c: ConductorContext,
  before: Instance,
  { state, uuid }: Instance,
): Promise<void> {
  if (NEEDING_ALTERNATES.includes(state) || state === 'pending') return;
  const mayHold = MAY_HOLD.includes(before.state);
  const isLeased = mayHold && before.admission?.alternatesHeld === 'leased';
  const isNominated = before.waiting?.preemption !== undefined;
  try {
    const atMs = c.clock.now();
    if (isLeased || isNominated) await c.placement.commit({ kind: 'end_leases', atMs, consumerUuids: [uuid] });
    const held = mayHold ? await reservationOf(c, before) : undefined;
    if (held === undefined) return;
    await release(c, held, held.claimToken);
  } catch (thrown) {
    const { reason } = BerthError.from(thrown);
    const fields = { event: 'alternates_still_held', instance_uuid: uuid, reason };
    c.log.info(fields, 'alternates not released: their leases expire');
  }
}
