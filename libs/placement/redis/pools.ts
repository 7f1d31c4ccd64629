import { join } from 'node:path';
import type { RedisClient } from '../../redis/connect';
import { loadScripts } from '../../redis/scripts';
import type { HeldBy, JoinPool, Pool, PoolGrant, PoolMember, PoolStore } from '../port/pools';
import type { Keys } from './keys';
import { decodeHolder } from './row-format';

const scripts = loadScripts(join(__dirname, 'lua'), ['join-pool', 'leave-pool', 'write-node']);
const READ_CHUNK = 1_000;

/** Pools and nodes of a cell, each in one hash. */
export function redisPools(
  client: RedisClient,
  keys: Pick<Keys, 'pools' | 'nodes' | 'nodeChanges' | 'holder'>,
): PoolStore {
  return {
    async joinPool({ pool, serviceHost, agentRun, weight, leaseMs, formerRun = '' }: JoinPool): Promise<PoolGrant> {
      const args = [pool, serviceHost, agentRun, weight, leaseMs, formerRun];
      const answer = (await client.runScript(scripts['join-pool'], [keys.pools], args)) as string;
      if (!answer.startsWith('0 ')) return { kind: 'member', pool: decodePool(answer) };
      const [leftMs = ''] = answer.slice(2).split(' ', 1);
      const holder = { agentRun: answer.slice(3 + leftMs.length), serviceHost };
      return { kind: 'taken', holder, leftMs: Number(leftMs) };
    },

    async leavePool({ pool, serviceHost, agentRun }) {
      await client.runScript(scripts['leave-pool'], [keys.pools], [pool, serviceHost, agentRun]);
    },

    async writeNode({ host, epoch, content, updatedAtMs }) {
      const args = [host, epoch, content, updatedAtMs];
      const present = (await client.runScript(
        scripts['write-node'],
        [keys.nodes, keys.holder, keys.nodeChanges],
        args,
      )) as string;
      return present === '' ? { kind: 'written' } : { kind: 'epoch', present: Number(present) || undefined };
    },

    async nodes(hosts) {
      const found: (string | undefined)[] = [];
      for (let from = 0; from < hosts.length; from += READ_CHUNK) {
        const texts = await client.run((redis) => redis.hmget(keys.nodes, ...hosts.slice(from, from + READ_CHUNK)));
        found.push(...texts.map((text) => text ?? undefined));
      }
      return found;
    },

    async holders(hosts) {
      if (hosts.length === 0) return [];
      const rows = await client.run((redis) => redis.hmget(keys.holder, ...hosts));
      return rows.map((row) => decodeHeldBy(row ?? ''));
    },

    async nodeNames() {
      return (await client.run((redis) => redis.hkeys(keys.nodes))).toSorted();
    },
  };
}

/** Decodes a row `<epoch> <until ms> <lease ms> <who>`. */
function decodeHeldBy(row: string): HeldBy | undefined {
  const [, epoch, who = ''] = /^(\d+) \d+ \d+ (.*)$/.exec(row) ?? [];
  if (epoch === undefined) return undefined;
  const holder = decodeHolder(who);
  return holder.serviceHost === '' ? undefined : { ...holder, epoch: Number(epoch) };
}

/** Decodes a pool as `lua/join-pool.lua` keeps it. */
function decodePool(text: string): Pool {
  type Stored = { readonly e: number; readonly m: Record<string, [run: string, weight: number, untilMs: number]> };
  const { e: epoch, m } = JSON.parse(text) as Stored;
  const members = Object.entries(m).map(
    ([serviceHost, [agentRun, weight]]): PoolMember => ({ serviceHost, agentRun, weight }),
  );
  return { epoch, members: members.toSorted((a, b) => (a.serviceHost < b.serviceHost ? -1 : 1)) };
}
