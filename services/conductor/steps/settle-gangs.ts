import { MAX_INSTANCES_PER_REQUEST } from '#libs/contracts/limits';
import type { Instance } from '#libs/domain/instance';
import { gangFault } from '#libs/domain/queueing/gang';
import type { ConductorContext } from '../context';
import { writeRecord } from '../lifecycle';
import { lookAt, type ReconcileInput } from '../observation';
import { toBeUndone } from '../reconcile/gang';

/**
 * Settles the failures of members with their gangs. Where a gang has failed, all who are not at their end are looked at with
 * that; once it stands on the record of each, the failures are settled. Whoever dies on the way leaves a record that is due.
 *
 * @param lookAtAll  the loop itself
 * @throws BerthError as the loop; nothing is settled then, and it may be begun again.
 */
export async function settleGangs(
  c: ConductorContext,
  looks: readonly ReconcileInput[],
  lookAtAll: (looks: readonly ReconcileInput[]) => Promise<unknown>,
): Promise<ReconcileInput[]> {
  const requests = [...new Set(looks.flatMap(({ record }) => (record ? [record.requestId] : [])))];
  await Promise.all(
    requests.map(async (requestId) => {
      const members = await membersOf(c, requestId);
      const fault = gangFault(members);
      if (!fault) return;
      const others = toBeUndone(members);
      const fields = { event: 'gang_failed', request_id: requestId, instances: others.length, reason: fault.message };
      if (others.length > 0) c.log.warn(fields, 'gang failed, undoing its other instances');
      const observed = { kind: 'gang_failed', fault } as const;
      await lookAtAll(others.map((member) => lookAt(member, observed)));
    }),
  );
  return Promise.all(looks.map((look) => settled(c, look)));
}

/** All instances of a request that are on record. */
export function membersOf(c: ConductorContext, requestId: string): Promise<Instance[]> {
  return c.instances.list({ requestId }, undefined, MAX_INSTANCES_PER_REQUEST);
}

/** Looks at the observation once more, now that the record owes its gang nothing. */
async function settled(c: ConductorContext, look: ReconcileInput): Promise<ReconcileInput> {
  if (!look.record) return look;
  const { record } = await writeRecord(c, look.record, { dueAtMs: undefined });
  return { ...look, record };
}
