import type { Device } from '#libs/domain/devices/device';
import type { DeviceAlternative } from '#libs/domain/devices/device-request';
import type { Running } from '#libs/runtime/service';
import { aDevice, aDeviceRequest } from '#libs/testing/placement/hosts/devices';
import { ConductorWorld } from '../../testing/conductor-world';

const SETTINGS = {
  BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '10000',
  BERTH_CONDUCTOR_REBUILD_AFTER_MS: '100000',
  BERTH_CONDUCTOR_REBUILD_PARALLEL: '2',
};

let world: ConductorWorld;
let conductor: Running;

afterEach(async () => {
  await world.closed(conductor);
});

/** Instances on h1, each with its device, which several share. */
async function onDevice(
  alternative: Partial<DeviceAlternative> = {},
  count = 1,
  hosts: Readonly<Record<string, number>> = { h1: 8, h2: 8 },
): Promise<void> {
  world = new ConductorWorld();
  for (const host in hosts) world.devices.set(host, device());
  await world.open(hosts);
  conductor = await world.conductor(undefined, SETTINGS);
  await world.request(count, undefined, undefined, { deviceRequests: [aDeviceRequest('gpu', alternative)] });
  await world.clock.advance(100);
  expect(await places()).toEqual(Array(count).fill('h1 active'));
}

const device = (rest: Partial<Device> = {}) => aDevice({ model: 'H100' }, { consumers: 8, ...rest });
const places = async () => (await world.all()).map(({ host, state }) => `${host} ${state}`).sort();

async function taint(taints: Partial<Device>): Promise<void> {
  world.devices.set('h1', device(taints));
  await world.setUp('h1', true);
}

const BROKEN = { taints: { broken: 'ecc' }, evicts: { broken: 0 } };

it('moves an instance off a device that gets a taint which it does not tolerate, alive', async () => {
  await onDevice();
  await taint({ taints: { broken: 'ecc' } });
  await world.clock.advance(30_000);
  expect(await places()).toEqual(['h1 active']);
  await taint(BROKEN);
  await world.clock.advance(30_000);
  expect(await places()).toEqual(['h2 active']);
  expect((await world.only()).attempts.map(({ reason }) => reason)).toEqual(['live_migrate', '']);
  expect([world.runs(), world.harmed]).toEqual([[`${(await world.only()).uuid} h2`], []]);
});

it('leaves who tolerates it, for as long as it does', async () => {
  await onDevice({ tolerations: { broken: '*' }, tolerationSeconds: { broken: 60 } });
  await taint(BROKEN);
  await world.clock.advance(50_000);
  expect(await places()).toEqual(['h1 active']);
  await world.clock.advance(40_000);
  expect(await places()).toEqual(['h2 active']);
});

it('leaves who tolerates it for good', async () => {
  await onDevice({ tolerations: { broken: 'ecc' } });
  await taint(BROKEN);
  await world.clock.advance(200_000);
  expect(await places()).toEqual(['h1 active']);
});

it('ends nothing that no other host takes: it runs on, and is tried again after a while', async () => {
  await onDevice({}, 1, { h1: 8 });
  await taint(BROKEN);
  await world.clock.advance(30_000);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', fault: { reason: 'no_valid_host' } });
  expect([world.destroys, world.runs()]).toEqual([[], [`${(await world.only()).uuid} h1`]]);
  await world.add('h3', 8);
  await world.clock.advance(60_000);
  expect(await places()).toEqual(['h1 active']);
  await world.clock.advance(60_000);
  expect(await places()).toEqual(['h3 active']);
});

it('moves so many at once, and not more', async () => {
  await onDevice({}, 4);
  world.behaviour.set('h1', 'is silent');
  await taint(BROKEN);
  await world.clock.advance(35_000);
  expect((await places()).filter((one) => one !== 'h1 active')).toHaveLength(2);
});
