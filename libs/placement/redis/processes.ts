import { join } from 'node:path';
import type { RedisClient } from '../../redis/connect';
import { loadScripts } from '../../redis/scripts';
import { MAX_PROCESSES, type ProcessStore, type SeenProcess } from '../port/processes';
import type { Keys } from './keys';

const scripts = loadScripts(join(__dirname, 'lua'), ['note-process']);

/** The processes of a cell on Redis. */
export function redisProcesses(client: RedisClient, { processes, processTimes }: Keys): ProcessStore {
  return {
    async noteProcess(process, atMs, keptMs) {
      const args = [idOf(process), JSON.stringify(process), atMs, atMs - keptMs, MAX_PROCESSES];
      await client.runScript(scripts['note-process'], [processes, processTimes], args);
    },

    async forgetProcess(service, name) {
      const id = idOf({ service, name });
      await client.run((redis) => redis.hdel(processes, id));
      await client.run((redis) => redis.zrem(processTimes, id));
    },

    async processes() {
      const [texts, times] = await Promise.all([
        client.run((redis) => redis.hgetall(processes)),
        client.run((redis) => redis.zrange(processTimes, '0', '-1', 'WITHSCORES')),
      ]);
      const seen: (SeenProcess & { seenAtMs: number })[] = [];
      for (let n = 0; n < times.length; n += 2) {
        const text = texts[times[n] ?? ''];
        if (text !== undefined) seen.push({ ...(JSON.parse(text) as SeenProcess), seenAtMs: Number(times[n + 1]) });
      }
      return seen.sort(byName);
    },
  };
}

function idOf({ service, name }: Pick<SeenProcess, 'service' | 'name'>): string {
  return `${service} ${name}`;
}

function byName(a: SeenProcess, b: SeenProcess): number {
  return idOf(a) < idOf(b) ? -1 : 1;
}
