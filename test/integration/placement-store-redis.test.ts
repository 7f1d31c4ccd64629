import { randomUUID } from 'node:crypto';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { describePlacementStore } from '#libs/testing/placement-store-contract';
import { sharedServer } from '../shared-servers';

jest.setTimeout(60_000);

async function openStore(cell: string): Promise<RedisPlacementStore> {
  const options = { log: silentLog, commandTimeoutMs: 5_000, connectionName: 'test' };
  return new RedisPlacementStore(await connectRedis(sharedServer('redis'), options), { cell, streamLength: 10_000 });
}

describePlacementStore('redis', async () => {
  const cell = randomUUID();
  const opened = [await openStore(cell)];
  return {
    store: opened[0] as RedisPlacementStore,
    another: async () => {
      const store = await openStore(cell);
      opened.push(store);
      return store;
    },
    close: async () => {
      for (const store of opened) await store.close();
    },
  };
});
