import { cellsWith, uuids } from './testing/cells-with';

const evenly = (maxSkew: number) => {
  const spread = { by: 'availability_zone', maxSkew };
  return { group: { id: 'top:web', maxPerHost: 1, policy: 'soft-anti-affinity', spread } } as const;
};

it('members go to the zones of all cells, as many to each', async () => {
  const { select, zonesOf } = await cellsWith({ a: { z1: 9, z2: 9 }, b: { z3: 9 } });
  const response = await select({ instanceUuids: uuids(6) }, evenly(1));
  expect(zonesOf(response)).toEqual(['a z1', 'a z1', 'a z2', 'a z2', 'b z3', 'b z3']);
  expect(response).toMatchObject({ zones: ['z1', 'z2', 'z3'], noValidHost: undefined });
});

it('a zone of the same name in two cells is one', async () => {
  const { select, zonesOf, room } = await cellsWith({ a: { z1: 9, z2: 1 }, b: { z2: 1 } });
  const response = await select({ instanceUuids: uuids(4) }, evenly(1));
  expect(zonesOf(response)).toEqual(['a z1', 'a z1', 'a z2', 'b z2']);
  expect(response.zones).toEqual(['z1', 'z2']);
  expect(Object.fromEntries(room)).toEqual({ 'a z1': 7, 'a z2': 0, 'b z2': 0 });
});

it('what members there are decides where the next one goes, and those that are on their way count', async () => {
  const { select, zonesOf, write, held, clock } = await cellsWith({ a: { z1: 9, z2: 9 }, b: { z3: 9 } });
  write(await select({ instanceUuids: uuids(3) }, evenly(1)));
  const [first] = held.keys();
  const left = held.get(first ?? '');
  held.delete(first ?? '');
  await clock.advance(10_000);
  const [next] = (await select({}, evenly(1))).destinations;
  expect(next?.zone).toBe(left);
  // Not recorded yet.
  const two = await select({ instanceUuids: uuids(3) }, evenly(1));
  expect(zonesOf(two)).toEqual(['a z1', 'a z2', 'b z3']);
});

it('what is on its way for too long does not count any more', async () => {
  const { select, held, write, clock } = await cellsWith({ a: { z1: 9 }, b: { z2: 9 } });
  const lost = await select({}, evenly(1));
  await clock.advance(10_000);
  write(await select({}, evenly(1)));
  write(await select({}, evenly(1)));
  expect([...held.values()].sort()).toEqual(['z1', 'z2']);
  expect(lost.destinations).toHaveLength(1);
});

it('what a full zone would leave uneven is given back, and nothing is selected', async () => {
  const { select, room, asked } = await cellsWith({ a: { z1: 9, z2: 9 }, b: { z3: 0 } });
  const response = await select({ instanceUuids: uuids(3) }, evenly(1));
  expect(response.destinations).toEqual([]);
  expect(response.noValidHost?.summary).toContain('b: asked, and full');
  expect(response.noValidHost?.filters.map(({ filter }) => filter)).toEqual(['cell_spread', 'cell_asked']);
  expect(Object.fromEntries(room)).toEqual({ 'a z1': 9, 'a z2': 9, 'b z3': 0 });
  expect(asked).toContain('b z3');
  // One in each of the other two keeps it within its skew.
  expect((await select({ instanceUuids: uuids(2) }, evenly(1))).destinations).toHaveLength(2);
});

it('of a gang as many are selected as keep the group even and are enough', async () => {
  const { select, zonesOf, room } = await cellsWith({ a: { z1: 9, z2: 9 }, b: { z3: 1 } });
  const response = await select({ instanceUuids: uuids(9), minCount: 4 }, evenly(1));
  expect(zonesOf(response)).toEqual(['a z1', 'a z1', 'a z2', 'a z2', 'b z3']);
  expect(response.noValidHost).toBeDefined();
  expect(Object.fromEntries(room)).toEqual({ 'a z1': 7, 'a z2': 7, 'b z3': 0 });
});

it('zones of cells that get nothing new do not count; those of cells that are away do, and are waited for', async () => {
  const { select, zonesOf, cells, write } = await cellsWith({ a: { z1: 9, z2: 9 }, b: { z3: 9 } });
  const b = cells.get('b');
  if (!b) throw new Error('there is no cell b');
  Object.defineProperty(b, 'unreachable', { get: () => 'unreachable', configurable: true });
  write(await select({ instanceUuids: uuids(2) }, evenly(1)));
  const third = await select({}, evenly(1));
  expect(third.destinations).toEqual([]);
  expect(third.noValidHost?.filters.map(({ filter }) => filter)).toEqual(['cell_reachable', 'cell_spread']);
  b.record = { ...b.record, state: 'disabled' };
  expect(zonesOf(await select({ instanceUuids: uuids(2) }, evenly(1)))).toEqual(['a z1', 'a z2']);
});

it('a request for one zone, or in one cell, asks there alone', async () => {
  const { select, zonesOf, countsOf, asked } = await cellsWith({ a: { z1: 9, z2: 9 }, b: { z2: 9 } });
  const inZ1 = await select({ instanceUuids: uuids(3) }, { ...evenly(1), availabilityZone: 'z1' });
  expect(zonesOf(inZ1)).toEqual(['a z1', 'a z1', 'a z1']);
  expect(asked).toEqual(['a z1']);
  const inB = await select({ cell: 'b' }, { ...evenly(1), availabilityZone: 'z2' });
  expect(countsOf(inB)).toEqual({ b: 1 });
});

it('for a move to another cell a zone of that cell is chosen, as if the member were in none', async () => {
  const { select, zonesOf, held, asked } = await cellsWith({ a: { z1: 9, z2: 9 }, b: { z2: 9, z3: 9 } });
  const [mover, other] = uuids(2) as [string, string];
  held.set(mover, 'z1');
  held.set(other, 'z2');
  const move = { instanceUuids: [mover], cell: 'b', choosesZone: true };
  expect(zonesOf(await select(move, evenly(1)))).toEqual(['b z3']);
  held.set(mover, 'z2');
  held.delete(other);
  expect(zonesOf(await select({ ...move, cell: 'a' }, evenly(1)))).toEqual([expect.stringMatching(/^a z[12]$/)]);
  expect(asked.filter((place) => place.startsWith('a'))).toHaveLength(1);
});

it('a move to a cell whose zones have as many members as they may is refused', async () => {
  const { select, held, asked } = await cellsWith({ a: { z1: 9, z2: 9 }, b: { z3: 9 } });
  const [mover, other] = uuids(2) as [string, string];
  held.set(mover, 'z1');
  held.set(other, 'z3');
  const response = await select({ instanceUuids: [mover], cell: 'b', choosesZone: true }, evenly(1));
  expect(response.destinations).toEqual([]);
  expect(response.noValidHost?.filters.map(({ filter }) => filter)).toEqual(['cell_spread']);
  expect(asked).toEqual([]);
});
