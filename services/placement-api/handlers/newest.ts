/** The latest of the times at which things changed; now when it can't be said. Of any number of things. */
export function newest(timesMs: Iterable<number>): number | 'now' {
  let latest = 0;
  for (const atMs of timesMs) if (atMs > latest) latest = atMs;
  return latest || 'now';
}
