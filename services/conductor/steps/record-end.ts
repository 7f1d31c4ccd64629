import type { Instance } from '#libs/domain/instance';
import { concernsGang, GANG_FAILED } from '#libs/domain/queueing/gang';
import type { Conductor } from '../conductor';
import { concludeAttempt, leftActive, NO_BYTES, type RecordChange, writeRecord } from '../lifecycle';
import type { Fault, ReconcileInput } from '../observation';
import type { Step } from '../step';
import { after } from './after';
import { release, releaseHeld } from './claims';
import { fenceOf } from './fence-host';
import { releaseMigration } from './moves/migration-claims';
import { attemptsWhenTerminated, destroyOtherSide } from './moves/moves';
import { noteDoubt } from './note-doubt';
import { orderDestroy } from './orders';

/*
 * Ends of an instance: in ERROR, DELETED, or undone with its gang.
 */

/**
 * The record first, then the claim that it named: when the record has changed meanwhile, another conductor goes on with this
 * claim. Whoever dies in between leaves it to who works on the message again, or to the audit.
 */
export async function recordError(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  { fault, claimToken, passedOver }: Extract<Step, { kind: 'record_error' }>,
): Promise<ReconcileInput | undefined> {
  const attempts = [...record.attempts, ...passedOver];
  const dueAtMs = owedToGangAtMs(c, { ...record, fault });
  const change = { ...closed('error'), fault, attempts, alternates: NO_BYTES, dueAtMs };
  const result = await writeRecord(c, record, change);
  if (result.kind === 'written' && claimToken !== undefined) await release(c, record, claimToken);
  if (result.kind === 'written') await releaseMigration(c, record);
  // A record that names no claim may hold one all the same, of an earlier try that was interrupted.
  const isReleased = claimToken !== undefined;
  return after(look, result, isReleased && dueAtMs === undefined ? undefined : { kind: 'interrupted' });
}

export async function recordDeleting(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  fault?: Fault,
): Promise<ReconcileInput | undefined> {
  const result = await writeRecord(c, record, {
    state: 'deleting',
    // An instance in ERROR was on its host, if at all, only until its claim was released.
    host: record.state === 'error' ? undefined : record.host,
    attempts: attemptsWhenTerminated(record),
    alternates: NO_BYTES,
    dueAtMs: c.clock.now() + c.config.destroyTimeoutMs,
    waiting: undefined,
    ...(fault ? { fault } : {}),
  });
  if (result.kind === 'written') await destroyOtherSide(c, result.record);
  return after(look, result, { kind: 'nothing' });
}

/** From now on nothing that any host built of it is to stay. Its claim is released when its host has destroyed it. */
export async function recordUndoing(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  fault: Fault,
): Promise<ReconcileInput | undefined> {
  const nowMs = c.clock.now();
  const attempts = leftActive(concludeAttempt(record, 'rolled_back', GANG_FAILED, nowMs), 'rolled_back');
  const dueAtMs = nowMs + c.config.destroyTimeoutMs;
  const change = { state: 'undoing', fault, attempts, alternates: NO_BYTES, dueAtMs } as const;
  const result = await writeRecord(c, record, change);
  if (result.kind === 'written') await destroyOtherSide(c, result.record);
  return after(look, result, { kind: 'nothing' });
}

/** Its host is dead and fenced: from now on what it has there is to go, once it is back. Its gang is settled when its record is closed. */
export async function recordGivenUp(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  fault: Fault,
): Promise<ReconcileInput | undefined> {
  const fenced = await fenceOf(c, record.host ?? '');
  if ('fault' in fenced) return undefined;
  const attempts = leftActive(record.attempts, 'evacuated');
  const dueAtMs = c.clock.now() + c.config.destroyTimeoutMs;
  const change = { state: 'undoing', fault, attempts, alternates: NO_BYTES, dueAtMs } as const;
  const result = await writeRecord(c, record, change, fenced.fence);
  return after(look, result, { kind: 'nothing' });
}

/** Its host has destroyed it, or does not say so: what it holds is released. */
export async function closeRecord(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  { isConfirmed }: Extract<Step, { kind: 'close_record' }>,
): Promise<ReconcileInput | undefined> {
  if (!isConfirmed) {
    const fields = { event: 'destroy_unconfirmed', instance_uuid: record.uuid, host: record.host };
    c.log.warn(fields, 'closing the record without an answer from its host');
    await noteDoubt(c, look, 'destroy_owed', 'its host did not say that it is destroyed');
    if (record.state === 'undoing' || look.observed.kind === 'nothing') await destroyOnceMore(c, record);
  }
  // Whoever recorded that it is to go may have died before the other side of its move was told.
  await destroyOtherSide(c, record);
  await releaseHeld(c, record);
  await releaseMigration(c, record);
  const end =
    record.state === 'undoing' ? { ...closed('error'), dueAtMs: owedToGangAtMs(c, record) } : closed('deleted');
  // A claim made after this write is released by its maker, who then finds the instance at its end.
  return after(look, await writeRecord(c, record, end), { kind: 'interrupted' });
}

/** When any conductor settles the end of a member with its gang; undefined where its end does not concern the gang. */
function owedToGangAtMs(c: Conductor, record: Parameters<typeof concernsGang>[0]): number | undefined {
  return concernsGang(record) ? c.clock.now() + c.config.schedulingTimeoutMs : undefined;
}

/** Whoever recorded that it is to go may have died before the order, and no message brings anybody back to that. */
async function destroyOnceMore(c: Conductor, record: Instance): Promise<void> {
  const { uuid, host, claimToken = 0 } = record;
  if (host === undefined) return;
  await orderDestroy(c, uuid, { kind: 'destroy', host, attempt: 0, claimToken, reports: false }, record);
}

/** At rest: counts on no claim, waits for nothing. */
function closed(state: 'error' | 'deleted'): RecordChange {
  const nothing = { claimToken: undefined, dueAtMs: undefined, waiting: undefined } as const;
  return { ...nothing, state, formerState: undefined, migration: undefined };
}
