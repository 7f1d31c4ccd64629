import type { Client } from '#libs/client/client';
import type { InstanceRow } from '#libs/domain/instance';
import { NO_ADMISSION } from '#libs/domain/queueing/admission';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { chosen, refusedBy, TopWorld } from '../testing/top-world';

let world: TopWorld;
let client: Client;

beforeEach(async () => {
  world = new TopWorld();
  world.select = ({ instanceUuids }) => chosen('a', instanceUuids);
  await world.open();
  client = world.client();
});
afterEach(() => world.close());

const vcpu = (amount: number) => ({ resources: { VCPU: amount } });

/** An instance with this many VCPUs, reported by cell a. */
async function inA(amount: number): Promise<InstanceRow> {
  const requestId = await world.request(1, vcpu(amount));
  const [instance] = await world.instances.list({ requestId }, undefined, 1);
  if (!instance) throw new Error('there is no instance');
  await world.a.says(instance, {});
  await world.clock.advance(0);
  return instance;
}

it('what a request asks for counts, and one above the limit is refused before any cell is asked', async () => {
  await world.limit({ VCPU: 5, instances: 2 });
  await world.request(2, vcpu(2));
  expect(await world.used()).toEqual({ VCPU: 4, instances: 2 });
  const requestId = await world.request(1, vcpu(2));
  const [refused] = await world.instances.list({ requestId }, undefined, 1);
  expect(refused?.state).toBe('error');
  expect(refused?.fault).toEqual({
    reason: 'quota_exceeded',
    message: 'VCPU: 4 used, 2 asked, limit 5; instances: 2 used, 1 asked, limit 2',
  });
  expect(world.asked).toHaveLength(1);
});

it('of a request that fits in part nothing is reserved', async () => {
  await world.limit({ VCPU: 5 });
  await world.request(3, vcpu(2));
  expect((await world.all()).map(({ state }) => state)).toEqual(['error', 'error', 'error']);
  expect(await world.used()).toEqual({});
});

it('what fails and what ends gives back', async () => {
  world.select = () => refusedBy('cell_capacity');
  await world.request(1, vcpu(2));
  expect(await world.used()).toEqual({});
  world.select = ({ instanceUuids }) => chosen('a', instanceUuids);
  const instance = await inA(3);
  await world.a.says(instance, { version: 4, state: 'deleted' });
  await world.clock.advance(0);
  expect(await world.used()).toEqual({});
});

it('a doubt counts on, because what is there may run', async () => {
  await inA(3);
  world.a.records.clear();
  await world.clock.advance(60_000);
  expect((await world.only()).state).toBe('unknown');
  expect(await world.used()).toMatchObject({ VCPU: 3 });
});

it('a request that may wait takes its turn when others of its project have ended', async () => {
  await world.limit({ VCPU: 4 });
  const first = await inA(3);
  const admission = { ...NO_ADMISSION, waitForCapacityMs: 600_000 };
  const requestId = await world.request(1, vcpu(2), { admission });
  const second = async () => (await world.instances.list({ requestId }, undefined, 1))[0];
  expect(await second()).toMatchObject({ state: 'scheduling', fault: { reason: 'quota_exceeded' } });
  await world.a.says(first, { version: 4, state: 'deleted' });
  await world.clock.advance(60_000);
  expect(await second()).toMatchObject({ state: 'scheduling', cell: { name: 'a' } });
  expect(await world.used()).toMatchObject({ VCPU: 2 });
});

it('a resize reserves the more of both sizes, and in the end what it is then', async () => {
  await world.limit({ VCPU: 5 });
  const instance = await inA(3);
  const resizeTo = (amount: number) => ({ resizeTo: aRequestSpec(vcpu(amount)) });
  await expect(client.operate(instance.uuid, 'resize', resizeTo(6))).rejects.toMatchObject({
    reason: 'quota_exceeded',
  });
  expect(world.a.operations).toEqual([]);
  await client.operate(instance.uuid, 'resize', resizeTo(5));
  expect(await world.used()).toMatchObject({ VCPU: 5 });
  await world.a.says(instance, { version: 4, state: 'verify_resize' });
  await world.clock.advance(60_000);
  expect(await world.used()).toMatchObject({ VCPU: 5 });
  await world.a.says(instance, { version: 5, requestSpec: aRequestSpec(vcpu(1)) });
  await world.clock.advance(5_000);
  expect(await world.used()).toMatchObject({ VCPU: 1 });
  expect(await client.instance(instance.uuid)).toMatchObject({ state: 'active', requestSpec: vcpu(1) });
});

it('an operation that the cell refuses reserves nothing', async () => {
  const instance = await inA(3);
  world.a.heeds = false;
  const resize = client.operate(instance.uuid, 'resize', { resizeTo: aRequestSpec(vcpu(5)) });
  await expect(resize).rejects.toMatchObject({ reason: 'instance_state' });
  expect(await world.used()).toMatchObject({ VCPU: 3 });
});

it('what is shelved does not count, and to unshelve it is asked for again', async () => {
  await world.limit({ VCPU: 5 });
  const instance = await inA(3);
  await world.a.says(instance, { version: 4, state: 'shelved_offloaded', host: '' });
  await world.clock.advance(0);
  expect(await world.used()).toEqual({});
  await inA(4);
  await expect(client.operate(instance.uuid, 'unshelve')).rejects.toMatchObject({ reason: 'quota_exceeded' });
});

it('a reservation without an instance ends, and an instance without one gets it', async () => {
  const instance = await inA(3);
  const nobodys = { uuid: world.random.uuid(), projectId: 'project-1', userId: 'user-1', consumerType: 'INSTANCE' };
  const [held] = await world.placement.consumers([instance.uuid]);
  const consumers = [
    { ...nobodys, owner: 'conductor', allocations: held?.allocations ?? {}, mappings: {}, expect: { kind: 'any' } },
    { ...nobodys, uuid: instance.uuid, owner: 'conductor', allocations: {}, mappings: {}, expect: { kind: 'any' } },
  ] as const;
  await world.placement.commit({ kind: 'write_allocations', atMs: world.clock.now(), consumers });
  await world.clock.advance(120_000);
  expect((await world.placement.consumers([nobodys.uuid, instance.uuid])).map(({ uuid }) => uuid)).toEqual([
    instance.uuid,
  ]);
  expect(await world.used()).toEqual({ VCPU: 3, instances: 1 });
});

it('of classes that no host of the fleet has nothing counts', async () => {
  await world.request(1, { resources: { VCPU: 1, CUSTOM_MADE_UP: 1 } });
  expect(await world.used()).toEqual({ VCPU: 1, instances: 1 });
});
