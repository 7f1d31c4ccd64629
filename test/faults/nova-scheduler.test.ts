import { randomUUID } from 'node:crypto';
import { setTimeout as pass } from 'node:timers/promises';
import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { aNovaCloud } from '../integration/nova/nova-cloud';
import { eventually } from '../integration/test-cell';
import { addVirtualHost } from '../shared-servers';

/* Nova's own client calls schedulers that die, through a broker that restarts, while Nova's API is away. */

let rabbitmq: RabbitmqServer;
let redis: TestServer;
let cloud: Awaited<ReturnType<typeof aNovaCloud>>;
beforeAll(async () => {
  [rabbitmq, redis] = await Promise.all([startRabbitmq(), startRedis()]);
});
afterAll(() => Promise.all([rabbitmq, redis].map((server) => server?.stop())));
beforeEach(async () => {
  const virtualHost = randomUUID();
  await rabbitmq.eval(addVirtualHost(virtualHost));
  cloud = await aNovaCloud({ rabbitmq: `${rabbitmq.url}/${virtualHost}`, redis: redis.url }, 5);
});
afterEach(() => cloud.close());

interface Boot {
  readonly uuids: readonly string[];
  readonly selections: readonly (readonly { readonly uuid: string; readonly zone: string }[])[];
}

/** The provider of each instance, by the answers. */
function answered(boots: readonly Boot[]): Map<string | undefined, string | undefined> {
  return new Map(boots.map(({ uuids, selections }) => [uuids[0], selections[0]?.[0]?.uuid]));
}

/** The providers of everybody who holds anything. */
async function held(): Promise<Map<string, string>> {
  const providers = new Map<string, string>();
  await cloud.store.scanConsumers(async (rows) => {
    for (const { uuid, allocations } of rows) providers.set(uuid, Object.keys(allocations).join());
  });
  return providers;
}

it('loses no call and leaks no claim when a scheduler is killed while it works', async () => {
  const [victim] = await Promise.all([cloud.launch(), cloud.launch()]);
  const streaming = cloud.client('stream');
  await victim?.says('nova_selected');
  victim?.process.kill('SIGKILL');
  const [{ boots } = {}] = await streaming;
  expect(boots).toHaveLength(20);
  expect(await held()).toEqual(answered(boots as Boot[]));
});

it('gives the same host to a caller that lost the answer of a dead scheduler', async () => {
  const dead = await cloud.launch();
  const [first] = (await cloud.client('boot')) as unknown as Boot[];
  dead.process.kill('SIGKILL');
  await dead.exit;
  await cloud.launch();
  const [again] = (await cloud.client(`again:${first?.uuids[0]}`)) as unknown as Boot[];
  expect(again?.selections[0]?.[0]).toEqual(first?.selections[0]?.[0]);
  expect(await held()).toEqual(answered([first as Boot]));
});

it('reads what a fanout that it did not hear would have told', async () => {
  const scheduler = await cloud.launch({ BERTH_NOVA_AGGREGATES_INTERVAL_MS: '0' });
  const said = scheduler.stdout().length;
  await rabbitmq.kill('SIGKILL');
  const hosts = ['h1', 'h2', 'h3', 'h4', 'h5'];
  cloud.api.aggregates.push({ id: 1, uuid: 'a'.repeat(8), hosts, metadata: { availability_zone: 'az1' } });
  await rabbitmq.restart();
  await scheduler.says('oslo_serving', said);
  const zoneOfBoot = async () => {
    const [boot] = (await cloud.client('boot')) as unknown as Boot[];
    return boot?.selections[0]?.[0]?.zone;
  };
  await eventually('aggregates are read again', async () => {
    // Each boot takes from what the hosts have.
    await pass(500);
    return (await zoneOfBoot()) === 'az1';
  });
  expect(await zoneOfBoot()).toBe('az1');
});

it('serves again after the broker restarted, and decides on old facts while the API is away', async () => {
  const scheduler = await cloud.launch({ BERTH_NOVA_FACTS_MAX_AGE_MS: '1000' });
  cloud.api.behaviour = 'broken';
  await scheduler.says('nova_facts_failed');
  const said = scheduler.stdout().length;
  await rabbitmq.kill('SIGKILL');
  await rabbitmq.restart();
  await scheduler.says('oslo_serving', said);
  const [boot, refused] = await cloud.client('boot', 'refused');
  expect(await held()).toEqual(answered([boot as unknown as Boot]));
  expect(refused?.['reason']).toMatch(/Nova's API is away: services were read \d+ s ago, nodes were read \d+ s ago\.$/);
});
