/** Placement of an instance's dedicated processors on the threads of cores, as Nova's `hw:cpu_thread_policy`. */
export type ThreadPolicy = (typeof THREAD_POLICIES)[number];
export const THREAD_POLICIES = ['prefer', 'isolate', 'require'] as const;

/** The free threads of each core, and how many a whole core has. */
export interface FreeThreads {
  readonly cores: readonly (readonly number[])[];
  readonly threadsPerCore: number;
}

/**
 * The ways in which a policy puts `count` processors on free threads, best first; none when they do not fit: Nova's
 * `_pack_instance_onto_cores`. `isolate` uses one thread of whole cores, whose others stay unused; `require` at least two threads of
 * each core; `prefer`, and no policy, as many as it can.
 */
export function* threadPackings(
  { cores, threadsPerCore }: FreeThreads,
  policy: string | undefined,
  count: number,
): Generator<readonly number[]> {
  const withThreads = (least: number) => cores.filter((threads) => threads.length >= least);
  if (policy === 'isolate') return yield* pinned(1, withThreads(threadsPerCore), count);
  const least = policy === 'require' ? 2 : 1;
  for (let used = threadsPerCore; used >= least; used--) yield* pinned(used, withThreads(used), count);
  if (policy !== 'require') yield* pinned(1, singleThreads(cores), count);
}

function singleThreads(cores: FreeThreads['cores']): readonly (readonly number[])[] {
  return cores.flat().map((thread) => [thread]);
}

/** The first threads of each core, one for each processor. */
function* pinned(used: number, cores: FreeThreads['cores'], count: number): Generator<readonly number[]> {
  if (count === 0 || used * cores.length < count) return;
  yield cores.flatMap((threads) => threads.slice(0, used)).slice(0, count);
}
