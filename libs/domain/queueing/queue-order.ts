/** One that waits, as far as its place in the queue depends on it. */
export interface Waiter {
  readonly projectId: string;
  readonly priority: number;
  /** When its request was taken up; one that made room for others keeps it. */
  readonly arrivedAtMs: number;
  /** Of the request: settles what nothing else does. */
  readonly requestId: string;
}

/**
 * The order in which those who wait are tried: by priority; of one priority by turns of the projects, each with its oldest
 * first; and in each turn first the project whose last turn is longest ago, then the oldest. So a project that asks for a
 * thousand does not hold up one that asks for one. (Round robin over FIFO queues, as fair queueing does it.)
 *
 * @param lastServed  by project, a number that rises with each turn
 */
export function inQueueOrder<T extends Waiter>(
  waiters: readonly T[],
  lastServed: ReadonlyMap<string, number> = new Map(),
): T[] {
  const byAge = waiters.toSorted(byArrival);
  const counts = new Map<string, number>();
  const turnOf = new Map<T, number>();
  for (const waiter of byAge) {
    const key = `${waiter.priority} ${waiter.projectId}`;
    const turn = counts.get(key) ?? 0;
    turnOf.set(waiter, turn);
    counts.set(key, turn + 1);
  }
  const served = ({ projectId }: T) => lastServed.get(projectId) ?? 0;
  // Sorting is stable: what nothing else tells apart stays by age.
  return byAge.sort((a, b) => {
    return b.priority - a.priority || (turnOf.get(a) ?? 0) - (turnOf.get(b) ?? 0) || served(a) - served(b);
  });
}

function byArrival(a: Waiter, b: Waiter): number {
  return a.arrivedAtMs - b.arrivedAtMs || (a.requestId < b.requestId ? -1 : 1);
}
