/** A waiting instance, as far as its place in the queue depends on it. */
export interface Waiter {
  readonly projectId: string;
  readonly priority: number;
  /** When its request was taken up; preempted instances keep it. */
  readonly arrivedAtMs: number;
  /** Breaks ties. */
  readonly requestId: string;
}

/**
 * The order in which waiting instances are tried: by priority; within a priority, projects take turns, each with its
 * oldest first; within a turn, the project whose last turn is longest ago goes first, then the oldest. So a project
 * that asks for a thousand does not delay one that asks for one (round robin over FIFO queues, as in fair queueing).
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
  // Sorting is stable: ties stay ordered by age.
  return byAge.sort((a, b) => {
    return b.priority - a.priority || (turnOf.get(a) ?? 0) - (turnOf.get(b) ?? 0) || served(a) - served(b);
  });
}

/** The oldest first. */
export function byArrival(a: Waiter, b: Waiter): number {
  return a.arrivedAtMs - b.arrivedAtMs || (a.requestId < b.requestId ? -1 : 1);
}
