import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { sleep } from '#libs/domain/clock';
import { environment, systemClock } from '#libs/runtime/system';
import { findBinary } from '#libs/testing/servers/find-binary';
import { freePort, serverFolder, startServer, type TestServer } from '#libs/testing/servers/server-process';
import { configText, REDIS_SERVER } from '#libs/testing/servers/servers';

const NAME = 'berth';
const POLL_MS = 50;
const FORM_TIMEOUT_MS = 30_000;
const clock = systemClock();

/** A primary with replicas, and Sentinels that promote one of them once it is gone for a second. */
export interface SentinelGroup {
  /** `redis+sentinel://...` */
  readonly url: string;
  readonly servers: readonly TestServer[];
  /** The server that the Sentinels now call the primary. */
  primary(): Promise<TestServer>;
  /** Keeps the replicas from following the primary, which goes on. */
  cutReplicasOff(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a primary, replicas and three Sentinels, all private; resolves when the replicas follow and all is known. */
export async function startSentinelGroup(replicaCount = 2): Promise<SentinelGroup> {
  const primary = await startMember({ appendonly: 'yes', appendfsync: 'always' });
  const follow = { appendonly: 'yes', appendfsync: 'always', replicaof: `127.0.0.1 ${primary.port}` };
  const replicas = await Promise.all(Array.from({ length: replicaCount }, () => startMember(follow)));
  const servers = [primary, ...replicas];
  await eventually('all replicas follow', async () => {
    const info = await ask(primary.port, (redis) => redis.info('replication'));
    return (info.match(/state=online/g) ?? []).length === replicaCount;
  });
  const watch = [
    `sentinel monitor ${NAME} 127.0.0.1 ${primary.port} 2`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 5000`,
  ].join('\n');
  const sentinels = await Promise.all([1, 2, 3].map(() => startMember({}, watch)));
  for (const { port } of sentinels) {
    await eventually('a Sentinel knows all', async () => {
      const state = (await ask(port, (redis) => redis.call('SENTINEL', 'MASTER', NAME))) as string[];
      const field = (name: string) => Number(state[state.indexOf(name) + 1]);
      return field('num-slaves') === replicaCount && field('num-other-sentinels') === 2;
    });
  }
  const all = [...sentinels, ...servers];
  const primaryNow = async () => {
    const question = ['GET-MASTER-ADDR-BY-NAME', NAME];
    const address = await ask(sentinels[0]?.port ?? 0, (redis) => redis.call('SENTINEL', ...question));
    return servers.find(({ port }) => port === Number((address as string[])[1])) as TestServer;
  };
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${NAME}`,
    servers,
    primary: primaryNow,
    async cutReplicasOff() {
      await ask((await primaryNow()).port, async (redis) => {
        // Existing connections stay; replicas that reconnect are refused.
        await redis.config('SET', 'requirepass', 'replicas do not know it');
        await redis.call('CLIENT', 'KILL', 'TYPE', 'replica');
      });
    },
    async stop() {
      for (const server of all) await server.stop();
    },
  };
}

/** Three primaries that share the slots of a Redis Cluster. */
export interface RedisCluster {
  /** `redis+cluster://...` */
  readonly url: string;
  readonly servers: readonly TestServer[];
  /** Moves the slot of a key to the next primary, key by key, as `redis-cli --cluster reshard` does. */
  moveSlotOf(key: string): Promise<void>;
  stop(): Promise<void>;
}

const SLOTS = 16_384;

/** Starts three primaries as a Cluster; resolves when each says that it is complete. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const settings = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '2000' };
  const servers = await Promise.all([1, 2, 3].map(() => startMember(settings)));
  const ports = servers.map(({ port }) => port);
  const size = Math.ceil(SLOTS / ports.length);
  for (const [i, port] of ports.entries()) {
    const last = Math.min(SLOTS, (i + 1) * size) - 1;
    await ask(port, async (redis) => {
      await redis.call('CLUSTER', 'ADDSLOTSRANGE', String(i * size), String(last));
      await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1));
      if (i > 0) await redis.call('CLUSTER', 'MEET', '127.0.0.1', String(ports[0]));
    });
  }
  for (const port of ports) {
    await eventually('the Cluster is complete', async () => {
      const info = String(await ask(port, (redis) => redis.call('CLUSTER', 'INFO')));
      return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3');
    });
  }
  return {
    url: `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    servers,
    moveSlotOf: (key) => moveSlot(ports, key),
    async stop() {
      for (const server of servers) await server.stop();
    },
  };
}

/**
 * A primary under a Sentinel, or a Cluster of one, by TLS: its URL begins with `rediss+`.
 *
 * @param tls  settings of Redis, with its certificates
 */
export async function startTlsGroup(
  kind: 'sentinel' | 'cluster',
  tls: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const [tlsPort, otherPort] = (await Promise.all([freePort(), freePort()])).map(String) as [string, string];
  // A node that has met no other does not know its own address.
  const bus = { 'cluster-port': otherPort, 'cluster-announce-ip': '127.0.0.1' };
  const clustered = { 'cluster-enabled': 'yes', 'tls-cluster': 'yes', ...bus };
  const store = await startMember({ ...tls, 'tls-port': tlsPort, ...(kind === 'cluster' ? clustered : {}) });
  if (kind === 'cluster') {
    await ask(store.port, (redis) => redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383'));
    await eventually('the Cluster is complete', async () =>
      String(await ask(store.port, (redis) => redis.call('CLUSTER', 'INFO'))).includes('cluster_state:ok'),
    );
    return { url: `rediss+cluster://127.0.0.1:${tlsPort}`, stop: () => store.stop() };
  }
  const watch = `sentinel monitor ${NAME} 127.0.0.1 ${tlsPort} 1`;
  const sentinel = await startMember({ ...tls, 'tls-port': otherPort }, watch);
  return {
    url: `rediss+sentinel://127.0.0.1:${otherPort}/${NAME}`,
    async stop() {
      for (const server of [sentinel, store]) await server.stop();
    },
  };
}

async function moveSlot(ports: readonly number[], key: string): Promise<void> {
  const nodes = ports.map((port) => new Redis(port));
  try {
    const cluster = (i: number, ...args: string[]) => (nodes[i] as Redis).call('CLUSTER', ...args);
    const slot = String(await cluster(0, 'KEYSLOT', key));
    const ids = await Promise.all(nodes.map((_, i) => cluster(i, 'MYID')));
    const owner = await ownerOf(nodes, Number(slot));
    const next = (owner + 1) % nodes.length;
    await cluster(next, 'SETSLOT', slot, 'IMPORTING', String(ids[owner]));
    await cluster(owner, 'SETSLOT', slot, 'MIGRATING', String(ids[next]));
    for (;;) {
      // One at a time, so that scripts meet a slot with some keys already gone.
      const keys = (await cluster(owner, 'GETKEYSINSLOT', slot, '1')) as string[];
      if (keys.length === 0) break;
      await (nodes[owner] as Redis).call('MIGRATE', '127.0.0.1', String(ports[next]), '', '0', '5000', 'KEYS', ...keys);
    }
    for (const i of [next, owner, 3 - owner - next]) await cluster(i, 'SETSLOT', slot, 'NODE', String(ids[next]));
  } finally {
    for (const node of nodes) node.disconnect();
  }
}

async function ownerOf(nodes: readonly Redis[], slot: number): Promise<number> {
  const ranges = await (nodes[0] as Redis).cluster('SLOTS');
  const port = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2]?.[1];
  return nodes.findIndex(({ options }) => options.port === port);
}

/** One more Redis; with `sentinel`, a Sentinel with those settings. */
async function startMember(settings: Readonly<Record<string, string>>, sentinel?: string): Promise<TestServer> {
  const [port, folder] = [await freePort(), serverFolder('redis')];
  const configFile = join(folder, 'redis.conf');
  const own = { bind: '127.0.0.1', port: String(port), dir: folder, ...(sentinel ? {} : { save: '""' }), ...settings };
  writeFileSync(configFile, `${configText(own)}${sentinel ?? ''}\n`);
  return startServer({
    name: sentinel ? 'Sentinel' : 'Redis',
    url: `redis://127.0.0.1:${port}`,
    port,
    folder,
    command: findBinary(REDIS_SERVER),
    args: [configFile, ...(sentinel ? ['--sentinel'] : [])],
    env: environment(),
    probe: { send: 'PING\r\n', expect: '+PONG' },
  });
}

async function ask<T>(port: number, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port);
  try {
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}

async function eventually(what: string, condition: () => Promise<boolean>): Promise<void> {
  const untilMs = clock.now() + FORM_TIMEOUT_MS;
  while (!(await condition())) {
    if (clock.now() > untilMs) throw new Error(`never became true: ${what}`);
    await sleep(clock, POLL_MS);
  }
}
