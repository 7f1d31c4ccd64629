import { randomUUID } from 'node:crypto';
import { ACK, DEAD_LETTERS, type IncomingMessage } from '#libs/bus/port';
import { agentQueue } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import { Inbox } from '#libs/testing/bus/inbox';
import { AgentWorld } from '../testing/agent-world';
import { MAX_PUT_BACK_MS } from './order-queue';

let world: AgentWorld;

beforeEach(() => {
  world = new AgentWorld();
});

afterEach(() => world.close());

const startRack = (settings = {}) => world.startAll({ HOST: 'rack', HOSTS: '3', ...settings });

it('is the only queue of a service host, which all its hosts name in their reports', async () => {
  await startRack();
  for (const { host, serviceHost } of await world.stats.has(3)) {
    expect(serviceHost).toBe('rack');
    await expect(world.bus.depth(agentQueue(host).name)).rejects.toMatchObject({ reason: 'no_such_queue' });
  }
  expect(await world.bus.depth(agentQueue('rack').name)).toBe(0);
});

it('is that of the host when a process carries one: it is its own service host', async () => {
  await world.startAll();
  const [stats] = await world.stats.has(1);
  expect(stats).toMatchObject({ host: 'h1', serviceHost: 'h1' });
  expect(await world.bus.depth(agentQueue('h1').name)).toBe(0);
});

it('can be given orders as soon as anybody hears of a host', async () => {
  let ordered: Promise<void> | undefined;
  world.onStats = async () => {
    ordered ??= world.build({ host: 'rack-2' });
    await ordered;
  };
  await startRack();
  await world.results.has(1);
  expect(world.outcomes()).toEqual(['1 active']);
});

it('gives builds and destroys to the hosts that they name', async () => {
  await startRack({ INVENTORY: 'VCPU=1,MEMORY_MB=65536' });
  const instanceUuid = randomUUID();
  await world.build({ host: 'rack-1', instanceUuid });
  for (const host of ['rack-2', 'rack-2', 'rack-3']) await world.build({ host });
  await world.results.has(4);
  await world.destroy({ host: 'rack-2', instanceUuid });
  await world.build({ host: 'rack-1' });
  await world.results.has(6);
  await world.destroy({ host: 'rack-1', instanceUuid });
  await world.results.has(7);
  await world.build({ host: 'rack-1' });
  await world.results.has(8);
  const results = world.results.items.map(({ host, outcome, reason }) => `${host} ${outcome} ${reason}`.trim());
  expect(results.slice(0, 4).sort()).toEqual([
    'rack-1 active',
    'rack-2 active',
    'rack-2 refused insufficient_vcpu',
    'rack-3 active',
  ]);
  expect(results.slice(4, 6).sort()).toEqual(['rack-1 refused insufficient_vcpu', 'rack-2 destroyed destroyed']);
  expect(results.slice(6)).toEqual(['rack-1 destroyed destroyed', 'rack-1 active']);
});

it('lets a slow host hold up no other', async () => {
  await startRack({ FAKE_LATENCY_MS: '1000', MAX_BUILDS: '1', PREFETCH: '1' });
  await world.build({ host: 'rack-1' });
  await world.build({ host: 'rack-1' });
  await world.build({ host: 'rack-2' });
  await world.clock.advance(1_000);
  expect(world.results.items.map(({ host }) => host).sort()).toEqual(['rack-1', 'rack-2']);
  await world.clock.advance(1_000);
  expect(world.results.items).toHaveLength(3);
});

it.each([
  ['one host', { HOST: 'rack', HOSTS: '1' }, 'rack', 3],
  ['many hosts', { HOST: 'rack', HOSTS: '3' }, 'rack-1', 9],
])('lets a destroy get past builds that wait: %s', async (_, hosts, host, prefetch) => {
  await world.startAll({ ...hosts, FAKE_LATENCY_MS: '10000', MAX_BUILDS: '1', PREFETCH: '3' });
  const uuids = Array.from({ length: prefetch - 1 }, () => randomUUID());
  for (const instanceUuid of uuids) await world.build({ host, instanceUuid });
  const waiting = uuids.at(-1) ?? '';
  await world.destroy({ host, instanceUuid: waiting });
  await world.settle();
  expect(world.results.items.map(({ instanceUuid, outcome }) => [instanceUuid, outcome])).toEqual([
    [waiting, 'destroyed'],
    [waiting, 'destroyed'],
  ]);
});

it('dead-letters orders for hosts that are not here, and what it can not decode, with their codes', async () => {
  const buried = new Inbox<IncomingMessage>();
  await startRack();
  await world.build({ host: 'rack-9' });
  await world.destroy({ host: 'rack', instanceUuid: randomUUID() });
  await world.bus.cast(world.orderQueue, { type: 'berth.compute.v1.BuildInstance', body: Uint8Array.of(255) });
  await world.bus.cast(world.orderQueue, { type: 'berth.compute.v1.Unheard', body: Uint8Array.of() });
  await world.settle();
  await world.bus.consume({ name: DEAD_LETTERS, kind: 'host' }, async (message) => {
    buried.put(message);
    return ACK;
  });
  const letters = await buried.has(4);
  const reasons = letters.map(({ headers }) => headers?.['berth-error-reason'] ?? '');
  expect(reasons.sort()).toEqual(['malformed_message', 'not_carried', 'not_carried', 'unknown_type']);
  expect(world.results.items).toEqual([]);
});

it('hands back what waits in line when the process drains; what is being built is finished and reported', async () => {
  const agent = await startRack({ FAKE_LATENCY_MS: '1000', MAX_BUILDS: '1' });
  await world.build({ host: 'rack-1' });
  await world.build({ host: 'rack-1' });
  await world.settle();
  const closing = agent.close();
  await world.clock.advance(1_000);
  await closing;
  expect(world.outcomes()).toEqual(['1 active']);
  expect(await world.bus.depth(world.orderQueue)).toBe(1);
});

it('hands back what is still being built when the drain times out, on each host', async () => {
  const agent = await startRack({ FAKE_LATENCY_MS: '60000', DRAIN_TIMEOUT_MS: '2000' });
  for (const host of ['rack-1', 'rack-2', 'rack-3']) await world.build({ host });
  await world.settle();
  const closing = agent.close();
  await world.clock.advance(2_000);
  await closing;
  expect(world.outcomes()).toEqual([]);
  expect(await world.bus.depth(world.orderQueue)).toBe(3);
  expect(world.stats.items.slice(-3).map(({ instances }) => instances)).toEqual([[], [], []]);
});

it('puts an order for a host that it does not hold back for so long, and no longer', async () => {
  await startRack();
  world.onStats = async () => {
    throw new BerthError('unavailable', 'store_away', 'away');
  };
  await world.clock.advance(60_000);
  await world.build({ host: 'rack-1' });
  const buried = new Inbox<IncomingMessage>();
  await world.bus.consume({ name: DEAD_LETTERS, kind: 'host' }, async (message) => {
    buried.put(message);
    return ACK;
  });
  await world.clock.advance(MAX_PUT_BACK_MS - 1_000);
  expect(buried.items).toEqual([]);
  await world.clock.advance(10_000);
  expect(buried.items).toMatchObject([{ headers: { 'berth-error-reason': 'host_not_held' } }]);
  expect(await world.metrics.expose()).toMatch(/berth_agent_orders_put_back_total\{reason="not_held"\} [1-9]/);
});
