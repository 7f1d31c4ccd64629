import { MAX_INSTANCES_PER_REQUEST } from '#libs/contracts/limits';
import { hasBeenActive, type Instance } from '#libs/domain/instance';
import { GANG_FAILED, gangFault } from '#libs/domain/queueing/gang';
import { endInCell } from '../cells/end-in-cell';
import type { TopConductor } from '../context';
import { changeRecord, dueIn, type RecordChange, requestIn } from '../records';

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
 * Settles failures with their gang. One that a cell has as one request is that cell's to settle; of one that is in parts, of several cells or
 * zones, each of which is built for itself, the top ends the others when too few can become ACTIVE, by the rule of the cells. Whoever dies on the way
 * leaves a failed record that is due.
 */
export async function settleGang(t: TopConductor, requestId: string): Promise<void> {
  const members = await membersOf(t, requestId);
  const parts = members.flatMap((member) => (member.cell ? [`${member.cell.name} ${requestIn(member)}`] : []));
  const isDivided = new Set(parts).size > 1;
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

/** Ends instances of one request in ERROR, those that may still by then, and settles their failures with their gang, once. */
export async function failAtTop(
  t: TopConductor,
  instances: readonly Pick<Instance, 'uuid'>[],
  fault: NonNullable<Instance['fault']>,
  mayFail: (record: Instance) => boolean,
): Promise<void> {
  const fail = (record: Instance): RecordChange | undefined => {
    if (!mayFail(record)) return undefined;
    const failed = { ...record, state: 'error', fault } as const;
    return { state: 'error', fault, dueAtMs: owesGang(failed) ? t.clock.now() + t.config.syncIntervalMs : undefined };
  };
  const changed = await Promise.all(instances.map(({ uuid }) => changeRecord(t, uuid, fail)));
  const owing = changed.find((record) => record && owesGang(record));
  if (owing) await settleGang(t, owing.requestId);
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
