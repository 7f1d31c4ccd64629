import type { InstanceView } from '#libs/contracts/instance';
import type { PlannedMove } from '#libs/contracts/moves';
import {
  AGAIN,
  ended,
  faultOf,
  isOver,
  lookUntil,
  type Moved,
  type MovingOptions,
  type MovingParts,
  type Seen,
  sentenceOf,
} from './await-move';

/**
 * Undoes moves one after the other, the last first, whether they wait, are under way, have arrived, or are done. Failed
 * moves are checked too: their caller may have missed the outcome. An instance that is back is reported as failed, with
 * the reason.
 */
export async function undo(
  parts: MovingParts,
  moves: readonly PlannedMove[],
  done: readonly Moved[],
  options: MovingOptions,
): Promise<Moved[]> {
  const over = done.filter(({ outcome }) => outcome === 'ended');
  const rest = done.filter((one) => !over.includes(one)).toReversed();
  const all = [...notBegun(moves, done), ...rest];
  const undone: Moved[] = [];
  for (const before of all) {
    undone.push(await undoOne(parts, before, options));
    parts.onProgress(all.length - undone.length);
  }
  return [...over, ...undone];
}

/** Claimed moves that have not begun. */
export function notBegun(moves: readonly PlannedMove[], done: readonly Moved[]): Moved[] {
  const rest = moves.filter((move) => !done.some((one) => one.move === move));
  return rest.map((move) => ({ move, outcome: 'waits', why: '' }));
}

/** The next step to take an instance back to where its move began. */
type NextBack =
  /** Its move is claimed, under way or has arrived: revert it. */
  | 'revert'
  /** Its move is confirmed: move it back. */
  | 'migrate'
  | 'live_migrate'
  /** The move back has arrived: confirm it. */
  | 'confirm'
  /** Another operation is under way: look again. */
  | 'wait'
  | 'back'
  | 'stays';

/**
 * The next step for an instance that must return to where its move began, decided from its present state alone, since
 * an unanswered call may have been executed.
 *
 * @param hasTried  true once it was moved back
 */
export function nextBack(
  { sourceHost }: Pick<PlannedMove, 'sourceHost'>,
  { state, host, migration }: Pick<InstanceView, 'state' | 'host' | 'migration'>,
  hasTried: boolean,
): NextBack {
  const isLeaving = migration?.sourceHost === sourceHost;
  switch (state) {
    case 'verify_resize':
      return isLeaving ? 'revert' : 'confirm';
    case 'resize':
    case 'migrating':
      return isLeaving ? 'revert' : 'wait';
    case 'active':
    case 'stopped':
      if (migration !== undefined) return 'wait';
      if (host === sourceHost) return 'back';
      if (hasTried) return 'stays';
      return state === 'stopped' ? 'migrate' : 'live_migrate';
    case 'unknown':
      return host === sourceHost ? 'back' : 'stays';
    case 'error':
      return 'stays';
    default:
      return 'wait';
  }
}

async function undoOne(parts: MovingParts, before: Moved, { timeoutMs }: MovingOptions): Promise<Moved> {
  const { client } = parts;
  const { move } = before;
  const { instanceUuid: uuid, sourceHost } = move;
  const hasFailed = before.outcome === 'failed';
  const undone: Moved = hasFailed ? before : { move, outcome: 'undone', why: '' };
  const notUndone = (why: string): Moved => {
    return { move, outcome: 'not_undone', why: hasFailed ? `${before.why}; ${why}` : why };
  };
  let hasTried = false;
  const takeBack = async (instance: InstanceView): Promise<Seen> => {
    if (isOver(instance)) return ended(move, instance);
    const next = nextBack(move, instance, hasTried);
    switch (next) {
      case 'back':
        return { kind: 'end', moved: undone };
      case 'stays':
        return { kind: 'end', moved: notUndone(faultOf(instance)) };
      case 'wait':
        return AGAIN;
      case 'migrate':
      case 'live_migrate':
        await client.operate(uuid, next, { targetHost: sourceHost });
        hasTried = true;
        return AGAIN;
      default:
        await client.operate(uuid, next);
        return AGAIN;
    }
  };
  try {
    const result = await lookUntil(parts, move, timeoutMs, takeBack);
    return result.moved ?? notUndone(`it was not back in ${timeoutMs / 1_000} s${result.why && `, ${result.why}`}`);
  } catch (thrown) {
    return notUndone(sentenceOf(thrown));
  }
}
