import { isDeepStrictEqual } from 'node:util';
import { isClaimOf } from '#libs/domain/consumer';
import { attemptNumber, type Instance, type Moving } from '#libs/domain/instance';
import { heldTogether, keptForMove } from '#libs/domain/moves/kept-for-move';
import { bytesOf, MIGRATION_CONSUMER } from '#libs/domain/moves/migration';
import type { ConsumerGuard, ConsumerWrite } from '#libs/placement/port/placement-store';
import type { AllocationRequest } from '#libs/placement/sealed/allocation-request';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import type { Conductor } from '../../conductor';
import { readRecord, writeRecord } from '../../lifecycle';
import type { ReconcileInput } from '../../observation';
import { after } from '../after';
import { openRequest, release } from '../claims';
import { noteDoubt } from '../note-doubt';
import { begun, order } from './arrival';

/** Releases a migration's claim, if it is still the one that this move made. */
export async function releaseMigration(c: Conductor, { projectId, migration }: Instance): Promise<void> {
  if (migration === undefined) return;
  const { uuid, claimToken } = migration;
  const kept = claimToken ?? (await c.placement.consumers([uuid]))[0]?.claimToken;
  if (kept !== undefined) await release(c, { uuid, projectId, consumerType: MIGRATION_CONSUMER }, kept);
}

/**
 * Gives an instance back what it held at its source, and releases what it holds at its destination, in one commit: whether it
 * fits or not, for it takes nothing that its migration did not hold.
 *
 * It may be done twice, and by one who is late: claims are read first, then the record. If that is still the one that was looked at,
 * the claims are of this move, and the commit is guarded by their tokens.
 */
export async function giveBack(
  c: Conductor,
  look: ReconcileInput,
  record: Moving,
): Promise<ReconcileInput | undefined> {
  const { uuid, migration } = record;
  const { source } = migration;
  const claims = await c.placement.consumers([uuid, migration.uuid]);
  const current = await readRecord(c, uuid);
  if (current?.version !== record.version) return { ...look, record: current };
  const held = claims.find((one) => one.uuid === uuid && isClaimOf(record, one));
  const kept = claims.find((one) => one.uuid === migration.uuid && isClaimOf(record, one, MIGRATION_CONSUMER));
  const request = openRequest(c, bytesOf(source.allocationRequest));
  // Before both sides are known to be claimed, a scheduler may still be about to: a new token makes its guard fail.
  const isKnown = migration.claimToken !== undefined;
  const isBack =
    isKnown && !kept && held && isDeepStrictEqual(held.allocations, request?.allocations ?? held.allocations);
  let claimToken = isBack ? held.claimToken : undefined;
  const isOneCopy = source.host === migration.destination.host;
  const allocations =
    request?.allocations ?? (kept && heldTogether(kept.allocations, isOneCopy ? (held?.allocations ?? {}) : {}));
  if (!isBack && allocations) {
    const guard = (claim: typeof held): ConsumerGuard =>
      claim ? { kind: 'claim', claimToken: claim.claimToken } : { kind: 'absent' };
    const back = request
      ? claimWrite(request, guard(held))
      : { ...migrationWrite(record, allocations, guard(held)), uuid, consumerType: 'INSTANCE' };
    // A consumer of another kind or project is not this move's to release, and must not hold it up.
    const isOthers = !kept && claims.some((one) => one.uuid === migration.uuid);
    const consumers = isOthers ? [back] : [migrationWrite(record, {}, guard(kept)), back];
    const result = await c.placement.commit({
      kind: 'write_allocations',
      atMs: c.clock.now(),
      force: true,
      consumers,
    });
    if (result.kind === 'generation') return { ...look, record: current, observed: { kind: 'interrupted' } };
    if (result.kind === 'committed') claimToken = result.claimToken;
    else await noteDoubt(c, look, 'claim_refused', result.kind);
  }
  const number = attemptNumber(record) + 1;
  const result = await writeRecord(c, record, {
    ...begun(c, record, source.host, number),
    claimToken,
    allocationRequest: bytesOf(source.allocationRequest),
    requestSpec: bytesOf(source.requestSpec),
  });
  return result.kind === 'written' ? order(c, look, result.record as Moving) : after(look, result, undefined);
}

/** A store that has lost what the migration held is told again. */
export async function holdSource(c: Conductor, record: Moving): Promise<void> {
  const { migration } = record;
  const request = openRequest(c, bytesOf(migration.source.allocationRequest));
  const [kept] = await c.placement.consumers([migration.uuid]);
  const destination = openRequest(c, bytesOf(migration.destination.allocationRequest));
  if (kept || !request || !destination) return;
  const isOneCopy = migration.source.host === migration.destination.host;
  const { allocations, counted } = keptForMove(request.allocations, destination.allocations, isOneCopy);
  // In place, a larger size keeps nothing of the smaller one.
  if (Object.keys(allocations).length === 0) return;
  const membership = keptMembership(request, destination);
  const consumers = [
    { ...migrationWrite(record, allocations, { kind: 'absent' }), counted, flavor: request.flavor, ...membership },
  ];
  const result = await c.placement.commit({ kind: 'write_allocations', atMs: c.clock.now(), force: true, consumers });
  if (result.kind !== 'committed') return;
  await writeRecord(c, record, { migration: { ...migration, claimToken: result.claimToken } });
}

/** The place that it may go back to counts for its group, as when it was claimed. */
function keptMembership(
  source: AllocationRequest,
  present: AllocationRequest | undefined,
): Pick<ConsumerWrite, 'group'> {
  const { group } = claimWrite(source);
  if (!group || present?.host === group.host) return {};
  return { group: { ...group, kept: { movedTo: present?.spreadDomain ?? '' } } };
}

function migrationWrite(
  { projectId, userId, migration }: Moving,
  allocations: ConsumerWrite['allocations'],
  expect: ConsumerGuard,
): ConsumerWrite {
  const who = {
    uuid: migration.uuid,
    projectId,
    userId,
    consumerType: MIGRATION_CONSUMER,
    owner: 'conductor',
  } as const;
  return { ...who, allocations, mappings: {}, expect };
}
