/**
 * The smallest part of a list that still fails, as far as leaving out runs of its elements finds it: halves first, then
 * smaller runs, down to single elements (delta debugging; Zeller and Hildebrandt, 2002). Not the smallest of all, but
 * none of what is left can be left out by itself.
 *
 * @param fails  whether a part fails in the same way; the whole list does
 */
export async function shrink<T>(all: readonly T[], fails: (part: readonly T[]) => Promise<boolean>): Promise<T[]> {
  let present = [...all];
  for (let size = Math.ceil(present.length / 2); size >= 1; ) {
    let isSmaller = false;
    for (let from = 0; from < present.length; ) {
      const part = [...present.slice(0, from), ...present.slice(from + size)];
      if (await fails(part)) {
        present = part;
        isSmaller = true;
      } else {
        from += size;
      }
    }
    if (size === 1 && !isSmaller) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return present;
}
