import { mapConcurrently } from '#libs/runtime/concurrent';

const AT_ONCE = 8;

/**
 * Does the same to several things, `show`s what came of those for which it went well, in order, and throws the error of
 * the first for which it did not: one wrong name among ten does not keep the others waiting.
 */
export async function toEach<T, R>(
  things: readonly T[],
  work: (thing: T) => Promise<R>,
  show: (done: readonly R[]) => void,
  atOnce = AT_ONCE,
): Promise<void> {
  const errors: unknown[] = [];
  const results = await mapConcurrently(things, atOnce, async (thing) => {
    try {
      return [await work(thing)];
    } catch (thrown) {
      errors.push(thrown);
      return [];
    }
  });
  const done = results.flat();
  if (done.length > 0) show(done);
  if (errors.length > 0) throw errors[0];
}
