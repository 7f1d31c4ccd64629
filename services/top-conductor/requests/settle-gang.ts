import { MAX_INSTANCES_PER_REQUEST } from '#libs/contracts/limits';
import type { InstanceRow } from '#libs/domain/instance';
import { concernsGang, gangFault } from '#libs/domain/queueing/gang';
import { endInCell } from '../cells/end-in-cell';
import type { TopConductor } from '../context';
import { changeRecord, dueIn, type RecordChange, requestIn } from '../records';

/** All recorded instances of a request. */
export function membersOf(t: TopConductor, requestId: string): Promise<InstanceRow[]> {
  return t.instances.list({ requestId }, undefined, MAX_INSTANCES_PER_REQUEST);
}

/** True while the effect of its failure on its gang is undecided. */
export function owesGang(record: Pick<InstanceRow, 'state' | 'gang' | 'fault' | 'attempts'>): boolean {
  return record.state === 'error' && concernsGang(record);
}

/**
 * Decides the effect of failures on their gang. A gang that is one request in a cell is settled by that cell; for a
 * gang in parts, across cells or zones, each built by itself, the top ends the others when too few can become ACTIVE,
 * by the cells' rule. After a crash the failed record is due again.
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

/** Ends instances of one request in ERROR, as far as their states allow, and then settles their gang, once. */
export async function failAtTop(
  t: TopConductor,
  instances: readonly Pick<InstanceRow, 'uuid'>[],
  fault: NonNullable<InstanceRow['fault']>,
  mayFail: (record: InstanceRow) => boolean,
): Promise<void> {
  const fail = (record: InstanceRow): RecordChange | undefined => {
    if (!mayFail(record)) return undefined;
    const failed = { ...record, state: 'error', fault } as const;
    return { state: 'error', fault, dueAtMs: owesGang(failed) ? t.clock.now() + t.config.syncIntervalMs : undefined };
  };
  const changed = await Promise.all(instances.map(({ uuid }) => changeRecord(t, uuid, fail)));
  const owing = changed.find((record) => record && owesGang(record));
  if (owing) await settleGang(t, owing.requestId);
}

const ENDED: readonly InstanceRow['state'][] = ['error', 'deleting', 'deleted'];

async function endWith(
  t: TopConductor,
  { uuid }: InstanceRow,
  fault: NonNullable<InstanceRow['fault']>,
): Promise<void> {
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
