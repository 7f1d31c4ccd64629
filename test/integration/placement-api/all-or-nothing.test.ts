import { randomUUID } from 'node:crypto';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemRandom } from '#libs/runtime/system';
import { describeAllOrNothing } from '../../../services/placement-api/testing/all-or-nothing';
import { sharedServer } from '../../shared-servers';

describe('on Redis', () => {
  describeAllOrNothing(async () => {
    const options = { log: silentLog, random: systemRandom, commandTimeoutMs: 5_000, connectionName: 'all-or-nothing' };
    const client = await connectRedis(sharedServer('redis'), options);
    return new RedisPlacementStore(client, { cell: randomUUID(), streamLength: 10_000 });
  });
});
