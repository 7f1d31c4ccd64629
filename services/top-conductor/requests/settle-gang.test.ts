import { BerthError } from '#libs/domain/errors';
import type { InstanceRow } from '#libs/domain/instance';
import { chosen, chosenAcross, type ScriptedCell, TopWorld } from '../testing/top-world';

let world: TopWorld;

beforeEach(async () => {
  world = new TopWorld();
  // The first two in cell a, the others in b.
  world.select = ({ instanceUuids }) =>
    chosenAcross(chosen('a', instanceUuids.slice(0, 2)), chosen('b', instanceUuids.slice(2)));
  await world.open();
});
afterEach(() => world.close());

async function membersIn(cell: string): Promise<InstanceRow[]> {
  return (await world.all()).filter((one) => one.cell?.name === cell);
}

async function fails(cell: ScriptedCell, instance: InstanceRow | undefined): Promise<void> {
  if (!instance) throw new Error('there is no instance');
  const fault = new BerthError('failed_precondition', 'hosts_exhausted', 'no host left');
  await cell.says(instance, { state: 'error', fault });
  await world.clock.advance(0);
}

const statesOf = (instances: readonly InstanceRow[]) => instances.map(({ state }) => state).sort();

it('a request that was divided goes to its cells in parts', async () => {
  await world.request(4);
  expect(world.a.requests).toMatchObject([{ count: 2, minCount: 0, destinations: [{}, {}] }]);
  expect(world.b.requests).toMatchObject([{ count: 2, minCount: 0, destinations: [{}, {}] }]);
  expect(world.a.requests[0]?.requestId).toBe(world.b.requests[0]?.requestId);
});

it('when one cell refuses its part of a gang, the others end', async () => {
  await world.request(4, {}, { minCount: 4 });
  const [part] = world.b.requests;
  if (!part) throw new Error('there is no request');
  await world.b.refuses(part);
  await world.clock.advance(0);
  expect(statesOf(await world.all())).toEqual(['deleting', 'deleting', 'error', 'error']);
  expect(new Set(world.a.terminated).size).toBe(2);
});

it('settles a gang once, however many of its members are refused', async () => {
  await world.request(100, {}, { minCount: 100 });
  const list = jest.spyOn(world.instances, 'list');
  const [part] = world.b.requests;
  if (!part) throw new Error('there is no request');
  await world.b.refuses(part);
  await world.clock.advance(0);
  const settled = list.mock.calls.filter(([{ requestId }]) => requestId === part.requestId);
  expect(settled).toHaveLength(1);
  expect((await world.all()).filter(({ fault }) => fault?.reason === 'gang_failed')).toHaveLength(2);
});

it('when too few of a divided gang can become ACTIVE, the others end in both cells', async () => {
  await world.request(4, {}, { minCount: 4 });
  expect(world.a.requests).toMatchObject([{ minCount: 0 }]);
  const [[inA], [inB]] = await Promise.all([membersIn('a'), membersIn('b')]);
  if (!inA) throw new Error('there is no instance');
  await world.a.says(inA, {});
  await fails(world.b, inB);
  expect(statesOf(await world.all())).toEqual(['deleting', 'deleting', 'deleting', 'error']);
  expect(world.a.terminated).toHaveLength(2);
  expect(world.b.terminated).toHaveLength(1);
  for (const one of await world.all()) {
    if (one.state === 'deleting')
      await (one.cell?.name === 'a' ? world.a : world.b).says(one, { state: 'deleted', version: 9 });
  }
  await world.clock.advance(0);
  const all = await world.all();
  expect(statesOf(all)).toEqual(['error', 'error', 'error', 'error']);
  expect(all.map(({ fault }) => fault?.reason ?? '').sort()).toEqual([
    'gang_failed',
    'gang_failed',
    'gang_failed',
    'hosts_exhausted',
  ]);
});

it('a divided gang goes on while enough can become ACTIVE', async () => {
  await world.request(4, {}, { minCount: 3 });
  const [inB] = await membersIn('b');
  await fails(world.b, inB);
  expect(statesOf(await world.all())).toEqual(['error', 'scheduling', 'scheduling', 'scheduling']);
  await world.clock.advance(0);
  expect(world.a.terminated).toEqual([]);
});

it('a failure that nobody has settled is settled when it is due', async () => {
  await world.request(4, {}, { minCount: 4 });
  const [inB] = await membersIn('b');
  if (!inB) throw new Error('there is no instance');
  // Simulates that its conductor died after recording the failure.
  const fault = { reason: 'hosts_exhausted', message: 'no host left' };
  await world.instances.update({ ...inB, state: 'error', fault, dueAtMs: world.clock.now(), version: inB.version + 1 });
  await world.clock.advance(2_000);
  const ended = (await world.all()).filter(({ cell }) => cell?.isEnding).map((one) => one.fault?.reason);
  expect(ended).toEqual(['gang_failed', 'gang_failed', 'gang_failed']);
  expect(world.a.terminated.length + world.b.terminated.length).toBeGreaterThanOrEqual(3);
});

it('of a gang that is in one cell the cell says what becomes of it', async () => {
  world.select = ({ instanceUuids }) => chosen('a', instanceUuids);
  await world.request(2, {}, { minCount: 2 });
  expect(world.a.requests).toMatchObject([{ minCount: 2 }]);
  const [first] = await membersIn('a');
  await fails(world.a, first);
  await world.clock.advance(5_000);
  expect(world.a.terminated).toEqual([]);
});

it('what a client terminates of a failed gang is DELETED', async () => {
  await world.request(4, {}, { minCount: 4 });
  const [inB, other] = await membersIn('b');
  await fails(world.b, inB);
  await world.terminate(other?.uuid ?? '');
  if (other) await world.b.says(other, { state: 'deleted', version: 9 });
  await world.clock.advance(0);
  expect(await world.instances.get([other?.uuid ?? ''])).toMatchObject([{ state: 'deleted' }]);
});
