import type { Drained } from '#libs/client/drain/drain-host';
import { EXIT } from '#libs/runtime/exit-codes';
import type { Context } from '../context';
import { type ShowProgress, withProgress } from './progress';
import { table } from './table';

type Whether = Pick<Drained, 'stays'>;

/** Shows how far a drain is, and how many stay; `onProgress` is to be called after each instance. */
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

/** What was drained, as those that have left and those that stay. */
export function divided<D extends Whether>(drained: readonly D[]): { readonly moved: D[]; readonly staying: D[] } {
  const isLeft = ({ stays }: Whether) => stays === undefined;
  return { moved: drained.filter(isLeft), staying: drained.filter((one) => !isLeft(one)) };
}

/** Who stays, and why; nothing when all have left. */
export function showStaying({ terminal }: Context, staying: readonly Drained[]): void {
  if (staying.length === 0) return;
  const rows = staying.map(({ uuid, name, state, stays = '' }) => [uuid, name, state, stays]);
  terminal.print(`\n${table(terminal, ['INSTANCE', 'NAME', 'STATE', 'WHY IT STAYS'], rows)}`);
}

/** The exit code of a drain: interrupted, or something stays. */
export function exitAfterDrain(context: Context, drained: readonly Whether[]): void {
  if (context.interrupted.aborted) context.exit(EXIT.interrupted);
  else if (divided(drained).staying.length > 0) context.exit(EXIT.failed);
}
