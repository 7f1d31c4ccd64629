import { instanceView } from '#libs/contracts/instance-view';
import type { OperateInstanceRequest, OperateInstanceResponse } from '#libs/contracts/operations';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { type InstanceRow, nameOfState } from '#libs/domain/instance';
import { isOfOneCell, isOverZones } from '#libs/domain/server-group';
import type { TopConductor } from '../context';
import { changeRecord } from '../records';
import { driveMove } from './drive-move';

/**
 * Records that an instance is to go to another cell. Answered then; events report its progress: MIGRATING until it is
 * ACTIVE there, STOPPED if it was, or, with a fault, in its former state.
 *
 * @throws BerthError `invalid_argument / not_for_this`, `/ unknown_cell`; `failed_precondition / same_cell`, `/
 *   instance_state`, `/ bound_to_cell` for requirements that only its present cell can meet.
 */
export async function startMove(
  t: TopConductor,
  { operation, targetCell = '', targetHost = '' }: OperateInstanceRequest,
  record: InstanceRow,
): Promise<OperateInstanceResponse> {
  if (operation !== 'migrate') throw invalidArgument('not_for_this', 'target_cell is of a migration', 'target_cell');
  if (targetHost !== '') throw invalidArgument('not_for_this', 'another cell chooses the host itself', 'target_host');
  if (!t.links.has(targetCell)) {
    throw invalidArgument('unknown_cell', `there is no cell '${targetCell}'; see 'berth cell list'`, 'target_cell');
  }
  requireMovable(record, targetCell);
  const changed = await changeRecord(t, record.uuid, ({ state, cell, version }) => {
    if (version !== record.version || cell === undefined) return undefined;
    const about = { id: t.random.uuid(), to: targetCell, phase: 'selecting', source: state } as const;
    const staysStopped = state === 'stopped';
    const move = { ...about, staysStopped, version: 0, isHandedOver: false, startedAtMs: t.clock.now() };
    return {
      state: 'migrating',
      fault: undefined,
      cell: { ...cell, move },
      dueAtMs: t.clock.now() + t.config.syncIntervalMs,
    };
  });
  if (changed?.cell?.move === undefined) throw changedMeanwhile(record);
  t.log.info({ event: 'cell_move_started', instance_uuid: record.uuid, to_cell: targetCell }, 'moving to another cell');
  void driveMove(t, record.uuid);
  return { instance: instanceView(changed) };
}

const MOVABLE: readonly InstanceRow['state'][] = ['active', 'stopped'];

function requireMovable({ uuid, state, cell, requestSpec }: InstanceRow, to: string): void {
  const refuse = (reason: string, message: string) => {
    throw new BerthError('failed_precondition', reason, `instance ${uuid} ${message}`);
  };
  if (cell?.name === to) refuse('same_cell', `is in cell ${to} already`);
  if (!MOVABLE.includes(state))
    refuse('instance_state', `is ${nameOfState(state)}: what is ACTIVE or STOPPED is moved to another cell`);
  if (cell?.left && !cell.left.isGone) refuse('instance_state', `has not left cell ${cell.left.name} yet`);
  const { group, sameHost } = requestSpecCodec.decode(requestSpec);
  if (group?.policy !== undefined && isOfOneCell(group))
    refuse('bound_to_cell', `is of group '${group.id}', which is of one cell`);
  if (isOverZones(group) && state !== 'stopped')
    refuse('bound_to_cell', `is in its zone for group '${group.id}': STOPPED it is moved, if the group stays even`);
  if (sameHost.length > 0) refuse('bound_to_cell', 'asks to be on the host of another instance of its cell');
}

function changedMeanwhile({ uuid }: InstanceRow): BerthError {
  return new BerthError(
    'failed_precondition',
    'instance_changed',
    `instance ${uuid} was changed meanwhile: look at it again`,
  );
}
