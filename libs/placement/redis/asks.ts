import { join } from 'node:path';
import type { RedisClient } from '../../redis/connect';
import { loadScripts } from '../../redis/scripts';
import type { AskStore } from '../port/asks';

const scripts = loadScripts(join(__dirname, 'lua'), ['answer-ask']);

/** The questions of a cell on Redis: a key each, which goes by itself. `?<host>` until `!<answer>`. */
export function redisAsks(client: RedisClient, cell: string): AskStore {
  const keyOf = (id: string) => `{${cell}}:ask:${id}`;
  return {
    async openAsk({ id, host, ttlMs }) {
      await client.run((redis) => redis.set(keyOf(id), `?${host}`, 'PX', ttlMs));
    },

    async answerAsk(id, host, answer) {
      return (await client.runScript(scripts['answer-ask'], [keyOf(id)], [host, answer])) === 1;
    },

    async askAnswer(id) {
      const text = await client.run((redis) => redis.get(keyOf(id)));
      return text?.startsWith('!') ? text.slice(1) : undefined;
    },
  };
}
