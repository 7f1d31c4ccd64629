import { randomUUID } from 'node:crypto';
import { type ConfirmChannel, connect, type Message, type Options } from 'amqplib';
import { connect as connectClient } from '#libs/client/connect';
import { buildRequestCodec } from '#libs/contracts/conductor';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { type OwnVirtualHost, ownVirtualHost } from '../../shared-servers';

/* A tenant guesses: users, queues for answers, correlation ids; on a real broker with the users and rights that it has as deployed. */

const TENANT = 'project.demo';
/** A tenant whose name begins like the other's. */
const OTHER = 'project.demo.lab';
const EXPLAIN = 'berth.scheduler.v1.ExplainRequest';

let credentials: DeployedCredentials;
let broker: OwnVirtualHost;
let redis: TestServer;
const children: Child[] = [];

beforeAll(async () => {
  credentials = deployedCredentials([TENANT, OTHER, 'agent.host-1']);
  [broker, redis] = await Promise.all([ownVirtualHost(credentials), startRedis()]);
  for (const [name, user, env] of [
    ['scheduler', 'scheduler', { BERTH_STORE_URL: redis.url }],
    ['conductor', 'conductor', { BERTH_STORE_URL: redis.url }],
    ['compute-agent', 'agent.host-1', { BERTH_AGENT_HOST: 'host-1' }],
  ] as const) {
    const child = startChild('services/cli/main.ts', [name], { ...env, BERTH_BUS_URL: urlOf(user) });
    children.push(child);
    await child.says('"msg":"running"');
  }
});
afterAll(async () => {
  for (const child of children) child.process.kill('SIGKILL');
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials?.remove();
});

const urlOf = (user: string) => credentials.brokerUrl(user, broker.port);

/** A connection of a user, and what it hears in a queue of its own. */
async function listening(user: string) {
  const connection = await connect(urlOf(user));
  connection.on('error', () => {});
  const channel = await connection.createConfirmChannel();
  const { queue } = await channel.assertQueue(`private.${user}.${randomUUID()}`, { exclusive: true });
  const heard: Message[] = [];
  await channel.consume(queue, (message) => message && heard.push(message), { noAck: true });
  return { connection, channel, queue, heard };
}

/** Does one thing as a user; resolves to why the broker refuses it. */
async function refusal(user: string, attempt: (channel: ConfirmChannel) => Promise<unknown>): Promise<string> {
  const connection = await connect(urlOf(user));
  connection.on('error', () => {});
  try {
    const channel = await connection.createConfirmChannel();
    const closed = new Promise<string>((resolve) => channel.on('error', (thrown: Error) => resolve(thrown.message)));
    // Whatever a closed channel refuses, `closed` says why.
    const taken = async () => {
      await attempt(channel);
      await channel.waitForConfirms();
      await channel.assertQueue(`private.${user}.${randomUUID()}`, { exclusive: true });
      return 'nothing';
    };
    return await taken().catch(() => closed);
  } finally {
    await connection.close().catch(() => {});
  }
}

function send(
  channel: ConfirmChannel,
  entrance: string,
  type: string,
  body: Uint8Array,
  properties: Options.Publish,
): void {
  channel.publish('berth.requests', `${entrance}.${TENANT}`, Buffer.from(body), {
    userId: TENANT,
    type,
    ...properties,
  });
}

/** A tenant builds and ends what it built: all that was sent before has been worked on. */
async function buildsAsEver(): Promise<void> {
  const client = await connectClient({ url: urlOf(OTHER) });
  try {
    const spec = { projectId: 'demo.lab', userId: 'u', resources: { VCPU: 1 } };
    const [event] = await client.buildAndWait({ spec, count: 1 }, { timeoutMs: 30_000 });
    expect(event).toMatchObject({ state: 'active' });
    await client.terminateAndWait(event?.instanceUuid ?? '', { timeoutMs: 30_000 });
  } finally {
    await client.close();
  }
}

it('gives nobody another user, queue, entrance or event than its own', async () => {
  const other = await listening(OTHER);
  const body = Buffer.from('x');
  const own = () => `private.${TENANT}.${randomUUID()}`;
  const attempts: Readonly<Record<string, (channel: ConfirmChannel) => Promise<unknown>>> = {
    async "another's user"(channel) {
      channel.publish('berth.requests', `rpc.scheduler.${TENANT}`, body, { userId: OTHER });
    },
    async "a service's user"(channel) {
      channel.publish('berth.requests', `rpc.scheduler.${TENANT}`, body, { userId: 'conductor' });
    },
    async "another's entrance"(channel) {
      channel.publish('berth.requests', `build.requests.${OTHER}`, body, { userId: TENANT });
    },
    async "the agents' entrance"(channel) {
      channel.publish('berth.reports', 'stats.agent.host-1', body, { userId: TENANT });
    },
    async 'an event'(channel) {
      channel.publish('berth.events', `instance.active.demo.${randomUUID()}`, body, { userId: TENANT });
    },
    async "another's queue for answers, by the default exchange"(channel) {
      channel.publish('', other.queue, body, { userId: TENANT });
    },
    "another's queue, to read": (channel) => channel.consume(other.queue, () => {}),
    "a host's orders": (channel) => channel.consume('agent.host-1', () => {}),
    'the requests of all': (channel) => channel.consume('build.requests', () => {}),
    'the dead letters': (channel) => channel.get('dead-letters'),
    "a queue in another's name": (channel) => channel.assertQueue(`private.${OTHER}.${randomUUID()}`),
    'a queue without a uuid': (channel) => channel.assertQueue(`private.${TENANT}.lab`),
    async "another's events"(channel) {
      const { queue } = await channel.assertQueue(own(), { exclusive: true });
      await channel.bindQueue(queue, 'berth.events', 'instance.*.demo.lab.#');
    },
    async 'the events of all'(channel) {
      const { queue } = await channel.assertQueue(own(), { exclusive: true });
      await channel.bindQueue(queue, 'berth.events', '#');
    },
    'a queue that expires into a queue': (channel) =>
      channel.assertQueue(own(), { exclusive: true, deadLetterExchange: '', deadLetterRoutingKey: 'build.results' }),
  };
  const said: Record<string, string> = {};
  for (const [what, attempt] of Object.entries(attempts)) said[what] = await refusal(TENANT, attempt);
  const taken = Object.entries(said).filter(
    ([, why]) => !/ACCESS_REFUSED|PRECONDITION_FAILED|RESOURCE_LOCKED/.test(why),
  );
  expect(taken).toEqual([]);
  expect(other.heard).toEqual([]);
  await other.connection.close();
});

it("answers nobody in another's queue, however alike its name, nor under another's correlation id", async () => {
  const other = await listening(OTHER);
  const own = await listening(TENANT);
  const client = await connectClient({ url: urlOf(OTHER) });
  const answering = client.explain(
    { projectId: 'demo.lab', userId: 'u', resources: { VCPU: 1 } },
    { host: '', limit: 1 },
  );
  for (const replyTo of [other.queue, `${own.queue}.`, `private.${TENANT}.`, 'agent.host-1', 'build.results']) {
    for (let n = 0; n < 20; n++) {
      send(own.channel, 'rpc.scheduler', EXPLAIN, new Uint8Array(), { replyTo, correlationId: String(n) });
    }
  }
  await own.channel.waitForConfirms();
  await buildsAsEver();
  await answering;
  await client.close();
  send(own.channel, 'rpc.scheduler', EXPLAIN, new Uint8Array(), { replyTo: own.queue, correlationId: 'mine' });
  while (own.heard.length === 0) await buildsAsEver();
  expect(own.heard.map(({ properties }) => properties.correlationId)).toEqual(['mine']);
  expect(other.heard).toEqual([]);
  await Promise.all([own.connection.close(), other.connection.close()]);
});

it("takes what expires into another's entrance for nobody's word", async () => {
  const own = await listening(TENANT);
  const { channel } = own;
  const trap = await channel.assertQueue(`private.${TENANT}.${randomUUID()}`, {
    exclusive: true,
    messageTtl: 0,
    deadLetterExchange: 'berth.requests',
    deadLetterRoutingKey: `build.requests.${OTHER}`,
  });
  await channel.bindQueue(trap.queue, 'berth.events', 'instance.*.demo.#');
  const requestId = randomUUID();
  const instanceUuid = randomUUID();
  const request = {
    requestId,
    requestSpec: anEncodedSpec({ projectId: 'demo' }),
    count: 1,
    name: '',
    instanceUuids: [instanceUuid],
  };
  send(channel, 'build.requests', buildRequestCodec.type, buildRequestCodec.encode(request), {});
  await channel.waitForConfirms();
  // Its answers come to the trap, too.
  send(channel, 'rpc.scheduler', EXPLAIN, new Uint8Array(), { replyTo: trap.queue, correlationId: 'mine' });
  await channel.waitForConfirms();
  await buildsAsEver();
  const client = await connectClient({ url: urlOf(OTHER) });
  expect(await client.instances({ state: 'active' })).toEqual([]);
  await client.close();
  for (const child of children) expect(child.process.exitCode).toBeNull();
  await own.connection.close();
});
