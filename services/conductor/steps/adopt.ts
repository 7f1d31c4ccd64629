import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Attempt, Instance } from '#libs/domain/instance';
import { requestSpec } from '#libs/domain/request-spec';
import type { Conductor } from '../context';
import { createRecords, evacuated, NO_BYTES, writeRecord } from '../lifecycle';
import type { Look, RunningAt } from '../observation';
import { after } from './after';

/**
 * An instance that runs, though the store has forgotten that it was built, or all of it: what a scheduler sealed says whose
 * it is, its host only that it runs.
 */
export async function adopt(c: Conductor, look: Look, seen: RunningAt): Promise<Look | undefined> {
  const { host, at, isClaimed, instance, voucher } = seen;
  if (!voucher) return undefined;
  const nowMs = c.clock.now();
  const { uuid } = look;
  const attempt: Attempt = {
    host,
    number: instance.attempt,
    outcome: 'active',
    reason: 'adopted',
    startedAtMs: nowMs,
    endedAtMs: nowMs,
  };
  const active = {
    state: instance.powerState === 'shutdown' ? 'stopped' : 'active',
    host,
    attempts: [...(look.record ? evacuated(look.record) : []), attempt],
    allocationRequest: instance.allocationRequest,
    // What it holds may be what an older record names, on another host: the audit looks.
    claimToken: undefined,
    alternates: NO_BYTES,
    missingIn: undefined,
    // Without a claim the same observation makes it next.
    activeAt: isClaimed ? at : undefined,
    waiting: undefined,
    dueAtMs: undefined,
    formerState: undefined,
  } as const;
  if (look.record) return after(look, await writeRecord(c, look.record, active), look.observed);
  const { projectId, userId, resources } = voucher;
  const record: Instance = {
    ...active,
    uuid,
    // A request of its own: the one it came with may have had instances on hosts that have not reported yet.
    requestId: uuid,
    name: instance.name,
    projectId,
    userId,
    fault: undefined,
    requestSpec: requestSpecCodec.encode(requestSpec(resources, { projectId, userId })),
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  const { instances } = await createRecords(c, uuid, [record]);
  return { ...look, record: instances[0] };
}
