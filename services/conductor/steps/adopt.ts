import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Attempt, Instance } from '#libs/domain/instance';
import { type Admission, NO_ADMISSION } from '#libs/domain/queueing/admission';
import { requestSpec } from '#libs/domain/request-spec';
import type { AllocationRequest } from '#libs/placement/sealed/allocation-request';
import type { Conductor } from '../conductor';
import { createRecords, endByTimeLimit, evacuated, leftActive, NO_BYTES, writeRecord } from '../lifecycle';
import { readLostWrites } from '../lost-writes';
import type { ReconcileInput, RunningAt } from '../observation';
import { after } from './after';
import { claimSealed, sealedFor } from './claims';
import { noteDoubt } from './note-doubt';

/**
 * An instance that is there, though the store has forgotten that it was built, or all of it: what a scheduler sealed says whose
 * it is, its host only that it is there. Where its record has it, by a later attempt, its host says so without that.
 */
export async function adopt(c: Conductor, look: ReconcileInput, seen: RunningAt): Promise<ReconcileInput | undefined> {
  const { host, at, isClaimed, instance, voucher } = seen;
  const { uuid, record: older } = look;
  const nowMs = c.clock.now();
  const attempt: Attempt = {
    host,
    number: instance.attempt,
    outcome: 'active',
    reason: 'adopted',
    startedAtMs: nowMs,
    endedAtMs: nowMs,
  };
  // An operation asked for on its host is still to be done.
  const asked = older?.state === 'stopping' || older?.state === 'starting' ? older : undefined;
  const isShown = instance.allocationRequest.length > 0;
  const request = sealedFor(c, instance.allocationRequest, uuid, host);
  const active = {
    state: asked?.state ?? (instance.powerState === 'shutdown' ? 'stopped' : 'active'),
    host,
    attempts: [...(older ? leftElsewhere(older, host, nowMs) : []), attempt],
    allocationRequest: isShown || !older ? instance.allocationRequest : older.allocationRequest,
    // Its claim may be an older record's, on another host: the audit looks.
    claimToken: undefined,
    alternates: NO_BYTES,
    missingIn: undefined,
    // Without a claim the same observation makes it next.
    activeAt: isClaimed ? at : undefined,
    waiting: undefined,
    dueAtMs: asked?.dueAtMs,
    // By what was sealed with its claim, which reservations count on: its first ACTIVE may be forgotten.
    endsAtMs: older?.endsAtMs ?? request?.endsAtMs ?? (older && endByTimeLimit(older, nowMs)),
    formerState: undefined,
    // An audit gives back the claims of a forgotten move.
    ...(older && !keepsMove(older, host) ? { migration: undefined } : {}),
  } as const;
  if (older) return after(look, await writeRecord(c, older, active), look.observed);
  if (!voucher) return undefined;
  const { isSealed = false, projectId, userId, resources } = voucher;
  const claimed = request && isSealed && !isClaimed ? await claimSealed(c, request, voucher.capacities) : undefined;
  if (claimed?.kind === 'above_total') {
    await noteDoubt(c, look, 'unknown_instance', `${claimed.why}: adopt or destroy it (berth audit)`);
    return undefined;
  }
  if (claimed?.kind === 'above_quota') {
    const fields = { event: 'adopted_above_quota', instance_uuid: uuid, project_id: projectId, host, why: claimed.why };
    c.log.warn(fields, 'adopted instance exceeds the quota of its project');
  }
  const { upToMs } = await readLostWrites(c);
  const reason = claimed?.kind === 'above_quota' ? 'adopted_above_quota' : attempt.reason;
  const record: Instance = {
    ...active,
    attempts: [{ ...attempt, reason }],
    uuid,
    // A request of its own: the one it came with may have had instances on hosts that have not reported yet.
    requestId: uuid,
    name: instance.name,
    projectId,
    userId,
    fault: undefined,
    requestSpec: requestSpecCodec.encode(
      requestSpec(resources, { projectId, userId, reservation: request?.reservation }),
    ),
    admission: sealedAdmission(request),
    version: 1,
    // It is from before the loss, and when it ends its record is kept as long as its seal proves that it was lost.
    createdAtMs: request ? Math.min(request.sealedAtMs ?? upToMs, nowMs) : nowMs,
    updatedAtMs: nowMs,
  };
  const { instances } = await createRecords(c, uuid, [record]);
  return { ...look, record: instances[0] };
}

/** The part of its admission that was sealed with its claim. */
function sealedAdmission({
  priority = 0,
  isProtected = false,
}: Partial<AllocationRequest> = {}): Admission | undefined {
  return priority !== 0 || isProtected ? { ...NO_ADMISSION, priority, isProtected } : undefined;
}

/** A move that has not arrived by its record is over: the instance is elsewhere, or is back. */
function keepsMove({ host: own, state }: Instance, host: string): boolean {
  return own === host && state !== 'resize' && state !== 'migrating';
}

/** A copy that a move or a dead host left elsewhere is superseded. */
function leftElsewhere(older: Instance, host: string, nowMs: number): readonly Attempt[] {
  return older.host === host ? older.attempts : leftActive(evacuated(older, nowMs), 'moved');
}
