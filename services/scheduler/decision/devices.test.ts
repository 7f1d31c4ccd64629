import { randomUUID } from 'node:crypto';
import type { Device } from '#libs/domain/devices/device';
import type { DeviceAlternative } from '#libs/domain/devices/device-request';
import { type Inventories, inventory } from '#libs/domain/inventory';
import { migrationUuidOf } from '#libs/domain/moves/migration';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import { aDevice, aDeviceRequest, nestedDevices } from '#libs/testing/placement/hosts/devices';
import { aWorld, uuidOfHost, type World } from '../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const host = (name: string, providers: Readonly<Record<string, Device | Inventories>>) =>
  world.report(name, { nested: nestedDevices(name, uuidOfHost(name), providers) });
const deviceUuid = (name: string, device: string) => nestedProviderUuid(uuidOfHost(name), device);
const hostsIn = ({ response }: { response: { destinations: readonly { selected: { host: string } }[] } }) =>
  response.destinations.map(({ selected }) => selected.host);
const consumerOf = async (uuid: string) => (await world.placement.consumers([uuid]))[0];

const gpu = (model: string, memoryGi: number, rest: Partial<Device> = {}) =>
  aDevice(
    { model, numa: 0, driver: 'v535.1.0' },
    { capacity: { memory: { amount: memoryGi * 2 ** 30, step: 2 ** 30 } }, ...rest },
  );
const where = (...selectors: string[]) => ({ selectors });
const H100 = where('device.attributes["model"] == "H100"');
const A100 = { ...where('device.attributes.model == "A100"'), count: 2 };

it('claims the device whose attributes match, and says which under the name of the request', async () => {
  await host('mixed', { gpu0: gpu('A100', 40), gpu1: gpu('H100', 80) });
  await host('bare', {});
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  const asked = { resources: { VCPU: 1 }, deviceRequests: [aDeviceRequest('gpu', H100)] };
  expect(hostsIn(await scheduler.select(asked, [uuid]))).toEqual(['mixed']);
  expect(await consumerOf(uuid)).toMatchObject({
    allocations: { [uuidOfHost('mixed')]: { VCPU: 1 }, [deviceUuid('mixed', 'gpu1')]: { CUSTOM_DEVICE: 1 } },
    mappings: { 'device:gpu': [deviceUuid('mixed', 'gpu1')] },
  });
  const { response } = await scheduler.select(asked);
  expect(response.noValidHost?.summary).toBe(
    '0 of 2 hosts fit: 1 has no devices for gpu (device_absent_gpu), 1 has all devices for gpu in use (device_taken_gpu)',
  );
  expect(hostsIn(await scheduler.select(asked, [uuid]))).toEqual(['mixed']);
});

it('gives only devices of the kind that is asked for, in a flavor or a request', async () => {
  const ofKind = { resourceClass: 'CUSTOM_GPU' };
  await host('kinds', { gpu0: gpu('H100', 80, ofKind), other: gpu('H100', 80) });
  const scheduler = await world.scheduler();
  const [first, second] = [randomUUID(), randomUUID()];
  await scheduler.select({ resources: { VCPU: 1 }, extraSpecs: { 'device:gpu': 'class=CUSTOM_GPU' } }, [first]);
  expect(await consumerOf(first)).toMatchObject({
    allocations: { [deviceUuid('kinds', 'gpu0')]: { CUSTOM_GPU: 1 } },
    mappings: { 'device:gpu': [deviceUuid('kinds', 'gpu0')] },
  });
  const of = (one: Partial<DeviceAlternative>) => ({
    resources: { VCPU: 1 },
    deviceRequests: [aDeviceRequest('gpu', one)],
  });
  expect(scheduler.explain(of(ofKind), 'kinds').hosts[0]?.refusals).toEqual([
    'devices: wants devices for gpu: gpu0 is in use; other is CUSTOM_DEVICE',
  ]);
  await scheduler.select(of(H100), [second]);
  expect((await consumerOf(second))?.mappings).toMatchObject({ 'device:gpu': [deviceUuid('kinds', 'other')] });
});

it('gives the first alternative where a host has it, the second elsewhere, and the same again when asked again', async () => {
  await host('old', { gpu0: gpu('A100', 40), gpu1: gpu('A100', 40) });
  await host('new', { gpu0: gpu('H100', 80) });
  const scheduler = await world.scheduler();
  const spec = { resources: { VCPU: 1 }, deviceRequests: [aDeviceRequest('gpu', H100, A100)] };
  const [first, second] = [randomUUID(), randomUUID()];
  const answer = await scheduler.select(spec, [first], 1);
  expect(hostsIn(answer)).toEqual(['new']);
  expect(answer.response.destinations[0]?.alternates.map((one) => one.host)).toEqual(['old']);
  expect(hostsIn(await scheduler.select(spec, [second]))).toEqual(['old']);
  expect((await consumerOf(first))?.mappings).toMatchObject({ 'device:gpu/choice-1': [deviceUuid('new', 'gpu0')] });
  expect((await consumerOf(second))?.mappings).toMatchObject({
    'device:gpu/choice-2': [deviceUuid('old', 'gpu0'), deviceUuid('old', 'gpu1')],
  });
  const token = (await consumerOf(second))?.claimToken;
  expect((await scheduler.select(spec, [second])).response.destinations[0]?.claimToken).toBe(token);
  expect(hostsIn(await scheduler.select(spec))).toEqual([]);
});

it('replaces a claim whose devices are not what is asked any more', async () => {
  await host('mixed', { gpu0: gpu('A100', 40), gpu1: gpu('H100', 80) });
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  await scheduler.select({ resources: { VCPU: 1 }, deviceRequests: [aDeviceRequest('gpu', H100)] }, [uuid]);
  await scheduler.select({ resources: { VCPU: 1 }, deviceRequests: [aDeviceRequest('gpu', { ...A100, count: 1 })] }, [
    uuid,
  ]);
  expect((await consumerOf(uuid))?.mappings).toMatchObject({ 'device:gpu': [deviceUuid('mixed', 'gpu0')] });
});

it('takes partitions from the counters that they share, smallest first, and the whole device only while all are free', async () => {
  const slices = (count: number) => ({ consumes: { CUSTOM_SLICE: count } });
  const part = (memoryGi: number, count: number) => gpu('H100', memoryGi, slices(count));
  await host('mig', {
    card: { CUSTOM_SLICE: inventory(8) },
    'card/whole': part(80, 8),
    'card/half0': part(40, 4),
    'card/half1': part(40, 4),
    'card/small0': part(10, 1),
  });
  const scheduler = await world.scheduler();
  const of = (memoryGi: number) => ({
    resources: { VCPU: 1 },
    deviceRequests: [aDeviceRequest('gpu', where(`device.capacity.memory >= quantity("${memoryGi}Gi")`))],
  });
  const uuids = Array.from({ length: 3 }, () => randomUUID());
  const held = async (n: number) => Object.keys((await consumerOf(uuids[n] ?? ''))?.allocations ?? {}).sort();
  await scheduler.select(of(20), [uuids[0] ?? '']);
  expect(await held(0)).toEqual([uuidOfHost('mig'), deviceUuid('mig', 'card'), deviceUuid('mig', 'half0')].sort());
  await scheduler.select(of(5), [uuids[1] ?? '']);
  expect(await held(1)).toContain(deviceUuid('mig', 'small0'));
  expect(hostsIn(await scheduler.select(of(60)))).toEqual([]);
  expect(hostsIn(await scheduler.select(of(20)))).toEqual([]);
  expect(scheduler.explain(of(60), 'mig').hosts[0]?.refusals).toEqual([
    'devices: wants devices for gpu: small0 is not device.capacity.memory >= quantity("60Gi"); half0 is not device.capacity.memory >= quantity("60Gi"); half1 is not device.capacity.memory >= quantity("60Gi"); whole is in use',
  ]);
});

it('shares a device of several consumers by amounts of its capacity, and takes all of what is not named', async () => {
  await host('shared', { gpu0: gpu('A10', 24, { consumers: 4 }) });
  const scheduler = await world.scheduler();
  const take = (memoryGi?: number) => ({
    resources: { VCPU: 1 },
    deviceRequests: [aDeviceRequest('gpu', { capacity: memoryGi === undefined ? {} : { memory: memoryGi * 2 ** 30 } })],
  });
  const uuid = randomUUID();
  expect(hostsIn(await scheduler.select(take(10), [uuid]))).toEqual(['shared']);
  expect((await consumerOf(uuid))?.allocations[deviceUuid('shared', 'gpu0')]).toEqual({
    CUSTOM_DEVICE: 1,
    CUSTOM_DEVICE_MEMORY: 10,
  });
  expect(hostsIn(await scheduler.select(take(15)))).toEqual([]);
  expect(hostsIn(await scheduler.select(take()))).toEqual([]);
  expect(hostsIn(await scheduler.select(take(14)))).toEqual(['shared']);
  const large = await scheduler.select(take(25));
  expect(large.response.noValidHost?.summary).toContain('1 has no devices large enough for gpu (device_capacity_gpu)');
});

it('gives a tainted device only to who tolerates its value', async () => {
  await host('tainted', { gpu0: gpu('H100', 80, { taints: { 'gpu.example.com/maintenance': '2' } }) });
  const scheduler = await world.scheduler();
  const by = (tolerations: Record<string, string>) => ({
    resources: { VCPU: 1 },
    deviceRequests: [aDeviceRequest('gpu', { ...H100, tolerations })],
  });
  expect((await scheduler.select(by({ other: '*' }))).response.noValidHost?.summary).toContain('(device_tainted_gpu)');
  expect(hostsIn(await scheduler.select(by({ 'gpu.example.com/maintenance': '== 3' })))).toEqual([]);
  expect(scheduler.explain(by({}), 'tainted').hosts[0]?.refusals).toEqual([
    'devices: wants devices for gpu: gpu0 is tainted gpu.example.com/maintenance=2',
  ]);
  expect(hostsIn(await scheduler.select(by({ 'gpu.example.com/maintenance': '= 1' })))).toEqual(['tainted']);
});

it('keeps devices of several requests at one value of an attribute', async () => {
  const at = (kind: string, numa: number) => aDevice({ kind, numa });
  await host('numa', { gpu0: at('gpu', 0), gpu1: at('gpu', 1), nic0: at('nic', 1), fpga: aDevice({ kind: 'fpga' }) });
  const scheduler = await world.scheduler();
  const of = (kind: string) => aDeviceRequest(kind, where(`device.attributes.kind == "${kind}"`));
  const uuid = randomUUID();
  const near = { resources: { VCPU: 1 }, deviceConstraints: [{ requests: [], matchAttribute: 'numa' }] };
  await scheduler.select({ ...near, deviceRequests: [of('gpu'), of('nic')] }, [uuid]);
  expect((await consumerOf(uuid))?.mappings).toMatchObject({
    'device:gpu': [deviceUuid('numa', 'gpu1')],
    'device:nic': [deviceUuid('numa', 'nic0')],
  });
  const far = { ...near, deviceRequests: [of('gpu'), of('fpga')] };
  expect(scheduler.explain(far, 'numa').hosts[0]?.refusals).toEqual([
    'candidates: each request of devices by itself is met, not all together: no devices of equal numa do',
  ]);
});

it('takes all devices that match, or none while one of them is in use', async () => {
  await host('all', { gpu0: gpu('H100', 80), gpu1: gpu('H100', 80), gpu2: gpu('A100', 40) });
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  const spec = { resources: { VCPU: 1 }, deviceRequests: [aDeviceRequest('gpu', { ...H100, count: 'all' as const })] };
  await scheduler.select(spec, [uuid]);
  expect((await consumerOf(uuid))?.mappings['device:gpu']).toHaveLength(2);
  const { response } = await scheduler.select(spec);
  expect(response.noValidHost?.summary).toContain('device_taken_gpu');
});

it('says which of several conditions excludes hosts, in the words of the request', async () => {
  for (const name of ['a', 'b', 'c']) await host(name, { gpu0: gpu('H100', 40) });
  await host('d', { gpu0: gpu('A100', 80) });
  const scheduler = await world.scheduler();
  const spec = {
    resources: { VCPU: 1 },
    deviceRequests: [
      aDeviceRequest('gpu', where('device.attributes.model == "H100" && device.capacity.memory >= quantity("80Gi")')),
    ],
  };
  const { diagnosis, relaxations } = scheduler.explain(spec);
  expect(diagnosis.filters).toEqual([
    { filter: 'devices', refused: 4, reasons: { device_condition_gpu_1: 1, device_condition_gpu_2: 3 } },
  ]);
  expect(relaxations?.map(({ sentence }) => sentence)).toEqual([
    '3 hosts would fit, but they have no device for gpu where device.capacity.memory >= quantity("80Gi")',
    '1 host would fit, but it has no device for gpu where device.attributes.model == "H100"',
  ]);
});

it('tells of an expression that has no value on a device', async () => {
  await host('a', { gpu0: gpu('H100', 40) });
  const scheduler = await world.scheduler();
  const spec = {
    resources: { VCPU: 1 },
    deviceRequests: [aDeviceRequest('gpu', where('device.attributes.cores > 5'))],
  };
  expect(scheduler.explain(spec, 'a').hosts[0]?.refusals).toEqual([
    'devices: wants devices for gpu: gpu0 has no value for device.attributes.cores > 5 (No such key: cores)',
  ]);
});

it('gives one device to one of two schedulers that decide at once, and the next to the other', async () => {
  await host('two', { gpu0: gpu('H100', 80), gpu1: gpu('H100', 80) });
  const schedulers = [await world.scheduler(), await world.scheduler()];
  const spec = { resources: { VCPU: 1 }, deviceRequests: [aDeviceRequest('gpu', H100)] };
  const uuids = [randomUUID(), randomUUID()];
  await Promise.all(schedulers.map((scheduler, n) => scheduler.select(spec, [uuids[n] ?? ''])));
  const devices = await Promise.all(uuids.map(async (uuid) => (await consumerOf(uuid))?.mappings['device:gpu']?.[0]));
  expect(new Set(devices)).toEqual(new Set([deviceUuid('two', 'gpu0'), deviceUuid('two', 'gpu1')]));
});

it('decides on what a later report says of a device', async () => {
  await host('later', { gpu0: gpu('A100', 40) });
  const scheduler = await world.scheduler();
  const spec = { resources: { VCPU: 1 }, deviceRequests: [aDeviceRequest('gpu', H100)] };
  expect(hostsIn(await scheduler.select(spec))).toEqual([]);
  await host('later', { gpu0: gpu('H100', 40) });
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  expect(hostsIn(await scheduler.select(spec))).toEqual(['later']);
});

it('preempts who has the device, and nobody else', async () => {
  await host('both', { gpu0: gpu('H100', 80), gpu1: gpu('A100', 40) });
  const scheduler = await world.scheduler();
  const of = (one: Partial<DeviceAlternative>) => ({
    resources: { VCPU: 1 },
    deviceRequests: [aDeviceRequest('gpu', { ...one, count: 1 })],
  });
  const [holder, other] = [randomUUID(), randomUUID()];
  await scheduler.select(of(H100), [holder], 0, { priority: 1 });
  await scheduler.select(of(A100), [other], 0, { priority: 0 });
  const { response } = await scheduler.select(of(H100), 1, 0, { priority: 5, mayPreempt: true });
  expect(response.preemption?.victims).toEqual([{ instanceUuid: holder, priority: 1 }]);
});

it('keeps the device of an instance that is resized in place', async () => {
  await host('only', { gpu0: gpu('H100', 80) });
  const scheduler = await world.scheduler();
  const who = { projectId: 'project-1', userId: 'user-1' };
  const deviceRequests = [aDeviceRequest('gpu', H100)];
  const uuid = randomUUID();
  const { response } = await scheduler.select({ ...who, resources: { VCPU: 1 }, deviceRequests }, [uuid]);
  const claimToken = response.destinations[0]?.claimToken ?? 0;
  const move = { migrationUuid: migrationUuidOf(uuid), claimToken, sourceHost: 'only' };
  expect(hostsIn(await scheduler.move({ ...who, resources: { VCPU: 3 }, deviceRequests }, uuid, move))).toEqual([
    'only',
  ]);
  expect((await consumerOf(uuid))?.mappings).toMatchObject({ 'device:gpu': [deviceUuid('only', 'gpu0')] });
});
