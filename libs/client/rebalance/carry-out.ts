import type { InstanceView } from '#libs/contracts/instance';
import type { PlannedMove } from '#libs/contracts/moves';
import { mapConcurrently } from '#libs/runtime/concurrent';
import {
  AGAIN,
  ended,
  faultOf,
  isOnItsWay,
  isOver,
  lookUntil,
  type Moved,
  type MovingOptions,
  type MovingParts,
  type Seen,
  sentenceOf,
} from './await-move';
import { notBegun, undo } from './undo';

/**
 * Carries out claimed moves, several at once. When one fails no more begin, and all are undone, the last first: waiting
 * moves release their claims, moves under way or arrived are reverted, and confirmed ones are moved back, live if the
 * instance runs. When all succeed, they are confirmed at their sources.
 *
 * It stores nothing. The instances carry their claims: another run continues those moves, or undoes them.
 */
export async function carryOut(
  parts: MovingParts,
  moves: readonly PlannedMove[],
  options: MovingOptions,
): Promise<Moved[]> {
  const { signal, onProgress } = parts;
  const done: Moved[] = [];
  const failed = new AbortController();
  const oneAfterTheOther = async (move: PlannedMove) => {
    const one = await moveOne(parts, move, options);
    done.push(one);
    if (one.outcome === 'failed') failed.abort();
    onProgress(done.length);
  };
  await mapConcurrently(moves, options.parallel, oneAfterTheOther, AbortSignal.any([signal, failed.signal]));
  if (signal.aborted) return [...done, ...notBegun(moves, done)];
  if (failed.signal.aborted) return undo(parts, moves, done, options);
  return mapConcurrently(done, options.parallel, (one) => confirmOne(parts, one, options));
}

async function moveOne(parts: MovingParts, move: PlannedMove, { timeoutMs }: MovingOptions): Promise<Moved> {
  const { client } = parts;
  const { instanceUuid: uuid, destHost } = move;
  const failed = (why: string): Moved => ({ move, outcome: 'failed', why });
  const goOn = async (instance: InstanceView): Promise<Seen> => {
    const { migration, host } = instance;
    if (migration?.phase === 'claimed') await client.operate(uuid, migration.kind);
    if (isOver(instance)) return ended(move, instance);
    if (isOnItsWay(instance)) return AGAIN;
    return { kind: 'end', moved: host === destHost ? { move, outcome: 'moved', why: '' } : failed(faultOf(instance)) };
  };
  try {
    const result = await lookUntil(parts, move, timeoutMs, goOn);
    return result.moved ?? failed(`it has not arrived in ${timeoutMs / 1_000} s${result.why && `, ${result.why}`}`);
  } catch (thrown) {
    return failed(sentenceOf(thrown));
  }
}

/** A cold move's source keeps its copy until then. */
async function confirmOne(parts: MovingParts, one: Moved, { timeoutMs }: MovingOptions): Promise<Moved> {
  const { move, outcome } = one;
  if (outcome !== 'moved') return one;
  const notConfirmed = (why: string): Moved => ({ move, outcome: 'not_confirmed', why });
  const confirm = async ({ uuid, state }: InstanceView): Promise<Seen> => {
    if (state === 'verify_resize') await parts.client.operate(uuid, 'confirm');
    return { kind: 'end', moved: one };
  };
  try {
    const result = await lookUntil(parts, move, timeoutMs, confirm);
    return result.moved ?? notConfirmed(result.why);
  } catch (thrown) {
    return notConfirmed(sentenceOf(thrown));
  }
}
