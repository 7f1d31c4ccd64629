import { randomUUID } from 'node:crypto';
import { type Channel, type ChannelModel, connect, type Options } from 'amqplib';
import { frameCodec, framedMessage } from '#libs/bus/amqp/batching/frame';
import { DEAD_LETTER_QUEUE } from '#libs/bus/handling/dead-letter';
import { openBus } from '#libs/bus/open';
import { ACK, type Bus, drop, type IncomingMessage, REQUEUE, type Settlement, type Subscription } from '#libs/bus/port';
import { visitDeadLetters } from '#libs/client/dead-letters';
import { agentQueue, BUILD_REQUESTS, BUILD_RESULTS } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aMessage, textOf } from '#libs/testing/bus/bus-world';
import { Inbox } from '#libs/testing/bus/inbox';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import { type OwnVirtualHost, ownVirtualHost } from '../../shared-servers';

/* The sender of a message, whatever a tenant does that RabbitMQ allows; and the rights that each role needs. */

const A = { kind: 'project', projectId: 'a' };
const TYPE = aMessage('').type;
const KEY = `${BUILD_REQUESTS.name}.project.a`;
const KEY_OF_B = `${BUILD_REQUESTS.name}.project.b`;
const clock = systemClock();

let credentials: DeployedCredentials;
let broker: OwnVirtualHost;
let conductor: Bus;
let operator: Bus;
let tenant: Channel;
let connection: ChannelModel;
const buses: Bus[] = [];
let subscriptions: Subscription[] = [];

beforeAll(async () => {
  credentials = deployedCredentials(['project.a', 'project.b', 'agent.host-1']);
  broker = await ownVirtualHost(credentials);
  conductor = await busAs('conductor');
  operator = await busAs('operator');
  for (const queue of [BUILD_REQUESTS, BUILD_RESULTS]) await conductor.declare(queue);
  connection = await connect(credentials.brokerUrl('project.a', broker.port));
});
beforeEach(async () => {
  tenant = await connection.createChannel();
});
afterEach(async () => {
  await Promise.all([tenant.close(), ...subscriptions.map((subscription) => subscription.cancel())]);
  subscriptions = [];
});
afterAll(async () => {
  await Promise.all([connection.close(), ...buses.map((bus) => bus.close())]);
  await broker.stop();
  credentials.remove();
});

async function busAs(user: string): Promise<Bus> {
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const bus = await openBus({ busUrl: credentials.brokerUrl(user, broker.port) }, around);
  buses.push(bus);
  return bus;
}

/** A bus's messages from a queue; the first settlements are the given ones, the rest are acks. */
async function inboxOf(bus: Bus, queue: Parameters<Bus['consume']>[0], ...settlements: Settlement[]) {
  const inbox = new Inbox<IncomingMessage>();
  const subscription = await bus.consume(queue, async (message) => {
    inbox.put(message);
    return settlements.shift() ?? ACK;
  });
  subscriptions.push(subscription);
  return inbox;
}

async function first<T>(inbox: Inbox<T>): Promise<T> {
  const [item] = await inbox.has(1);
  return item as T;
}

function send(exchange: string, key: string, options: Options.Publish = {}, body = Buffer.from('x')): void {
  tenant.publish(exchange, key, body, { type: TYPE, userId: 'project.a', ...options });
}

const ownName = () => `private.project.a.${randomUUID()}`;

describe('a request of a tenant', () => {
  it('is its own, whatever its headers say', async () => {
    const requests = await inboxOf(conductor, BUILD_REQUESTS);
    send('berth.requests', KEY, { headers: { 'berth-user': 'operator' }, appId: 'operator' });
    expect(await first(requests)).toMatchObject({ identity: A });
  });

  it('is its own in a frame', async () => {
    const requests = await inboxOf(conductor, BUILD_REQUESTS);
    const frame = ['1', '2'].map((text) => framedMessage({ type: TYPE, appId: 'operator' }, Buffer.from(text)));
    send('berth.requests', KEY, { type: frameCodec.type }, Buffer.from(frameCodec.encode(frame)));
    expect((await requests.has(2)).map(({ identity }) => identity)).toEqual([A, A]);
  });

  it('stays its own when a conductor gives it back, alone or from a frame', async () => {
    const requests = await inboxOf(conductor, BUILD_REQUESTS, REQUEUE, REQUEUE, REQUEUE);
    send('berth.requests', KEY);
    const frame = ['1', '2'].map((text) => framedMessage({ type: TYPE }, Buffer.from(text)));
    send('berth.requests', KEY, { type: frameCodec.type }, Buffer.from(frameCodec.encode(frame)));
    const all = await requests.has(6);
    expect(new Set(all.map(({ identity }) => JSON.stringify(identity)))).toEqual(new Set([JSON.stringify(A)]));
    expect(all.filter(({ redelivered }) => redelivered)).toHaveLength(3);
  });

  it('stays its own as a dead letter, and when an operator sends that again', async () => {
    const refused = drop(new BerthError('invalid_argument', 'rubbish', 'it is rubbish'));
    const requests = await inboxOf(conductor, BUILD_REQUESTS, refused);
    send('berth.requests', KEY);
    await first(requests);
    await requeueDeadLetters();
    expect((await requests.has(2)).map(({ identity }) => identity)).toEqual([A, A]);
  });

  it('stays its own when a console sends it again, which may not write to queues', async () => {
    const refused = drop(new BerthError('invalid_argument', 'rubbish', 'it is rubbish'));
    const requests = await inboxOf(conductor, BUILD_REQUESTS, refused);
    send('berth.requests', KEY);
    await first(requests);
    await deadLetters(1);
    expect(await visitDeadLetters(await busAs('console'), clock, 100, () => 'requeue')).toEqual([]);
    expect((await requests.has(2)).map(({ identity }) => identity)).toEqual([A, A]);
  });

  it('stays its own when the broker dead-letters it, whatever its headers say', async () => {
    send('berth.requests', KEY, { headers: { 'berth-user': 'operator' }, expiration: 1 });
    await deadLetters(1);
    await requeueDeadLetters();
    const requests = await inboxOf(conductor, BUILD_REQUESTS);
    expect(await first(requests)).toMatchObject({ identity: A });
  });

  it('is answered into queues of its own only', async () => {
    const requests = await inboxOf(conductor, BUILD_REQUESTS);
    const mine = ownName();
    for (const replyTo of ['agent.host-1', 'private.project.b.x', mine]) send('berth.requests', KEY, { replyTo });
    expect((await requests.has(3)).map(({ replyTo }) => replyTo)).toEqual([undefined, undefined, mine]);
  });
});

describe('what no user vouches for comes to no handler', () => {
  it.each<readonly [string, () => Promise<void>]>([
    ['a request without user-id', async () => send('berth.requests', KEY, { userId: undefined as unknown as string })],
    [
      "a request by an exchange of the tenant's own, under another's key",
      async () => {
        const exchange = ownName();
        await tenant.assertExchange(exchange, 'topic', { autoDelete: true });
        await tenant.bindExchange('berth.requests', exchange, '#');
        send(exchange, KEY_OF_B);
      },
    ],
    [
      "a request that goes on from a queue of the tenant's own, under another's key",
      async () => {
        const name = ownName();
        await tenant.assertExchange(name, 'fanout', { autoDelete: true });
        const goesOn = { deadLetterExchange: 'berth.requests', deadLetterRoutingKey: KEY_OF_B };
        await tenant.assertQueue(name, { exclusive: true, messageTtl: 0, ...goesOn });
        await tenant.bindQueue(name, name, '');
        send(name, '');
      },
    ],
  ])('%s', async (_, forge) => {
    const letters = await inboxOf(operator, DEAD_LETTER_QUEUE);
    const requests = await inboxOf(conductor, BUILD_REQUESTS);
    await forge();
    const letter = await first(letters);
    expect(letter.headers).toMatchObject({ 'berth-error-reason': 'unknown_sender' });
    expect(letter.identity).toEqual({ kind: 'nobody' });
    expect(requests.items).toEqual([]);
  });

  it('nor does what the broker dead-letters with a forged header, when an operator sends it again', async () => {
    for (const headers of [{ 'berth-user': 'operator' }, {}])
      send('berth.requests', KEY, { userId: undefined as unknown as string, expiration: 1, headers });
    await deadLetters(2);
    const requests = await inboxOf(conductor, BUILD_REQUESTS);
    await requeueDeadLetters();
    const letters = await inboxOf(operator, DEAD_LETTER_QUEUE);
    expect((await letters.has(2)).map(({ identity }) => identity.kind)).toEqual(['nobody', 'nobody']);
    expect(requests.items).toEqual([]);
  });
});

describe('an agent', () => {
  it('takes its orders, puts them back and buries them, with what it may', async () => {
    const agent = await busAs('agent.host-1');
    const reason = new BerthError('invalid_argument', 'odd_order', 'an odd order');
    const queue = agentQueue('host-1');
    const orders = await inboxOf(agent, queue, REQUEUE, drop(reason));
    await Promise.all(['1', '2', '3'].map((text) => conductor.cast(queue, aMessage(text))));
    const taken = await orders.has(4);
    expect(taken.map(({ body }) => textOf(body)).sort()).toEqual(['1', '1', '2', '3']);
    const [letter] = await (await inboxOf(operator, DEAD_LETTER_QUEUE)).has(1);
    expect(letter).toMatchObject({ identity: { kind: 'agent', host: 'host-1' } });
    expect(letter?.headers).toMatchObject({ 'berth-error-reason': 'odd_order', 'berth-queue': queue.name });
  });

  it('reports as itself', async () => {
    const agent = await busAs('agent.host-1');
    const results = await inboxOf(conductor, BUILD_RESULTS);
    await Promise.all(['1', '2'].map((text) => agent.cast(BUILD_RESULTS, aMessage(text))));
    for (const { identity } of await results.has(2)) expect(identity).toMatchObject({ kind: 'agent', host: 'host-1' });
  });

  it('keeps its word as a dead letter that a console sends again, and its orders to itself', async () => {
    const refused = drop(new BerthError('invalid_argument', 'rubbish', 'it is rubbish'));
    const agent = await busAs('agent.host-1');
    const results = await inboxOf(conductor, BUILD_RESULTS, refused);
    await inboxOf(agent, agentQueue('host-1'), refused);
    await agent.cast(BUILD_RESULTS, aMessage('1'));
    await conductor.cast(agentQueue('host-1'), aMessage('2'));
    await deadLetters(2);
    const left = await visitDeadLetters(await busAs('console'), clock, 100, () => 'requeue');
    expect(left).toMatchObject([{ error: { reason: 'no_entrance' } }]);
    for (const { identity } of await results.has(2)) expect(identity).toMatchObject({ kind: 'agent', host: 'host-1' });
    await requeueDeadLetters();
  });

  it('is told at once what it may not send', async () => {
    const agent = await busAs('agent.host-1');
    const cast = agent.cast('agent.host-2', aMessage('destroy'));
    await expect(cast).rejects.toMatchObject({ code: 'permission_denied', reason: 'no_entrance' });
  });
});

async function requeueDeadLetters(): Promise<void> {
  await visitDeadLetters(operator, clock, 100, () => 'requeue');
}

/** Waits until there are this many dead letters. */
async function deadLetters(count: number): Promise<void> {
  while ((await operator.depth(DEAD_LETTER_QUEUE.name)) < count) await new Promise(setImmediate);
}
