import { randomUUID } from 'node:crypto';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import type { InstanceRow } from '#libs/domain/instance';
import { chosen, refusedBy, TopWorld } from '../testing/top-world';

let world: TopWorld;

beforeEach(async () => {
  world = new TopWorld();
  world.select = ({ instanceUuids }) => chosen('a', instanceUuids);
  await world.open();
});
afterEach(() => world.close());

/** An instance that cell a reported ACTIVE, at version 7. */
async function activeInA(): Promise<InstanceRow> {
  await world.request();
  await world.a.says(await world.only(), { version: 7 });
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: 'active', cell: { name: 'a', version: 7 } });
  return world.only();
}

it('an instance that its cell does not know any more is in doubt, not DELETED', async () => {
  await activeInA();
  world.a.records.clear();
  await world.clock.advance(60_000);
  expect(await world.only()).toMatchObject({ state: 'unknown', fault: { reason: 'forgotten_by_cell' } });
  expect(world.events.some(({ state }) => state === 'deleted')).toBe(false);
});

it('finds what cells do not know any more by reading its own records once for all cells', async () => {
  await activeInA();
  world.select = ({ instanceUuids }) => chosen('b', instanceUuids);
  const requestId = await world.request();
  const inB = (await world.all()).find((one) => one.requestId === requestId);
  if (inB) await world.b.says(inB, { version: 7 });
  const scan = jest.spyOn(world.instances, 'scan');
  for (const cell of [world.a, world.b]) cell.records.clear();
  await world.clock.advance(60_000);
  expect((await world.all()).map(({ state }) => state)).toEqual(['unknown', 'unknown']);
  // Every 20 s for cells, named and unnamed ones, every 30 s for reservations.
  expect(scan.mock.calls.length).toBeLessThanOrEqual(3 * 2 + 2);
});

it('what a cell says after its store was wiped is taken, though it numbers anew', async () => {
  const instance = await activeInA();
  world.a.records.clear();
  await world.clock.advance(60_000);
  await world.a.says(instance, { version: 1, host: 'h2' });
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h2', fault: undefined, cell: { version: 1 } });
});

it('a cell whose store went back is believed when it is asked, and not by an old event', async () => {
  const instance = await activeInA();
  await world.a.says(instance, { version: 4, state: 'building' });
  await world.clock.advance(0);
  expect((await world.only()).state).toBe('active');
  await world.clock.advance(60_000);
  expect(await world.only()).toMatchObject({ state: 'building', cell: { version: 4 } });
});

it('what was terminated and the cell does not have is DELETED, and ended again should the cell find it', async () => {
  const instance = await activeInA();
  world.a.records.clear();
  await world.clock.advance(60_000);
  await world.terminate(instance.uuid);
  await world.clock.advance(5_000);
  expect((await world.only()).state).toBe('deleted');
  const toldBefore = world.a.terminated.length;
  await world.a.says(instance, { version: 1 });
  await world.clock.advance(5_000);
  expect((await world.only()).state).toBe('deleting');
  expect(world.a.terminated.length).toBeGreaterThan(toldBefore);
  await world.a.says(instance, { version: 2, state: 'deleted' });
  await world.clock.advance(0);
  expect((await world.only()).state).toBe('deleted');
});

it('what its cell took from an earlier request, and found after its end, is ended there', async () => {
  const instance = await activeInA();
  const taken = { ...instance, requestId: randomUUID() };
  world.a.records.clear();
  await world.clock.advance(60_000);
  await world.terminate(instance.uuid);
  await world.clock.advance(5_000);
  expect((await world.only()).state).toBe('deleted');
  world.a.obeys = true;
  const toldBefore = world.a.terminated.length;
  await world.a.says(taken, { version: 1 });
  await world.clock.advance(5_000);
  expect(world.a.terminated.length).toBeGreaterThan(toldBefore);
  expect(world.a.records.get(instance.uuid)?.state).toBe('deleted');
});

it('what was terminated before its cell was told of it is DELETED when the cell does not have it', async () => {
  await world.request();
  const instance = await world.only();
  // Simulates that the cell's broker did not confirm the request.
  const cell = { name: 'a', version: 0, isHandedOver: false, isEnding: false };
  await world.instances.update({ ...instance, cell, version: instance.version + 1 });
  await world.terminate(instance.uuid);
  await world.clock.advance(10_000);
  expect((await world.only()).state).toBe('deleted');
});

it('what ended in its cell while nobody listened is DELETED by the word of the cell', async () => {
  const instance = await activeInA();
  await world.a.says(instance, { version: 9, state: 'deleted' }, false);
  await world.clock.advance(60_000);
  expect((await world.only()).state).toBe('deleted');
});

it('what a cell never said a word of is handed over again', async () => {
  await world.request();
  expect(world.a.requests).toHaveLength(1);
  await world.clock.advance(30_000);
  expect(world.a.requests.length).toBeGreaterThan(1);
  expect(await world.only()).toMatchObject({ state: 'scheduling', cell: { name: 'a' } });
});

it('what a cell was told of is handed over again though it selects nothing for it any more, and fails by its word alone', async () => {
  await world.request();
  world.select = () => refusedBy('cell_capacity');
  await world.clock.advance(30_000);
  expect(world.a.requests.length).toBeGreaterThan(1);
  expect(await world.only()).toMatchObject({ state: 'scheduling', fault: undefined, cell: { name: 'a' } });
});

it('instances of a cell that is not named any more are unknown, and nothing of them comes back to the top', async () => {
  const instance = await activeInA();
  await world.close();
  await world.start(['b']);
  await world.clock.advance(60_000);
  expect(await world.only()).toMatchObject({ state: 'unknown', fault: { reason: 'cell_unreachable' } });
  await world.terminate(instance.uuid);
  await world.clock.advance(30_000);
  expect(await world.only()).toMatchObject({ state: 'deleting', fault: { reason: 'cell_unreachable' } });
  expect(await world.bus.depth(BUILD_REQUESTS.name)).toBe(0);
  expect(world.a.terminated).toEqual([]);
  await world.close();
  await world.start();
  await world.clock.advance(60_000);
  expect(world.a.terminated).toContain(instance.uuid);
});
