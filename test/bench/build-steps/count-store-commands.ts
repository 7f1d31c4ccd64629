import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { loadScripts } from '#libs/redis/scripts';
import { type Counter, counting } from './count-messages';

const LIBS = join(__dirname, '../../../libs');

/** Counts the commands that a Redis is sent, by its MONITOR: scripts by their names, others by theirs and their key's. */
export async function countStoreCommands(url: string): Promise<Counter> {
  const names = scriptNames();
  const redis = new Redis(url);
  const monitor = await redis.monitor();
  const { count, take } = counting();
  monitor.on('monitor', (_time: string, [command = '', first = '']: string[], source: string) => {
    if (source === 'lua') return;
    const name = command.toLowerCase();
    count(name === 'evalsha' ? `script ${names.get(first) ?? first}` : `${name} ${first.replace(/^\{[^}]*\}:/, '')}`);
  });
  return {
    take,
    async close() {
      monitor.disconnect();
      redis.disconnect();
    },
  };
}

/** Scripts of all folders by their hash. */
function scriptNames(): ReadonlyMap<string, string> {
  const files = readdirSync(LIBS, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.lua') && !file.includes('include/'),
  );
  return new Map(
    files.map((file) => {
      const at = file.lastIndexOf('/');
      const name = file.slice(at + 1, -'.lua'.length);
      return [loadScripts(join(LIBS, file.slice(0, at)), [name])[name]?.sha ?? '', name];
    }),
  );
}
