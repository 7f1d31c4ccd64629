import type { Attempt, Instance } from '#libs/domain/instance';
import type { Conductor } from '../conductor';
import { concludeAttempt, leftActive, NO_BYTES, writeRecord } from '../lifecycle';
import type { Fault, NoHost, ReconcileInput } from '../observation';
import { type FullPlaces, placesOfProject } from '../pending/pending-queue';
import { isKeptStopped } from '../reconcile/moves';
import type { Step } from '../step';
import { after } from './after';
import { readClaim, release } from './claims';
import { releaseMigration } from './moves/migration-claims';

/**
 * Records that an instance waits, for what, and whose place it takes. One that comes new is refused when as many wait as
 * may: that ends it, as without waiting.
 */
export async function recordPending(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  step: PendingStep,
): Promise<ReconcileInput | undefined> {
  if (record.state === 'pending') return writePending(c, look, record, step);
  const { projectId } = record;
  const full = await c.pending.reserve(projectId, 1, c.config);
  if (full !== undefined) return { ...look, observed: queueIsFull(c, projectId, full, step.fault) };
  try {
    return await writePending(c, look, record, step);
  } finally {
    c.pending.written(projectId, 1);
  }
}

async function writePending(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  { fault, waitsFor, preemption }: PendingStep,
): Promise<ReconcileInput | undefined> {
  const isNew = record.state !== 'pending';
  const nowMs = c.clock.now();
  const { sinceMs, untilMs } = record.state === 'pending' ? record.waiting : waitFrom(record, nowMs);
  // The preempted may need all of its time to leave; a host that never answers is not waited for without end.
  const toGoMs = 2 * c.config.destroyTimeoutMs;
  const mostMs = waitFrom(record, sinceMs).untilMs + toGoMs;
  const lastsMs = preemption === undefined ? untilMs : Math.min(Math.max(untilMs, nowMs + toGoMs), mostMs);
  const waiting = { sinceMs, untilMs: lastsMs, waitsFor, preemption };
  const result = await writeRecord(c, record, { state: 'pending', fault, waiting, dueAtMs: lastsMs });
  if (result.kind === 'written') {
    const { uuid: instance_uuid, requestId: request_id } = record;
    const details = { instance_uuid, request_id, waits_for: waitsFor, host: preemption?.host };
    if (preemption) {
      const fields = { event: 'preempts', ...details, victims: preemption.victims };
      c.log.info(fields, 'preempting instances of lower priority');
    } else if (isNew) c.log.info({ event: 'instance_pending', ...details }, 'no valid host, waiting for capacity');
  }
  return after(look, result, undefined);
}

type PendingStep = Extract<Step, { kind: 'record_pending' }>;

/** Records that an instance is to make room for another; then its host is told to destroy it. */
export async function recordPreempting(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  fault: Fault,
): Promise<ReconcileInput | undefined> {
  const dueAtMs = c.clock.now() + c.config.destroyTimeoutMs;
  const result = await writeRecord(c, record, { state: 'preempting', fault, alternates: NO_BYTES, dueAtMs });
  return after(look, result, { kind: 'interrupted' });
}

/**
 * Its host has destroyed it: releases its claim, and records that it waits again, in the place of its first arrival. What is claimed
 * by a later claim than its record names has had its turn already: this is a copy of what its host said. The record keeps the token, so
 * that a late answer by the released claim is not taken for the next.
 */
export async function recordRequeued(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
): Promise<ReconcileInput | undefined> {
  const holds = await readClaim(c, record.uuid, record);
  const isOwn = holds.kind === 'claim' && holds.claimToken <= (record.claimToken ?? Infinity);
  if (isOwn) await release(c, record, holds.claimToken);
  const waiting = { ...waitFrom(record, c.clock.now()), waitsFor: [] };
  const result = await writeRecord(c, record, {
    state: 'pending',
    host: undefined,
    allocationRequest: NO_BYTES,
    attempts: record.attempts.map((attempt) => asPreempted(attempt, record.fault?.message ?? '', c.clock.now())),
    activeAt: undefined,
    missingIn: undefined,
    endsAtMs: undefined,
    waiting,
    dueAtMs: waiting.untilMs,
  });
  return after(look, result, { kind: 'interrupted' });
}

/** Limit of the wait of an instance that lost its host. */
const MAX_RESTORING_MS = 86_400_000;

/**
 * Its host has lost it, or the one that it was evacuated to has died: records that it waits for a host, with the others that its gang
 * lost, and releases the claim that it had there, and that of a move. The record keeps the token, so that this claim is not taken for
 * the next. A copy that its host shows later was given up. What was stopped is built stopped.
 */
export async function recordRestoring(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  fault: Fault,
): Promise<ReconcileInput | undefined> {
  const nowMs = c.clock.now();
  // A time limit ends it wherever it is.
  const untilMs = Math.min(nowMs + MAX_RESTORING_MS, record.endsAtMs ?? Infinity);
  const waiting = { sinceMs: nowMs, untilMs, waitsFor: [] };
  const result = await writeRecord(c, record, {
    state: 'pending',
    fault,
    host: undefined,
    allocationRequest: NO_BYTES,
    alternates: NO_BYTES,
    attempts: leftActive(concludeAttempt(record, 'evacuated', fault.message, nowMs), 'evacuated'),
    migration: undefined,
    formerState: wasStopped(record) ? 'stopped' : undefined,
    activeAt: undefined,
    missingIn: undefined,
    waiting,
    dueAtMs: waiting.untilMs,
  });
  if (result.kind === 'written') {
    if (record.claimToken !== undefined) await release(c, record, record.claimToken);
    await releaseMigration(c, record);
    const fields = { event: 'lost_instance_waits', instance_uuid: record.uuid, request_id: record.requestId };
    c.log.warn({ ...fields, host: record.host, reason: fault.message }, 'rebuilding an instance that lost its host');
  }
  return after(look, result, undefined);
}

/** Its client stopped it, or asked for that. */
function wasStopped(record: Instance): boolean {
  return record.state === 'stopped' || record.state === 'stopping' || isKeptStopped(record);
}

function asPreempted(attempt: Attempt, reason: string, nowMs: number): Attempt {
  const { outcome } = attempt;
  if (outcome !== 'active' && outcome !== 'building') return attempt;
  return { ...attempt, outcome: 'preempted', reason, endedAtMs: nowMs };
}

function waitFrom({ admission }: Instance, sinceMs: number) {
  return { sinceMs, untilMs: sinceMs + (admission?.waitForCapacityMs ?? 0) };
}

function queueIsFull({ config }: Conductor, projectId: string, which: FullPlaces, { message }: Fault): NoHost {
  const full =
    which === 'all'
      ? `${config.maxPending} instances wait for capacity already (BERTH_CONDUCTOR_MAX_PENDING): ask again later; ${message}`
      : `project '${projectId}' has its ${placesOfProject(config)} places of those who wait for capacity already ` +
        `(BERTH_CONDUCTOR_PENDING_SHARE): end some of them, or ask again later; ${message}`;
  return { kind: 'no_host', fault: { reason: 'pending_full', message: full }, passedOver: [] };
}
