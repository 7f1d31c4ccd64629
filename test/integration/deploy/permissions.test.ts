import { randomUUID } from 'node:crypto';
import { type Channel, type ChannelModel, connect, type Options } from 'amqplib';
import { openBus } from '#libs/bus/open';
import type { Bus } from '#libs/bus/port';
import {
  BUILD_REQUESTS,
  BUILD_RESULTS,
  HOST_LEASES,
  RPC_CONDUCTOR,
  RPC_SCHEDULER,
  STATS,
} from '#libs/contracts/queues';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import { type RabbitmqServer, startRabbitmq } from '#libs/testing/servers/servers';

/*
 * RabbitMQ with the users of deploy/credentials.mjs. Each role, with a foreign client, makes the attempts forbidden
 * to it; services refuse those that RabbitMQ permits (sender.test.ts beside this).
 */

const A = 'project.a';
const B = 'project.b';
const HOST_1 = 'agent.host-1';
const HOST_1_LONG = 'agent.host-1.example';
const RACK = 'service-host.rack';
const METAL_A = 'pool-metal.a';
const METAL_B = 'pool-metal.b';
const OTHER_POOL = 'pool-other.a.example';
const CONSOLE = 'console';
const PLACEMENT = 'placement';
const USERS = [A, B, HOST_1, 'agent.host-2', HOST_1_LONG, RACK, METAL_A, METAL_B, OTHER_POOL];

let credentials: DeployedCredentials;
let broker: RabbitmqServer;
const buses: Bus[] = [];
const connections = new Map<string, ChannelModel>();

beforeAll(async () => {
  credentials = deployedCredentials(USERS);
  broker = await startRabbitmq({ config: { load_definitions: credentials.definitionsFile } });
  const scheduler = await busAs('scheduler');
  for (const queue of [RPC_SCHEDULER, STATS]) await scheduler.declare(queue);
  const conductor = await busAs('conductor');
  for (const queue of [RPC_CONDUCTOR, HOST_LEASES, BUILD_REQUESTS, BUILD_RESULTS]) await conductor.declare(queue);
});
afterAll(async () => {
  await Promise.all([...connections.values(), ...buses].map((one) => one.close()));
  await broker.stop();
  credentials.remove();
});

async function busAs(user: string): Promise<Bus> {
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const bus = await openBus({ busUrl: credentials.brokerUrl(user, broker.port) }, around);
  buses.push(bus);
  return bus;
}

/** A channel on the user's one connection: a refusal costs the channel only. */
async function channelAs(user: string): Promise<Channel> {
  const connection = connections.get(user) ?? (await connect(credentials.brokerUrl(user, broker.port)));
  connections.set(user, connection);
  const channel = await connection.createChannel();
  channel.on('error', () => {});
  return channel;
}

type ConsoleAction = (channel: Channel) => Promise<unknown>;

/** RabbitMQ's refusal code for an attempt; undefined when it allows it. */
async function refusal(user: string, deed: ConsoleAction): Promise<unknown> {
  const channel = await channelAs(user);
  const closed = new Promise<unknown>((resolve) =>
    channel.once('error', (error: { code?: unknown }) => resolve(error.code)),
  );
  const allowed = deed(channel).then(
    async () => {
      // A publication is refused later than a query: the query's answer comes after it.
      await channel.checkQueue('dead-letters');
      return undefined;
    },
    (error: { code?: unknown }) => error.code,
  );
  return Promise.race([closed, allowed]);
}

const publish =
  (exchange: string, key: string, options: Options.Publish = {}): ConsoleAction =>
  async (channel) =>
    void channel.publish(exchange, key, Buffer.from('x'), { type: 'x', ...options });
const own = (user: string) => `private.${user}.${randomUUID()}`;
const QUEUES = [
  'build.requests',
  'build.results',
  'stats',
  'host.leases',
  'rpc.scheduler',
  'rpc.conductor',
  'dead-letters',
  'agent.host-2',
];

/** Attempts forbidden to every agent and tenant. */
const NEVER: readonly (readonly [string, ConsoleAction])[] = [
  ...QUEUES.flatMap((queue): [string, ConsoleAction][] => [
    [`publish to ${queue}`, publish('', queue)],
    [`consume ${queue}`, (channel) => channel.consume(queue, () => {})],
    [`get from ${queue}`, (channel) => channel.get(queue)],
    [`purge ${queue}`, (channel) => channel.purgeQueue(queue)],
    [`delete ${queue}`, (channel) => channel.deleteQueue(queue)],
    [`bind ${queue}`, (channel) => channel.bindQueue(queue, 'amq.topic', '#')],
  ]),
  ...['berth.requests', 'berth.reports', 'berth.events'].flatMap((exchange): [string, ConsoleAction][] => [
    [`declare ${exchange}`, (channel) => channel.assertExchange(exchange, 'topic')],
    [`delete ${exchange}`, (channel) => channel.deleteExchange(exchange)],
  ]),
  ['publish an event', publish('berth.events', 'instance.active.a.x')],
  ['publish to a built-in exchange', publish('amq.topic', 'x')],
  ["declare a queue of the broker's naming", (channel) => channel.assertQueue('', { exclusive: true })],
  ['declare a queue', (channel) => channel.assertQueue('mine')],
  ['declare an order queue', (channel) => channel.assertQueue('agent.host-3')],
  ['declare the private queue of another', (channel) => channel.assertQueue(own('project.c'), { exclusive: true })],
];

/**
 * Attempts among them that a console may make: operators read dead letters by it, and a reader of a queue may empty it.
 */
const OF_CONSOLES = ['consume', 'get from', 'purge'].map((verb) => `${verb} dead-letters`);

describe.each([A, HOST_1, RACK, METAL_A, CONSOLE, PLACEMENT])('%s', (user) => {
  it.each(user === CONSOLE ? NEVER.filter(([what]) => !OF_CONSOLES.includes(what)) : NEVER)(
    'may not %s',
    async (_, deed) => {
      expect(await refusal(user, deed)).toBe(403);
    },
  );

  it('may not say that another sends its message', async () => {
    const [exchange, key] = [A, CONSOLE, PLACEMENT].includes(user)
      ? ['berth.requests', `build.requests.${user}`]
      : ['berth.reports', `stats.${user}`];
    for (const userId of ['scheduler', 'operator', B, 'agent.host-2'])
      expect(await refusal(user, publish(exchange, key, { userId }))).toBe(406);
    expect(await refusal(user, publish(exchange, key, { userId: user }))).toBeUndefined();
  });

  it('may not dead-letter what is in a queue of its own into the queue of another', async () => {
    const declare: ConsoleAction = (channel) =>
      channel.assertQueue(own(user), { exclusive: true, deadLetterExchange: '', deadLetterRoutingKey: 'agent.host-2' });
    expect(await refusal(user, declare)).toBe(403);
  });
});

describe('a tenant', () => {
  it.each([
    ["another tenant's requests", publish('berth.requests', `build.requests.${B}`)],
    ['requests of a longer name', publish('berth.requests', `build.requests.${A}.b`)],
    ['reports', publish('berth.reports', `build.results.${HOST_1}`)],
    ['orders', publish('berth.requests', 'agent.host-1')],
  ])('may not publish %s', async (_, deed) => {
    expect(await refusal(A, deed)).toBe(403);
  });

  it.each([
    'instance.*.b.*',
    'instance.#',
    '#',
    'instance.*.*.*',
    'instance.*.#',
    '*.*.b.#',
    'request.refused.*',
    'request.refused.b',
    'request.#',
    'instance.active.a.#.b',
  ])('may not hear events by the pattern %s', async (pattern) => {
    const listen: ConsoleAction = async (channel) => {
      const { queue } = await channel.assertQueue(own(A), { exclusive: true });
      await channel.bindQueue(queue, 'berth.events', pattern);
    };
    expect(await refusal(A, listen)).toBe(403);
  });

  it("may not read another tenant's private queue, nor bind it", async () => {
    const queue = own(B);
    const theirs = await channelAs(B);
    await theirs.assertQueue(queue, { durable: true, autoDelete: true });
    expect(await refusal(A, (channel) => channel.consume(queue, () => {}))).toBe(403);
    expect(await refusal(A, (channel) => channel.purgeQueue(queue))).toBe(403);
    expect(await refusal(A, (channel) => channel.deleteQueue(queue))).toBe(403);
    expect(await refusal(A, (channel) => channel.bindQueue(queue, 'berth.events', 'instance.*.a.#'))).toBe(403);
    await theirs.deleteQueue(queue);
  });
});

describe('an agent', () => {
  it.each([
    ['report for another host', publish('berth.reports', 'stats.agent.host-2')],
    ['report builds of another host', publish('berth.reports', 'build.results.agent.host-2')],
    ['report for a host whose name begins as its own', publish('berth.reports', `stats.${HOST_1_LONG}`)],
    ['put orders into the queue of another', publish('berth.reports', 'agent.host-2.agent.host-1')],
    ['request builds', publish('berth.requests', `build.requests.${HOST_1}`)],
    ['call schedulers', publish('berth.requests', `rpc.scheduler.${HOST_1}`)],
    [
      'consume the orders of a host whose name begins as its own',
      (channel: Channel) => channel.consume('agent.host-1.example', () => {}),
    ],
    ['delete its own orders', (channel: Channel) => channel.deleteQueue('agent.host-1')],
    [
      'hear events',
      (channel: Channel) =>
        channel
          .assertQueue(own(HOST_1), { exclusive: true })
          .then(({ queue }) => channel.bindQueue(queue, 'berth.events', '#')),
    ],
  ] as [string, ConsoleAction][])('may not %s', async (_, deed) => {
    expect(await refusal(HOST_1, deed)).toBe(403);
  });
});

describe('an agent of a pool', () => {
  it.each([
    ['report as another agent of its pool', publish('berth.reports', `stats.${METAL_B}`)],
    ['report builds as another agent of its pool', publish('berth.reports', `build.results.${METAL_B}`)],
    ['report as an agent of another pool', publish('berth.reports', 'stats.pool-other.a')],
    ['report as the agent of a host of its name', publish('berth.reports', 'stats.agent.a')],
    ['report for a host', publish('berth.reports', 'stats.agent.host-2')],
    ['report for a node by its name', publish('berth.reports', 'stats.agent.node-1')],
    ['put orders into the queue of another of its pool', publish('berth.reports', `agent.b.${METAL_A}`)],
    ['put orders into the queue of a host', publish('berth.reports', `agent.host-2.${METAL_A}`)],
    ['put orders into its own queue as another', publish('berth.reports', `agent.a.${METAL_B}`)],
    ['request builds', publish('berth.requests', `build.requests.${METAL_A}`)],
    ['call schedulers', publish('berth.requests', `rpc.scheduler.${METAL_A}`)],
    ['call conductors', publish('berth.requests', `rpc.conductor.${METAL_A}`)],
    ...['agent.b', 'agent.host-1', 'agent.a.example', 'agent.node-1'].flatMap((queue): [string, ConsoleAction][] => [
      [`consume ${queue}`, (channel) => channel.consume(queue, () => {})],
      [`purge ${queue}`, (channel) => channel.purgeQueue(queue)],
    ]),
    ['delete its own orders', (channel: Channel) => channel.deleteQueue('agent.a')],
    [
      'hear events',
      (channel: Channel) =>
        channel
          .assertQueue(own(METAL_A), { exclusive: true })
          .then(({ queue }) => channel.bindQueue(queue, 'berth.events', '#')),
    ],
  ] as [string, ConsoleAction][])('may not %s', async (_, deed) => {
    expect(await refusal(METAL_A, deed)).toBe(403);
  });

  it.each([
    ['report', publish('berth.reports', `stats.${METAL_A}`)],
    ['report builds', publish('berth.reports', `build.results.${METAL_A}`)],
    ['put an order back', publish('berth.reports', `agent.a.${METAL_A}`)],
    ['take its orders', (channel: Channel) => channel.consume('agent.a', () => {})],
  ] as [string, ConsoleAction][])('may %s', async (_, deed) => {
    expect(await refusal(METAL_A, deed)).toBeUndefined();
  });
});

describe('a console', () => {
  it.each([
    ['put orders into the queue of a host', publish('berth.reports', 'agent.host-2.console')],
    ['report for a host', publish('berth.reports', 'stats.console')],
    ["publish a tenant's requests", publish('berth.requests', `build.requests.${A}`)],
    ["publish an agent's reports", publish('berth.reports', `build.results.${HOST_1}`)],
    ['tell what conductors tell', publish('berth.events', 'flavor.created.m1')],
  ])('may not %s', async (_, deed) => {
    expect(await refusal(CONSOLE, deed)).toBe(403);
  });

  it.each([
    ['request', publish('berth.requests', 'build.requests.console')],
    ['call a conductor', publish('berth.requests', 'rpc.conductor.console')],
    ['call a scheduler', publish('berth.requests', 'rpc.scheduler.console')],
    ['send a report again', publish('berth.reports', 'build.results.console')],
    ['tell what an operator did', publish('berth.events', 'operator.host_disable.ann')],
    ['look at dead letters', (channel: Channel) => channel.get('dead-letters')],
    [
      'hear all events',
      (channel: Channel) =>
        channel
          .assertQueue(own(CONSOLE), { exclusive: true })
          .then(({ queue }) => channel.bindQueue(queue, 'berth.events', '#')),
    ],
  ] as [string, ConsoleAction][])('may %s', async (_, deed) => {
    expect(await refusal(CONSOLE, deed)).toBeUndefined();
  });
});

describe('a placement API', () => {
  it.each([
    ["publish a tenant's requests", publish('berth.requests', `build.requests.${A}`)],
    ["publish an agent's reports", publish('berth.reports', `build.results.${HOST_1}`)],
    ['send a report again', publish('berth.reports', 'build.results.placement')],
    ['put orders into the queue of a host', publish('berth.reports', 'agent.host-2.placement')],
    ['tell what an operator did', publish('berth.events', 'operator.host_disable.ann')],
  ])('may not %s', async (_, deed) => {
    expect(await refusal(PLACEMENT, deed)).toBe(403);
  });

  it.each([
    ['request', publish('berth.requests', 'build.requests.placement')],
    ['call a conductor', publish('berth.requests', 'rpc.conductor.placement')],
    ['call a scheduler', publish('berth.requests', 'rpc.scheduler.placement')],
    [
      'hear all events',
      (channel: Channel) =>
        channel
          .assertQueue(own(PLACEMENT), { exclusive: true })
          .then(({ queue }) => channel.bindQueue(queue, 'berth.events', '#')),
    ],
  ] as [string, ConsoleAction][])('may %s', async (_, deed) => {
    expect(await refusal(PLACEMENT, deed)).toBeUndefined();
  });
});

describe('services', () => {
  it.each([
    ['scheduler', 'consume build.requests', (channel: Channel) => channel.consume('build.requests', () => {})],
    ['scheduler', 'delete build.results', (channel: Channel) => channel.deleteQueue('build.results')],
    ['scheduler', 'consume orders', (channel: Channel) => channel.consume('agent.host-1', () => {})],
    ['scheduler', 'publish events', publish('berth.events', 'instance.active.a.x')],
    ['scheduler', 'read dead letters', (channel: Channel) => channel.get('dead-letters')],
    ['conductor', 'consume stats', (channel: Channel) => channel.consume('stats', () => {})],
    ['conductor', 'declare a queue of another cell', (channel: Channel) => channel.assertQueue('cell.b.agent.host-1')],
    [
      'conductor',
      'listen to events',
      (channel: Channel) =>
        channel
          .assertQueue(own('conductor'), { exclusive: true })
          .then(({ queue }) => channel.bindQueue(queue, 'berth.events', '#')),
    ],
  ] as [string, string, ConsoleAction][])('%s may not %s', async (user, _, deed) => {
    expect(await refusal(user, deed)).toBe(403);
  });

  it('lets no guest in', async () => {
    await expect(connect(`amqp://guest:guest@127.0.0.1:${broker.port}/${credentials.virtualHost}`)).rejects.toThrow(
      /403|ACCESS/,
    );
  });
});
