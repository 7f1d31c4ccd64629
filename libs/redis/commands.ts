import type { Redis, RedisCommander } from 'ioredis';

/** The commands that a single server, a failover group and a Cluster share. */
export type Commands = Pick<Redis, keyof RedisCommander | 'pipeline' | 'defineCommand'>;
