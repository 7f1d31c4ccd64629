import { type Channel, connect } from 'amqplib';
import Redis from 'ioredis';
import { openBus } from '#libs/bus/open';
import { DEAD_LETTERS } from '#libs/bus/port';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemRandom } from '#libs/runtime/system';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { startChild } from '#libs/testing/servers/child';
import { freePort } from '#libs/testing/servers/server-process';
import { CellsWorld, clock, type OpenedCell } from './cells-world';

/*
 * Two cells on one broker and one Redis. Their hosts have the same names, and the test builds the same instances, of the same
 * requests, in both: whatever crossed would show.
 */

const B = 'b';
const REQUEST = '11111111-1111-4111-8111-111111111111';
const INSTANCE = '22222222-2222-4222-8222-222222222222';

let world: CellsWorld;
let first: OpenedCell;
let second: OpenedCell;
/** Port of b's scheduler. */
let metricsPort: number;

beforeAll(async () => {
  world = await CellsWorld.start(['cell1', B], ['h1', 'h2']);
  [first, second] = await Promise.all([world.open('cell1'), world.open(B)]);
  metricsPort = await freePort();
  await Promise.all([
    ...['cell1', B].map((cell) => world.launch(cell, 'conductor')),
    world.launch('cell1', 'scheduler'),
    world.launch(B, 'scheduler', { BERTH_HTTP_PORT: String(metricsPort) }),
  ]);
  // Different sizes distinguish the cells' equally named hosts.
  await Promise.all([
    world.launch('cell1', 'agent.h1', { BERTH_AGENT_INVENTORY: 'VCPU=8,MEMORY_MB=16384' }),
    world.launch(B, 'agent.h1', { BERTH_AGENT_INVENTORY: 'VCPU=4,MEMORY_MB=8192' }),
  ]);
  for (const { client } of [first, second]) while ((await client.hosts()).length < 1) await sleep(clock, 50);
});
afterAll(() => world?.stop());

const build = ({ client }: OpenedCell, uuid = INSTANCE, requestId = REQUEST) =>
  client.buildAndWait(
    { spec: aRequestSpec({ resources: { VCPU: 2 } }), instanceUuids: [uuid], requestId },
    { timeoutMs: 20_000 },
  );
const freeVcpu = async ({ client }: OpenedCell) => (await client.hosts())[0]?.resources['VCPU']?.inventory.total;

it('reports go to the schedulers of their own cell', async () => {
  expect([await freeVcpu(first), await freeVcpu(second)]).toEqual([8, 4]);
  for (const { cell, placement } of [first, second]) {
    const hosts: string[] = [];
    await placement.snapshot((rows) => hosts.push(...(rows.hosts ?? []).map((row) => `${row.name} of ${row.cell}`)));
    expect(hosts).toEqual([`h1 of ${cell}`]);
  }
});

it('the same request for the same instance is built once in each cell, and heard of in its own alone', async () => {
  const ofFirst = await build(first);
  expect(ofFirst.map(({ state }) => state)).toEqual(['active']);
  expect(await second.client.instances()).toEqual([]);
  expect(second.heard).toEqual([]);
  const heardBefore = first.heard.length;
  const [ofSecond] = await build(second);
  expect(ofSecond).toMatchObject({ instanceUuid: INSTANCE, state: 'active', host: 'h1' });
  expect(first.heard).toHaveLength(heardBefore);
});

it('claims, and what ends them, are of one cell', async () => {
  await second.client.terminateAndWait(INSTANCE, { timeoutMs: 20_000 });
  const allocated = async ({ placement }: OpenedCell) => (await placement.consumers([INSTANCE])).length;
  expect([await allocated(first), await allocated(second)]).toEqual([1, 0]);
  expect(await first.client.instance(INSTANCE)).toMatchObject({ state: 'active' });
});

it('a commit in one cell moves neither the revision nor the mirrors of the other', async () => {
  const before = await first.placement.revision();
  const id = '33333333-3333-4333-8333-333333333333';
  await build(second, id, id);
  await second.client.terminateAndWait(id, { timeoutMs: 20_000 });
  await second.client.setHostEnabled('h1', false, 'a test');
  expect((await first.client.hosts())[0]).toMatchObject({ enabled: true });
  expect((await second.client.hosts())[0]).toMatchObject({ enabled: false });
  await second.client.setHostEnabled('h1', true);
  // Only h1's own reports: a claim, a release and two changes of the host would add four more.
  expect((await first.placement.revision()) - before).toBeLessThan(4);
});

it('leases of one name are held in each cell', async () => {
  const held = await Promise.all([
    first.instances.acquire('test', 'a', 10_000),
    second.instances.acquire('test', 'b', 10_000),
  ]);
  expect(held).toEqual([{ epoch: expect.any(Number) }, { epoch: expect.any(Number) }]);
  expect(await second.instances.acquire('test', 'a', 10_000)).toBeUndefined();
});

it('what can not be read is among the dead letters of its own cell', async () => {
  await second.bus.cast(BUILD_REQUESTS, { type: 'berth.conductor.v1.BuildRequest', body: Uint8Array.of(255) });
  while ((await second.bus.depth(DEAD_LETTERS)) === 0) await sleep(clock, 20);
  expect(await first.bus.depth(DEAD_LETTERS)).toBe(0);
});

it('every key of the store has the hash tag of a cell, and every queue its name', async () => {
  const redis = new Redis(world.redis.url);
  const keys = await redis.keys('*');
  await redis.quit();
  expect(keys.filter((key) => !/^\{(cell1|b)\}:/.test(key))).toEqual([]);
  const tails = (cell: string) => keys.filter((key) => key.startsWith(`{${cell}}:`)).map((key) => key.split('}')[1]);
  expect(tails(B)).toEqual(expect.arrayContaining([':revision', ':changes', ':instances', ':birth']));
  const resources = await world.broker.eval(`rabbit_amqqueue:list_names(<<"${world.credentials.virtualHost}">>)`);
  for (const name of ['cell.b.agent.h1', 'cell.b.build.requests', 'cell.b.stats'])
    expect(resources).toContain(`<<"${name}">>`);
});

it("the users of one cell are refused in another, by the broker and before it by the process's own settings", async () => {
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const busUrl = world.credentials.brokerUrl('cell.b.scheduler', world.broker.port);
  await expect(openBus({ busUrl, cell: 'cell1' }, around)).rejects.toMatchObject({ reason: 'user_of_other_cell' });
  const bus = await openBus({ busUrl, cell: B }, around);
  await expect(bus.cast('build.requests', { type: 'x', body: new Uint8Array() })).resolves.toBeUndefined();
  // A service may write to any queue of its broker, so the reader refuses: the sender belongs to another cell.
  while ((await first.bus.depth(DEAD_LETTERS)) === 0) await sleep(clock, 20);
  await bus.close();
});

it('every metric says of which cell it is', async () => {
  const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  const samples = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(samples.length).toBeGreaterThan(50);
  expect(samples.filter((line) => !line.includes('cell="b"'))).toEqual([]);
});

/** RabbitMQ's refusal code; undefined when it allows the attempt. */
async function refusal(user: string, deed: (channel: Channel) => PromiseLike<unknown>): Promise<number | undefined> {
  const connection = await connect(world.credentials.brokerUrl(user, world.broker.port));
  try {
    const channel = await connection.createChannel();
    channel.on('error', () => {});
    await deed(channel);
    return undefined;
  } catch (error) {
    return (error as { code?: number }).code;
  } finally {
    await connection.close();
  }
}

it.each([
  ['cell.b.scheduler', ['rpc.scheduler', 'stats']],
  ['cell.b.conductor', ['build.requests', 'build.results', 'rpc.conductor', 'dead-letters']],
  ['cell.b.agent.h1', ['agent.h1', 'stats']],
  ['scheduler', ['cell.b.rpc.scheduler', 'cell.b.stats']],
  ['conductor', ['cell.b.build.requests', 'cell.b.build.results', 'cell.b.rpc.conductor', 'cell.b.dead-letters']],
  ['agent.h1', ['cell.b.agent.h1', 'cell.b.stats']],
])('the broker lets %s neither take from nor empty, bind or delete queues of the other cell', async (user, queues) => {
  const exchange = user.startsWith('cell.b.') ? 'berth.events' : 'cell.b.berth.events';
  for (const queue of queues) {
    const deeds = [
      await refusal(user, (channel) => channel.consume(queue, () => {})),
      await refusal(user, (channel) => channel.purgeQueue(queue)),
      await refusal(user, (channel) => channel.bindQueue(queue, exchange, '#')),
      await refusal(user, (channel) => channel.deleteQueue(queue)),
    ];
    expect([queue, ...deeds]).toEqual([queue, 403, 403, 403, 403]);
  }
  const hear = async (channel: Channel) => {
    const { queue } = await channel.assertQueue(`private.${user}.${systemRandom.uuid()}`, { exclusive: true });
    await channel.bindQueue(queue, exchange, '#');
  };
  expect(await refusal(user, hear)).toBe(403);
});

it.each([
  ['a.b', 'bad_config', 'must be 1 to 40 letters'],
  ['top', 'top_has_no_hosts', 'the top of a fleet has no hosts'],
])('a scheduler of cell %s does not start: %s', async (cell, _reason, says) => {
  const { credentials, broker, redis } = world;
  const child = startChild('services/cli/main.ts', ['scheduler'], {
    BERTH_CELL: cell,
    BERTH_BUS_URL: credentials.brokerUrl('operator', broker.port),
    BERTH_STORE_URL: redis.url,
  });
  expect((await child.exit).code).not.toBe(0);
  expect(child.stdout() + child.stderr()).toContain(says);
});
