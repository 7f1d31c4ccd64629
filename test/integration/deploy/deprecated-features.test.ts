import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';

/*
 * Features that RabbitMQ 4 deprecates, as far as a client can use them, checked against the declarations of all services.
 * RabbitMQ 3.10 has no `list_deprecated_features`:
 * https://www.rabbitmq.com/release-information/deprecated-features-list
 */

const BERTH = 'services/cli/main.ts';
const USERS = ['agent.host-1', 'project.demo'];

let credentials: DeployedCredentials;
let broker: RabbitmqServer;
let redis: TestServer;
const children: Child[] = [];

beforeAll(async () => {
  credentials = deployedCredentials(USERS);
  [broker, redis] = await Promise.all([
    startRabbitmq({ config: { load_definitions: credentials.definitionsFile } }),
    startRedis(),
  ]);
  for (const [user, ...args] of [
    ['scheduler', 'scheduler'],
    ['conductor', 'conductor'],
    ['agent.host-1', 'compute-agent', '--host', 'host-1'],
    ['project.demo', 'events'],
  ] as const) {
    const env = { BERTH_BUS_URL: credentials.brokerUrl(user, broker.port), BERTH_STORE_URL: redis.url };
    const child = startChild(BERTH, args, user === 'project.demo' ? { BERTH_BUS_URL: env.BERTH_BUS_URL } : env);
    children.push(child);
    await child.says(/"msg":"running"|listening/);
  }
});
afterAll(async () => {
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials.remove();
});

/** A listing of `rabbitmqctl`, as objects. */
async function listed<T>(what: string, ...columns: string[]): Promise<T[]> {
  const inVhost = what === 'list_channels' ? [] : ['-p', credentials.virtualHost];
  return JSON.parse(await broker.ctl(what, ...inVhost, ...columns, '--formatter', 'json')) as T[];
}

it('has no queue that is transient and not exclusive, and none that asks for mirrors, lazy mode or version 1', async () => {
  interface Queue {
    readonly name: string;
    readonly durable: boolean;
    readonly exclusive: boolean;
    readonly arguments: readonly (readonly [string, ...unknown[]])[] | Readonly<Record<string, unknown>>;
  }
  const queues = await listed<Queue>('list_queues', 'name', 'durable', 'exclusive', 'arguments');
  expect(queues.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'build.requests',
      'build.results',
      'rpc.scheduler',
      'rpc.conductor',
      'stats',
      'agent.host-1',
    ]),
  );
  expect(queues.filter(({ durable, exclusive }) => !durable && !exclusive)).toEqual([]);
  const asked = new Set(queues.flatMap((queue) => argumentsOf(queue.arguments)));
  const known = ['x-queue-type', 'x-expires', 'x-max-length', 'x-max-length-bytes', 'x-overflow', 'x-delivery-limit'];
  const buried = ['x-dead-letter-exchange', 'x-dead-letter-routing-key'];
  expect([...asked].filter((name) => ![...known, ...buried].includes(name))).toEqual([]);
  const policies = await listed<{ name: string; definition: string }>('list_policies');
  const limits = policies.map(({ definition }) => Object.keys(JSON.parse(definition) as object));
  // Policies limit bytes, and nothing else: earlier policies also set mirrors, modes and versions of queues.
  expect(limits.length).toBeGreaterThan(0);
  expect(limits.flat().filter((limit) => limit !== 'max-length-bytes')).toEqual([]);
});

function argumentsOf(
  given: readonly (readonly [string, ...unknown[]])[] | Readonly<Record<string, unknown>>,
): string[] {
  return Array.isArray(given) ? given.map(([name]) => String(name)) : Object.keys(given);
}

it('has a prefetch for each consumer and none for a channel', async () => {
  const channels = await listed<{ user: string; global_prefetch_count: number; consumer_count: number }>(
    'list_channels',
    'user',
    'global_prefetch_count',
    'consumer_count',
  );
  const consuming = channels.filter(({ consumer_count }) => consumer_count > 0);
  expect(new Set(consuming.map(({ user }) => user))).toEqual(new Set(['scheduler', 'conductor', ...USERS]));
  expect(channels.filter(({ global_prefetch_count }) => global_prefetch_count > 0)).toEqual([]);
});

it('speaks AMQP 0-9-1', async () => {
  const connections = JSON.parse(await broker.ctl('list_connections', 'protocol', '--formatter', 'json')) as {
    protocol: unknown;
  }[];
  expect(connections.length).toBeGreaterThan(3);
  expect(new Set(connections.map(({ protocol }) => String(protocol)))).toEqual(new Set(['0,9,1']));
});
