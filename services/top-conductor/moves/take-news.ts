import type { InstanceEvent } from '#libs/contracts/messages';
import type { CellOfInstance, Instance } from '#libs/domain/instance';
import type { TopConductor } from '../context';
import type { RecordChange } from '../records';

/** What a cell says of an instance. */
type News = Pick<InstanceEvent, 'state' | 'host' | 'version' | 'attempts'>;

/** Whether a cell that is not the instance's may have something of it, too. */
export function concernsMove({ move, left }: CellOfInstance, cell: string): boolean {
  return move !== undefined || left?.name === cell;
}

/** What the news of a cell changes of a record that is moved, or was: of its own cell, or of the other one. */
export function changeByNews(t: TopConductor, record: Instance, name: string, news: News): RecordChange | undefined {
  const { cell } = record;
  if (cell === undefined) return undefined;
  if (cell.move === undefined) return leftBehind(t, cell, news);
  if (name === cell.name) return ofSource(t, cell, cell.move, news);
  return name === cell.move.to ? ofTarget(t, cell, cell.move, news) : undefined;
}

function ofSource(
  t: TopConductor,
  cell: CellOfInstance,
  move: Move,
  { state, version }: News,
): RecordChange | undefined {
  if (version < cell.version || (version === cell.version && state === move.source)) return undefined;
  return { cell: { ...cell, version, move: { ...move, source: state } }, dueAtMs: t.clock.now() };
}

/** It has arrived with the first word that it is ACTIVE there: from then on the other cell is its own. */
function ofTarget(t: TopConductor, cell: CellOfInstance, move: Move, news: News): RecordChange | undefined {
  const { state, version, host, attempts } = news;
  if (version <= move.version) return undefined;
  if (state !== 'active' || move.phase !== 'building' || cell.isEnding) {
    return { cell: { ...cell, move: { ...move, version, target: state } }, dueAtMs: t.clock.now() };
  }
  const { id: requestId, to: name } = move;
  const left = { name: cell.name, isGone: false };
  const arrived = { name, version, isHandedOver: true, isEnding: false, requestId, left };
  return { state, host, attempts, fault: undefined, cell: arrived, dueAtMs: t.clock.now() };
}

/** Of the cell that it has left: gone, or there (again) and to be ended once more. */
function leftBehind(t: TopConductor, cell: CellOfInstance, { state }: News): RecordChange | undefined {
  const isGone = state === 'deleted';
  if (cell.left === undefined || cell.left.isGone === isGone) return undefined;
  return { cell: { ...cell, left: { ...cell.left, isGone } }, dueAtMs: t.clock.now() };
}

type Move = NonNullable<CellOfInstance['move']>;
