import type { Mirror, MirroredStore, MirrorInput } from '#libs/placement/mirror/mirror';
import type { Change, Rows } from '#libs/placement/port/placement-store';

/** Shows what changed in the rows of a mirror; of other entries nothing. */
export function show(
  entry: { readonly kind: string },
  mirror: Mirror,
  stream: (changes: readonly Change[]) => void,
): void {
  const input = entry as MirrorInput;
  if (input.kind === 'stream') stream(input.changes);
  else if (input.kind === 'applied') mirror.apply(input.change);
  else if (input.kind === 'rows') mirror.applyRows(input.rows);
}

/** A store of recorded rows, and the way by which its stream brings changes. */
export function recordedStore(
  rows: readonly Rows[],
  revision: number,
): { readonly store: MirroredStore; readonly stream: (changes: readonly Change[]) => void } {
  let bring: (changes: readonly Change[]) => void = () => {};
  const store: MirroredStore = {
    async snapshot(onRows) {
      for (const piece of rows) onRows(piece);
      return revision;
    },
    async revision() {
      return revision;
    },
    follow(_from, onChanges, signal) {
      bring = onChanges;
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    },
  };
  return { store, stream: (changes) => bring(changes) };
}
