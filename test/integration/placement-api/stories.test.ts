import { randomUUID } from 'node:crypto';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemRandom } from '#libs/runtime/system';
import { describePlacementApi } from '../../../services/placement-api/stories/stories';
import { sharedServer } from '../../shared-servers';

describePlacementApi('redis', async () => {
  const options = { log: silentLog, random: systemRandom, commandTimeoutMs: 5_000, connectionName: 'stories' };
  const client = await connectRedis(sharedServer('redis'), options);
  return new RedisPlacementStore(client, { cell: randomUUID(), streamLength: 10_000 });
});
