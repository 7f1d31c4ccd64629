import type { Drained } from '#libs/client/drain/drain-host';
import { counted } from '#libs/runtime/counted';
import { EXIT } from '#libs/runtime/exit-codes';
import type { Context } from '../context';
import { type ShowProgress, withProgress } from './progress';
import { table } from './table';

type Whether = Pick<Drained, 'stays'>;

/** Shows the progress of a drain, and how many instances stay; `onProgress` is called after each instance. */
export function showingDrain<T>(
  { terminal }: Context,
  what: string,
  drain: (onProgress: (done: number, all: number, one: Whether) => void) => Promise<T>,
): Promise<T> {
  let staying = 0;
  return withProgress(terminal, what, (show: ShowProgress) =>
    drain((done, all, { stays }) => {
      if (stays !== undefined) staying++;
      show(done, all, () => (staying === 0 ? '' : `${staying} staying`));
    }),
  );
}

/** Splits a drain's results into moved instances and staying ones. */
export function divided<D extends Whether>(drained: readonly D[]): { readonly moved: D[]; readonly staying: D[] } {
  const isLeft = ({ stays }: Whether) => stays === undefined;
  return { moved: drained.filter(isLeft), staying: drained.filter((one) => !isLeft(one)) };
}

/** `Moved 3 instances off host-11.`, or `Moved 3 of 4 instances off host-11; 1 stays.` */
export function movedOff(place: string, drained: readonly Whether[]): string {
  const { moved, staying } = divided(drained);
  if (staying.length === 0) return `Moved ${counted(moved.length, 'instance')} off ${place}.`;
  const stay = staying.length === 1 ? '1 stays' : `${staying.length} stay`;
  return `Moved ${moved.length} of ${counted(drained.length, 'instance')} off ${place}; ${stay}.`;
}

/** Prints the staying instances with reasons, if any. */
export function showStaying({ terminal }: Context, staying: readonly Drained[]): void {
  if (staying.length === 0) return;
  const rows = staying.map(({ uuid, name, state, stays = '' }) => [{ uuid }, name, state.toUpperCase(), stays]);
  terminal.print(`\n${table(terminal, ['INSTANCE', 'NAME', 'STATE', 'WHY IT STAYS'], rows)}`);
}

/** The exit code of a drain: interrupted, or some stay. */
export function exitAfterDrain(context: Context, drained: readonly Whether[]): void {
  if (context.interrupted.aborted) context.exit(EXIT.interrupted);
  else if (divided(drained).staying.length > 0) context.exit(EXIT.failed);
}
