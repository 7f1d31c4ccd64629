import Redis from 'ioredis';
import { sleep } from '#libs/domain/clock';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { type RedisCluster, startRedisCluster } from '../../redis-groups';
import { CellsWorld, clock, type OpenedCell } from './cells-world';

/* Two cells and a top whose stores are shards of one Redis Cluster of three masters. */

let cluster: RedisCluster;
let world: CellsWorld;
let top: OpenedCell;

beforeAll(async () => {
  world = await CellsWorld.start(['cell1', 'b', 'top'], ['h1'], async () => {
    cluster = await startRedisCluster();
    return cluster;
  });
  top = await world.open('top');
  const settings = { BERTH_TOP_CELLS: 'cell1,b', BERTH_TOP_SCHEDULER_SUMMARY_INTERVAL_MS: '200' };
  await Promise.all(
    ['cell1', 'b'].flatMap((cell) => [world.launch(cell, 'scheduler'), world.launch(cell, 'conductor')]),
  );
  await Promise.all([world.launch('cell1', 'agent.h1'), world.launch('b', 'agent.h1')]);
  await Promise.all(['top-scheduler', 'top-conductor'].map((name) => world.launch('top', name, settings)));
  while ((await top.client.cells()).some(({ summary }) => summary?.availableCount !== 1)) await sleep(clock, 50);
});
afterAll(() => world?.stop());

it('builds through the top in both cells, each on the shard of its hash tag', async () => {
  const spec = aRequestSpec({ resources: { VCPU: 1 } });
  const builds = await Promise.all(
    Array.from({ length: 12 }, () => top.client.buildAndWait({ spec }, { timeoutMs: 40_000 })),
  );
  expect(builds.flat().map(({ state }) => state)).toEqual(Array(12).fill('active'));
  const cells = (await top.client.instances()).map(({ cell }) => cell);
  expect(new Set(cells)).toEqual(new Set(['cell1', 'b']));
  const tagsByShard = await Promise.all(
    cluster.servers.map(async ({ port }) => {
      const redis = new Redis(port);
      const keys = await redis.keys('*');
      await redis.quit();
      return [...new Set(keys.map((key) => /^\{([^}]+)\}:/.exec(key)?.[1]))];
    }),
  );
  // No cell is on two shards, each key belongs to a cell, and the cells are not all on one shard.
  const tags = tagsByShard.flat();
  expect([tags.length, new Set(tags)]).toEqual([3, new Set(['b', 'cell1', 'top'])]);
  expect(tagsByShard.filter((ofShard) => ofShard.length > 0).length).toBeGreaterThan(1);
});
