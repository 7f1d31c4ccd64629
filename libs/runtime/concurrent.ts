/**
 * Starts `work` on each item in order, at most `limit` at once, and resolves with the results in the same order. Ends
 * at the first failure, or when the signal aborts: the results of items not started are then missing. (p-limit would
 * start them, or, once its queue is cleared, never settle them.)
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
  signal?: AbortSignal,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [i, item] of queue) {
      if (signal?.aborted) return;
      results[i] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
