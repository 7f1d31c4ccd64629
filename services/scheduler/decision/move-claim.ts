import type { Move } from '#libs/contracts/selection';
import { type Consumer, isClaimOf } from '#libs/domain/consumer';
import { BerthError } from '#libs/domain/errors';
import { keptForMove } from '#libs/domain/moves/kept-for-move';
import { MIGRATION_CONSUMER } from '#libs/domain/moves/migration';
import type { Membership } from '#libs/domain/server-group';
import type { ConsumerGuard, ConsumerWrite } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Candidate } from '#libs/placement/search/query';

type Consumers = Pick<PlacementView, 'consumer'>;

/**
 * The stage of a move's claims: `not begun` (the instance holds what it held when the move was asked for), `made` (the
 * migration holds its part), or neither (the instance's claim is not the one to be moved). A move made in place may leave
 * its migration nothing to hold; then a later claim at its source that `isWanted` is the move's own.
 */
export function stageOf(
  move: Move,
  instanceUuid: string,
  view: Consumers,
  isWanted: (held: Consumer) => boolean,
): 'to_claim' | 'claimed' | 'changed' {
  const held = view.consumer(instanceUuid);
  if (held?.claimToken === move.claimToken) return 'to_claim';
  const kept = view.consumer(move.migrationUuid);
  // Both were claimed in one commit.
  if (held && isClaimOf(held, kept, MIGRATION_CONSUMER) && kept.claimToken === held.claimToken) return 'claimed';
  return held && !kept && held.claimToken > move.claimToken && isWanted(held) ? 'claimed' : 'changed';
}

/**
 * The write by which a migration gets what an instance holds now, `keptForMove`: in one commit with the one by which the instance gets its
 * destination's (Nova's migration-based allocations). What an earlier migration of the instance has left is replaced.
 *
 * @throws BerthError `failed_precondition / migration_uuid_taken` when the uuid is another kind of consumer's, or another project's: by
 *   that of an instance from before no such uuid could be chosen.
 */
export function migrationWrite(
  { migrationUuid: uuid }: Move,
  held: Consumer,
  next: Pick<Candidate, 'rootUuid' | 'allocations'> & { readonly group: Membership | undefined },
  view: Pick<PlacementView, 'consumer' | 'provider'>,
): ConsumerWrite {
  const left = view.consumer(uuid);
  if (left && !isClaimOf(held, left, MIGRATION_CONSUMER)) {
    const end =
      view.consumer(uuid)?.owner === 'api' ? 'delete its allocations at the placement API' : 'terminate the instance';
    const message = `instance ${held.uuid} can't be moved: consumer ${uuid} has the uuid by which its source would be held; ${end} of that uuid, and move it again`;
    throw new BerthError('failed_precondition', 'migration_uuid_taken', message);
  }
  const expect: ConsumerGuard = left ? { kind: 'claim', claimToken: left.claimToken } : { kind: 'absent' };
  const { projectId, userId, allocations, mappings, flavor } = held;
  const isInPlace = Object.keys(allocations).some((one) => view.provider(one)?.rootUuid === next.rootUuid);
  const who = { uuid, projectId, userId, consumerType: MIGRATION_CONSUMER, owner: 'conductor', flavor } as const;
  const kept = keptMembership(held, next.group);
  return {
    ...who,
    ...keptForMove(allocations, next.allocations, isInPlace),
    mappings,
    expect,
    ...(kept && { group: kept }),
  };
}

/** The place that a member leaves counts for its group as long as it may go back there. In place it leaves none. */
function keptMembership(held: Consumer, to: Membership | undefined): Membership | undefined {
  const { groupId, groupHost, groupDomain } = held;
  if (!to || groupId !== to.group.id || groupHost === undefined || groupHost === to.host) return undefined;
  const spread = groupDomain && { domain: groupDomain.domain, among: [] };
  return { group: to.group, host: groupHost, kept: { movedTo: to.spread?.domain ?? '' }, ...(spread && { spread }) };
}

/** The instance holds another claim than its move knows, or none: an audit settles it. */
export function claimChanged(instanceUuid: string): BerthError {
  const message = `what instance ${instanceUuid} holds is not what was to be moved; try again after the next audit`;
  return new BerthError('failed_precondition', 'claim_changed', message);
}
