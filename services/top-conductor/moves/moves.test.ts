import type { Client } from '#libs/client/client';
import { BerthError } from '#libs/domain/errors';
import type { InstanceRow } from '#libs/domain/instance';
import { chosen, refusedBy, TopWorld } from '../testing/top-world';

let world: TopWorld;
let client: Client;
let instance: InstanceRow;

beforeEach(async () => {
  world = new TopWorld();
  world.select = ({ instanceUuids, cell = 'a' }) => chosen(cell, instanceUuids);
  world.a.obeys = true;
  world.b.obeys = true;
  await world.open();
  client = world.client();
  await world.request();
  await world.clock.advance(0);
  instance = await world.only();
});
afterEach(() => world.close());

async function move(to = 'b'): Promise<void> {
  const moving = client.operate(instance.uuid, 'migrate', { targetCell: to });
  await world.clock.advance(0);
  expect(await moving).toMatchObject({ state: 'migrating' });
}

const stateIn = ({ records }: TopWorld['a']) => records.get(instance.uuid)?.state;

it('selects in the other cell, stops it, builds it there, and ends it where it was', async () => {
  await move();
  await world.clock.advance(5_000);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1-b', fault: undefined, cell: { name: 'b' } });
  expect([stateIn(world.a), stateIn(world.b)]).toEqual(['deleted', 'active']);
  const { cell } = await world.only();
  expect(cell).toMatchObject({ left: { name: 'a', isGone: true } });
  expect(cell?.move).toBeUndefined();
  expect(world.b.requests).toMatchObject([{ requestId: cell?.requestId, instanceUuids: [instance.uuid] }]);
  expect(await world.used()).toMatchObject({ instances: 1 });
});

it('is followed, ended and moved on in the cell that it came to', async () => {
  await move();
  await world.clock.advance(60_000);
  expect((await world.only()).state).toBe('active');
  await move('a');
  await world.clock.advance(5_000);
  expect(await world.only()).toMatchObject({
    state: 'active',
    fault: { reason: 'still_on_record' },
    cell: { name: 'b' },
  });
  expect(world.b.operations).toEqual([]);
  world.a.records.clear();
  await move('a');
  await world.clock.advance(5_000);
  expect(await world.only()).toMatchObject({ state: 'active', cell: { name: 'a' } });
  await world.terminate(instance.uuid);
  await world.clock.advance(5_000);
  expect((await world.only()).state).toBe('deleted');
  expect([stateIn(world.a), stateIn(world.b)]).toEqual(['deleted', 'deleted']);
});

it('is not stopped when the other cell has no room', async () => {
  world.select = () => refusedBy('cell_capacity');
  await move();
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({
    state: 'active',
    fault: { reason: 'no_valid_host' },
    cell: { name: 'a' },
  });
  expect(world.a.operations).toEqual([]);
});

it('stays where it is when the other cell does not answer in time', async () => {
  world.select = () => {
    throw new BerthError('unavailable', 'cell_unreachable', 'cell b does not answer');
  };
  await move();
  await world.clock.advance(200_000);
  expect(await world.only()).toMatchObject({
    state: 'active',
    host: 'h1-a',
    fault: { reason: 'move_timed_out' },
    cell: { name: 'a' },
  });
  expect((await world.only()).cell?.move).toBeUndefined();
  expect([world.a.operations, world.b.requests]).toEqual([[], []]);
});

it('is started again where it was when it can not be built in the other cell', async () => {
  world.b.builds = false;
  await move();
  await world.clock.advance(10_000);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1-a', fault: { reason: 'not_arrived' } });
  expect(world.a.operations.map(({ operation }) => operation)).toEqual(['stop', 'start']);
  expect(stateIn(world.b)).toBe('deleted');
  expect((await world.only()).cell).toMatchObject({ name: 'a', left: { name: 'b', isGone: true } });
});

it('is undone when it takes too long, but not started before the other cell says that it has nothing', async () => {
  world.b.obeys = false;
  await move();
  await world.clock.advance(5_000);
  await world.b.says(instance, { state: 'building', version: 1 });
  await world.clock.advance(100_000);
  expect(world.b.terminated).toContain(instance.uuid);
  expect(await world.only()).toMatchObject({ state: 'migrating', cell: { name: 'a', move: { phase: 'undoing' } } });
  expect(stateIn(world.a)).toBe('stopped');
  await world.b.says(instance, { state: 'deleted', version: 2 });
  await world.clock.advance(5_000);
  expect(await world.only()).toMatchObject({ state: 'active', fault: { reason: 'move_timed_out' } });
});

it('is not started where it was when the other cell is slow, and its claim of it is in the way of the next selection', async () => {
  world.b.obeys = false;
  await move();
  await world.clock.advance(2_000);
  expect(world.b.requests.length).toBeGreaterThan(0);
  world.select = () => refusedBy('cell_capacity');
  await world.clock.advance(10_000);
  const waiting = { state: 'migrating', fault: { reason: 'no_valid_host' }, cell: { move: { phase: 'building' } } };
  expect(await world.only()).toMatchObject(waiting);
  expect(stateIn(world.a)).toBe('stopped');
  await world.b.says(instance, { state: 'active', host: 'h1-b', version: 1 });
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1-b', fault: undefined, cell: { name: 'b' } });
});

it('is not started where it was when the other cell had it and has forgotten it', async () => {
  world.b.obeys = false;
  await move();
  await world.clock.advance(5_000);
  await world.b.says(instance, { state: 'building', version: 3 });
  world.b.records.clear();
  await world.clock.advance(100_000);
  const inDoubt = await world.only();
  expect(inDoubt).toMatchObject({ state: 'migrating', fault: { reason: 'forgotten_by_cell' } });
  expect(stateIn(world.a)).toBe('stopped');
  // Reported once, however long it lasts.
  await world.clock.advance(100_000);
  expect((await world.only()).version).toBe(inDoubt.version);
  // A wiped store numbers anew.
  await world.b.says(instance, { state: 'active', version: 1 });
  await world.clock.advance(1_000);
  expect(stateIn(world.a)).toBe('stopped');
  await world.b.says(instance, { state: 'deleted', version: 2 });
  await world.clock.advance(5_000);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1-a', cell: { name: 'a' } });
});

describe('stopped', () => {
  beforeEach(async () => {
    await world.a.says(instance, { state: 'stopped', host: 'h1-a', version: 5 });
    await world.clock.advance(0);
  });

  it('is built in the other cell and stopped there, and ended where it was only then', async () => {
    await move();
    const states: unknown[] = [];
    await world.bus.subscribe('instance.#', () => states.push([stateIn(world.a), stateIn(world.b)]));
    await world.clock.advance(5_000);
    expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h1-b', fault: undefined, cell: { name: 'b' } });
    expect([stateIn(world.a), stateIn(world.b)]).toEqual(['deleted', 'stopped']);
    expect(states).not.toContainEqual(['deleted', 'active']);
    expect(world.a.operations).toEqual([]);
    expect(world.b.operations.map(({ operation }) => operation)).toEqual(['stop']);
  });

  it('stays stopped where it was when the other cell can not build it', async () => {
    world.b.builds = false;
    await move();
    await world.clock.advance(10_000);
    expect(await world.only()).toMatchObject({
      state: 'stopped',
      cell: { name: 'a' },
      fault: { reason: 'not_arrived' },
    });
    expect(world.a.operations).toEqual([]);
  });

  it('stays stopped where it was when the other cell does not stop it in time', async () => {
    world.b.stops = false;
    await move();
    await world.clock.advance(120_000);
    expect(await world.only()).toMatchObject({
      state: 'stopped',
      cell: { name: 'a' },
      fault: { reason: 'move_timed_out' },
    });
    expect([stateIn(world.a), stateIn(world.b)]).toEqual(['stopped', 'deleted']);
  });
});

it('what turns up in the other cell after all is ended there', async () => {
  world.b.builds = false;
  await move();
  await world.clock.advance(10_000);
  const before = world.b.terminated.length;
  await world.b.says(instance, { state: 'active', version: 9 });
  await world.clock.advance(5_000);
  expect(world.b.terminated.length).toBeGreaterThan(before);
  expect(stateIn(world.b)).toBe('deleted');
  expect(await world.only()).toMatchObject({ state: 'active', cell: { name: 'a', left: { isGone: true } } });
});

it('goes on with another conductor where the first one died', async () => {
  world.a.obeys = false;
  await move();
  await world.clock.advance(2_000);
  expect(await world.only()).toMatchObject({ state: 'migrating', cell: { move: { phase: 'stopping' } } });
  await world.close();
  world.a.obeys = true;
  await world.a.says(instance, { state: 'stopped', version: 9 }, false);
  await world.start();
  await world.clock.advance(30_000);
  expect(await world.only()).toMatchObject({ state: 'active', cell: { name: 'b' } });
});

it('ends in both cells when it is terminated on its way', async () => {
  world.b.obeys = false;
  await move();
  await world.clock.advance(5_000);
  await world.b.says(instance, { state: 'building', version: 1 });
  await world.terminate(instance.uuid);
  await world.b.says(instance, { state: 'deleted', version: 2 });
  await world.clock.advance(10_000);
  expect((await world.only()).state).toBe('deleted');
  expect(stateIn(world.a)).toBe('deleted');
});

/** The reason of a refused operation. */
async function refusal(operation: 'migrate' | 'stop', options = {}): Promise<string> {
  const refused = client.operate(instance.uuid, operation, options).then(
    () => 'nothing',
    (thrown: unknown) => BerthError.from(thrown).reason,
  );
  await world.clock.advance(0);
  return refused;
}

it.each([
  ['cell that is not named', 'c', 'unknown_cell'],
  ['cell that it is in', 'a', 'same_cell'],
])('is not moved to a %s', async (_what, targetCell, reason) => {
  expect(await refusal('migrate', { targetCell })).toBe(reason);
});

it('nothing else is done with it on its way', async () => {
  world.a.obeys = false;
  await move();
  expect(await refusal('stop')).toBe('instance_state');
});
