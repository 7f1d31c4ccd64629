import { BerthError } from '../domain/errors';
import { batchPerTick } from '../runtime/batch-per-tick';
import type { Commands } from './connect';

/**
 * What waits until replicas have all that the connection's commands so far have seen or written. It goes behind the reply of
 * each script that writes, before anybody is told, so that a failover loses nothing that was answered.
 *
 * The waits of one tick are one `WAIT`, and the connection does nothing else meanwhile: a group commit costs a round trip
 * between the servers more. In a Cluster `WAIT` has no key that would lead it to the node of the write; so it goes in one
 * pipeline with a read of a key of the script. When that key is no longer there (its slot moves), the outcome is unknown.
 * It is never sent to a server that took over meanwhile, which would vouch for what it does not have: a reconnect takes a
 * timer, and the wait leaves in the same turn of the event loop in which the reply came.
 *
 * @returns what waits; it throws BerthError `unavailable / not_replicated`
 */
export function waitForReplicas(
  run: <T>(operation: (redis: Commands) => Promise<T>) => Promise<T>,
  replicas: number,
  timeoutMs: number,
): (key: string) => Promise<void> {
  // The keys of one process are those of its cell, which are all on one node.
  return batchPerTick(
    Infinity,
    () => 1,
    async (keys: readonly string[]) => {
      const key = keys[0] as string;
      const replies = await run((redis) =>
        redis
          .pipeline([
            ['exists', key],
            ['wait', replicas, timeoutMs],
          ])
          .exec(),
      );
      const [seen, waited] = replies ?? [];
      const error = seen?.[0] ?? waited?.[0];
      const reached = error ? 0 : Number(waited?.[1]);
      if (reached < replicas) throw notReplicated(reached, replicas, error);
      return keys.map(() => undefined);
    },
  );
}

function notReplicated(reached: number, replicas: number, cause?: Error | null): BerthError {
  return new BerthError(
    'unavailable',
    'not_replicated',
    `${reached} of ${replicas} replicas have it: outcome unknown`,
    {
      cause,
      details: { reached: String(reached), replicas: String(replicas) },
    },
  );
}
