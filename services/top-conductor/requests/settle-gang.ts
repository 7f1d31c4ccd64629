import { MAX_INSTANCES_PER_REQUEST } from '#libs/contracts/limits';
import { hasBeenActive, type Instance } from '#libs/domain/instance';
import { GANG_FAILED, gangFault } from '#libs/domain/queueing/gang';
import { endInCell } from '../cells/end-in-cell';
import type { TopConductor } from '../context';
import { changeRecord, dueIn } from '../records';

/** All instances of a request that are on record. */
export function membersOf(t: TopConductor, requestId: string): Promise<Instance[]> {
  return t.instances.list({ requestId }, undefined, MAX_INSTANCES_PER_REQUEST);
}

/** Whether what its failure means for its gang is to be seen yet. */
export function owesGang(record: Pick<Instance, 'state' | 'gang' | 'fault' | 'attempts'>): boolean {
  const { state, gang, fault } = record;
  return state === 'error' && gang !== undefined && fault?.reason !== GANG_FAILED && !hasBeenActive(record);
}

/**
 * Settles failures with their gang. One that is in one cell is that cell's to settle; of one that spans cells, whose members each cell
 * builds for themselves, the top ends the others when too few can become ACTIVE, by the rule of the cells. Whoever dies on the way
 * leaves a failed record that is due.
 */
export async function settleGang(t: TopConductor, requestId: string): Promise<void> {
  const members = await membersOf(t, requestId);
  const isDivided = new Set(members.flatMap(({ cell }) => (cell ? [cell.name] : []))).size > 1;
  const fault = isDivided ? gangFault(members) : undefined;
  if (fault) {
    const others = members.filter((member) => !ENDED.includes(member.state));
    t.log.warn({ event: 'gang_failed', request_id: requestId, instances: others.length }, fault.message);
    await Promise.all(others.map((member) => endWith(t, member, fault)));
  }
  for (const { uuid } of members.filter(owesGang)) {
    await changeRecord(t, uuid, (record) => {
      return owesGang(record) && record.dueAtMs !== undefined ? { dueAtMs: undefined } : undefined;
    });
  }
}

const ENDED: readonly Instance['state'][] = ['error', 'deleting', 'deleted'];

async function endWith(t: TopConductor, { uuid }: Instance, fault: NonNullable<Instance['fault']>): Promise<void> {
  const changed = await changeRecord(t, uuid, ({ state, cell }) => {
    if (ENDED.includes(state)) return undefined;
    if (cell === undefined) return { state: 'error', fault, dueAtMs: undefined };
    const ending = { ...cell, isEnding: true, endedBy: fault };
    return { state: 'deleting', fault, cell: ending, dueAtMs: dueIn(t, 'deleting', true) };
  });
  if (changed?.cell?.isEnding) {
    await endInCell(t, changed).catch(() => t.log.debug({ instance_uuid: uuid }, 'ended later'));
  }
}
