import { IronicOperator } from '#libs/testing/ironic/ironic-operator';
import { startIronic } from '#libs/testing/ironic/ironic-server';
import { findPython } from '#libs/testing/servers/find-binary';
import type { TestServer } from '#libs/testing/servers/server-process';
import type { CloudClient } from './cloud-client';
import { IMAGES } from './images-and-networks';
import { areAll, deleteAll } from './story';
import { WholeNova } from './whole-nova';

/* A stock Nova 26 with a stock Ironic 21.4 as its hypervisor: Berth is their placement API, and schedules for Nova. */

// Packages of Debian are installed where they are missing.
const SETUP_MS = 1_800_000;
const [IMAGE] = IMAGES;
const CLASSES = { gold: 'CUSTOM_BAREMETAL_GOLD', iron: 'CUSTOM_BAREMETAL_IRON' } as const;

let server: TestServer;
let ironic: IronicOperator;
let cloud: WholeNova;
let gold: string;
let iron: string;

beforeAll(async () => {
  // Nova's driver loads it; its package does not ask for it.
  findPython({ ironicclient: 'python3-ironicclient' });
  server = await startIronic();
  ironic = new IronicOperator(server.url);
  gold = await ironic.enrol('baremetal.gold', ['CUSTOM_SSD']);
  iron = await ironic.enrol('baremetal.iron');
  cloud = await WholeNova.start({
    computes: { metal: { compute_driver: 'ironic.IronicDriver', sync_power_state_interval: '-1' } },
    nodeCount: 2,
    settings: { ironic: { auth_type: 'none', endpoint_override: server.url, api_retry_interval: 1 } },
  });
  for (const [name, resourceClass] of Object.entries(CLASSES))
    await createMetalFlavor(cloud.client, name, resourceClass);
  await cloud.launchBerthsScheduler();
}, SETUP_MS);
afterAll(async () => {
  await cloud?.stop();
  await server?.stop();
});

/** A flavor that takes a node as a whole, by its class alone. */
async function createMetalFlavor(client: CloudClient, name: string, resourceClass: string): Promise<void> {
  await client.createFlavor(name, 16, 65_536, 400);
  const none = { 'resources:VCPU': '0', 'resources:MEMORY_MB': '0', 'resources:DISK_GB': '0' };
  const extra_specs = { ...none, [`resources:${resourceClass}`]: '1' };
  await client.nova('POST', `/flavors/${name}/os-extra_specs`, { extra_specs });
}

function isFree(uuid: string, amounts: Readonly<Record<string, number>>): Promise<void> {
  return cloud.client.eventually(async () => {
    const free = await cloud.client.free(uuid);
    const isSo = Object.entries(amounts).every(([name, amount]) => free[name] === amount);
    return isSo ? undefined : `free are ${JSON.stringify(free)}`;
  });
}

/** A step of the story, with the last words of Nova's processes when it fails. */
async function told(run: (client: CloudClient) => Promise<void>): Promise<void> {
  await run(cloud.client).catch((thrown: Error) => {
    throw new Error(`${thrown.message}\n${cloud.lastWords()}`, { cause: thrown });
  });
}

it('reports each node as a provider with its class', () =>
  told(async (client) => {
    expect((await client.providers()).map(({ uuid }) => uuid).toSorted()).toEqual([gold, iron].toSorted());
    await isFree(gold, { [CLASSES.gold]: 1 });
    await isFree(iron, { [CLASSES.iron]: 1 });
  }));

it('builds a server on the node of its class, which holds all of it', () =>
  told(async (client) => {
    await client.boot('golden', 'gold', IMAGE);
    await areAll(client, ['golden'], 'ACTIVE');
    const { id } = await client.server('golden');
    expect(await ironic.node(gold)).toMatchObject({ provision_state: 'active', instance_uuid: id });
    expect(await client.holdings()).toEqual({ [id]: { [gold]: { [CLASSES.gold]: 1 } } });
  }));

it('has no host for another of that class', () =>
  told(async (client) => {
    await client.boot('second', 'gold', IMAGE);
    await areAll(client, ['second'], 'ERROR');
    expect((await client.server('second')).fault).toMatch(/No valid host was found/);
    await deleteAll(client, ['second']);
  }));

it('uses no node in maintenance', () =>
  told(async (client) => {
    await ironic.ask('PUT', `/v1/nodes/${iron}/maintenance`, { reason: 'a disk' });
    await isFree(iron, { [CLASSES.iron]: 0 });
    await client.boot('rusty', 'iron', IMAGE);
    await areAll(client, ['rusty'], 'ERROR');
    expect(await ironic.node(iron)).toMatchObject({ provision_state: 'available', instance_uuid: null });
    await deleteAll(client, ['rusty']);
    await ironic.ask('DELETE', `/v1/nodes/${iron}/maintenance`);
    await isFree(iron, { [CLASSES.iron]: 1 });
  }));

it('gives the node back when the server is deleted', () =>
  told(async (client) => {
    await deleteAll(client, ['golden']);
    await ironic.until(gold, ({ provision_state, instance_uuid }) => provision_state === 'available' && !instance_uuid);
    await client.eventually(async () => {
      const held = Object.keys(await client.holdings());
      return held.length === 0 ? undefined : `held by ${held.join()}`;
    });
    await isFree(gold, { [CLASSES.gold]: 1 });
    expect(await client.holdings()).toEqual({});
  }));
