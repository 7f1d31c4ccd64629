import type { InstanceEvent } from '#libs/contracts/instance';
import type { CellMove, CellOfInstance, InstanceRow } from '#libs/domain/instance';
import type { TopConductor } from '../context';
import type { RecordChange } from '../records';

/** A cell's report of an instance. */
type News = Pick<InstanceEvent, 'state' | 'host' | 'version' | 'attempts'>;

/** True when another cell than the instance's may have a copy. */
export function concernsMove({ move, left }: CellOfInstance, cell: string): boolean {
  return move !== undefined || left?.name === cell;
}

/** The change to the record of a moving or moved instance by a report of its own cell, or of the other one. */
export function changeByNews(t: TopConductor, record: InstanceRow, name: string, news: News): RecordChange | undefined {
  const { cell } = record;
  if (cell === undefined) return undefined;
  if (cell.move === undefined) return leftBehind(t, cell, news);
  if (name === cell.name) return ofSource(t, cell, cell.move, news);
  return name === cell.move.to ? ofTarget(t, cell, cell.move, news) : undefined;
}

function ofSource(
  t: TopConductor,
  cell: CellOfInstance,
  move: CellMove,
  { state, version }: News,
): RecordChange | undefined {
  if (version < cell.version || (version === cell.version && state === move.source)) return undefined;
  return { cell: { ...cell, version, move: { ...move, source: state } }, dueAtMs: t.clock.now() };
}

/**
 * It has arrived with the first report of its wanted state there: from then on the other cell is its own. A member that
 * counts in a zone is counted there first (`arriveInZone`).
 */
function ofTarget(t: TopConductor, cell: CellOfInstance, move: CellMove, news: News): RecordChange | undefined {
  const { state, version } = news;
  if (version <= move.version) return undefined;
  const isAsWanted = state === (move.staysStopped ? 'stopped' : 'active') && move.phase === 'building';
  if (!isAsWanted || cell.isEnding || move.zone !== undefined) {
    return { cell: { ...cell, move: { ...move, version, target: state } }, dueAtMs: t.clock.now() };
  }
  return arrived(t, cell, move, news);
}

/** The record for the other cell's copy, with the former cell's copy to be ended. */
export function arrived(t: TopConductor, cell: CellOfInstance, move: CellMove, news: News): RecordChange {
  const { state, version, host, attempts } = news;
  const { id: requestId, to: name, zone } = move;
  const left = { name: cell.name, isGone: false };
  const inZone = zone === undefined ? {} : { zone };
  const its = { name, ...inZone, version, isHandedOver: true, isEnding: false, requestId, left };
  return { state, host, attempts, fault: undefined, cell: its, dueAtMs: t.clock.now() };
}

/** Updates the former cell's copy: gone, or present (again) and to be ended once more. */
function leftBehind(t: TopConductor, cell: CellOfInstance, { state }: News): RecordChange | undefined {
  const isGone = state === 'deleted';
  if (cell.left === undefined || cell.left.isGone === isGone) return undefined;
  return { cell: { ...cell, left: { ...cell.left, isGone } }, dueAtMs: t.clock.now() };
}
