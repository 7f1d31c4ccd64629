import { join } from 'node:path';
import type { RedisClient } from '../../redis/connect';
import { loadScripts } from '../../redis/scripts';
import type { LeaseStore } from '../store';

const scripts = loadScripts(join(__dirname, 'lua'), ['lease-acquire', 'lease-release']);

/**
 * Leases of a cell in Redis, each a key that expires. Only Redis' clock counts, so holders' clocks may differ; a holder that
 * was paused notices by the epoch.
 */
export function redisLeaseStore(client: RedisClient, cell: string): LeaseStore {
  const keyOf = (name: string) => `{${cell}}:lease:${name}`;
  return {
    async acquire(name, holder, ttlMs) {
      const keys = [keyOf(name), `{${cell}}:lease-epochs`];
      const epoch = (await client.runScript(scripts['lease-acquire'], keys, [name, holder, ttlMs])) as number;
      return epoch === 0 ? undefined : { epoch };
    },
    async release(name, holder) {
      await client.runScript(scripts['lease-release'], [keyOf(name)], [holder]);
    },
  };
}
