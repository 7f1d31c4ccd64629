import { BerthError } from '../domain/errors';
import { batchPerTick } from '../runtime/batch-per-tick';
import type { Commands } from './commands';

/**
 * Waits until replicas have everything that the connection's commands have read or written so far. It runs after the
 * reply of each writing script and before its caller is answered, so that a failover loses nothing that was answered.
 *
 * The waits of one tick share one `WAIT`, and the connection does nothing else meanwhile: a group commit costs one more
 * round trip between the servers. In a Cluster `WAIT` has no key to route it to the node of the write, so it shares a
 * pipeline with a read of one of the script's keys. When that key is gone (its slot moved), the outcome is unknown. It
 * never reaches a server that took over meanwhile, which would confirm writes that it lacks: a reconnect takes a timer,
 * and the wait leaves in the same turn of the event loop as the reply.
 *
 * @returns the waiting function; it throws BerthError `unavailable / not_replicated`
 */
export function waitForReplicas(
  run: <T>(operation: (redis: Commands) => Promise<T>) => Promise<T>,
  replicas: number,
  timeoutMs: number,
): (key: string) => Promise<void> {
  // All keys of a process belong to its cell and thus to one node.
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
