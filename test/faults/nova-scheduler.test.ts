import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { aNovaCloud } from '../integration/nova/nova-cloud';

/* Nova's own client calls schedulers that die, through a broker that restarts, while Nova's API is away. */

jest.setTimeout(300_000);

let rabbitmq: RabbitmqServer;
let redis: TestServer;
let cloud: Awaited<ReturnType<typeof aNovaCloud>>;
beforeEach(async () => {
  [rabbitmq, redis] = await Promise.all([startRabbitmq(), startRedis()]);
  cloud = await aNovaCloud({ rabbitmq: rabbitmq.url, redis: redis.url }, 5);
});
afterEach(async () => {
  await cloud.close();
  await Promise.all([rabbitmq.stop(), redis.stop()]);
});

interface Boot {
  readonly uuids: readonly string[];
  readonly selections: readonly (readonly { readonly uuid: string }[])[];
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

it('serves again after the broker restarted, and decides on old facts while the API is away', async () => {
  const scheduler = await cloud.launch();
  cloud.api.behaviour = 'broken';
  await scheduler.says('nova_facts_failed');
  const said = scheduler.stdout().length;
  await rabbitmq.kill('SIGKILL');
  await rabbitmq.restart();
  await scheduler.says('oslo_serving', said);
  const [boot] = await cloud.client('boot');
  expect(await held()).toEqual(answered([boot as unknown as Boot]));
});
