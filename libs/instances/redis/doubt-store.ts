import { join } from 'node:path';
import type { RedisClient } from '../../redis/connect';
import { loadScripts } from '../../redis/scripts';
import { byAge, DOUBT_BOUNDS, type Doubt, type DoubtStore, doubtKey, doubtKind, doubtShare } from '../doubts';

const scripts = loadScripts(join(__dirname, 'lua'), ['doubt-note', 'doubt-settle']);

/** Doubts of a cell in Redis: a hash of '<since ms> <seen ms> <JSON>', and what counts how many there are of each share. */
export function redisDoubtStore(client: RedisClient, cell: string): DoubtStore {
  const key = `{${cell}}:instances:doubts`;
  const keys = [key, `${key}:shares`, `${key}:counts`];
  return {
    async noteDoubt(found) {
      const { seenAtMs, evidence, ...said } = found;
      const text = JSON.stringify({ ...said, evidence: Buffer.from(evidence).toString('base64') });
      const kind = doubtKind(found.finding);
      const { max, maxOfSource } = DOUBT_BOUNDS[kind];
      const bounds = [kind, max, doubtShare(found), maxOfSource];
      return (await client.runScript(scripts['doubt-note'], keys, [doubtKey(found), seenAtMs, text, ...bounds])) === 1;
    },
    async listDoubts() {
      const rows = await client.run((redis) => redis.hvals(key));
      return rows.map(fromRow).sort(byAge);
    },
    async getDoubts(names) {
      if (names.length === 0) return [];
      const rows = await client.run((redis) => redis.hmget(key, ...names.map(doubtKey)));
      return rows.flatMap((row) => (row === null ? [] : [fromRow(row)]));
    },
    async settleDoubt(doubt) {
      await client.runScript(scripts['doubt-settle'], keys, [doubtKey(doubt), doubt.seenAtMs]);
    },
  };
}

function fromRow(row: string): Doubt {
  const [sinceMs = '', seenAtMs = ''] = row.split(' ', 2);
  const said = JSON.parse(row.slice(sinceMs.length + seenAtMs.length + 2)) as Omit<Doubt, 'evidence'> & {
    readonly evidence: string;
  };
  const evidence = Uint8Array.from(Buffer.from(said.evidence, 'base64'));
  return { ...said, evidence, sinceMs: Number(sinceMs), seenAtMs: Number(seenAtMs) };
}
