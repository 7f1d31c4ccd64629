import { cellsWith, uuids } from './testing/cells-with';

const spread = { by: 'availability_zone', maxSkew: 1 };
const web = { group: { id: 'web', maxPerHost: 1, policy: 'soft-anti-affinity', spread } } as const;

type Cells = Awaited<ReturnType<typeof cellsWith>>;
const passedIn = ({ hosts }: ReturnType<Cells['explain']>) => hosts.filter((one) => one.passed).map(({ host }) => host);
const refusalsIn = ({ hosts }: ReturnType<Cells['explain']>) =>
  hosts.filter((one) => !one.passed).map(({ host, refusals }) => `${host} ${refusals.join()}`);

it('says in which zones the next member may be, which cells would be asked there, and goes where a selection goes', async () => {
  const { explain, select, zonesOf, held } = await cellsWith({ a: { z1: 9, z2: 9 }, b: { z2: 9, z3: 9 } });
  held.set('one', 'z1');
  held.set('two', 'z3');
  const explained = explain(web);
  expect(explained.zones).toEqual([
    { zone: 'z2', members: 0, cells: expect.arrayContaining(['a', 'b']), reason: '' },
    { zone: 'z1', members: 1, cells: [], reason: 'group_is_uneven' },
    { zone: 'z3', members: 1, cells: [], reason: 'group_is_uneven' },
  ]);
  expect(zonesOf(await select({}, web))).toEqual([expect.stringMatching(/^[ab] z2$/)]);
});

it('refuses a cell whose zones have as many members as they may, though it has room', async () => {
  const { explain, select, held } = await cellsWith({ a: { z1: 9 }, b: { z2: 9 } });
  held.set('one', 'z1');
  expect(passedIn(explain(web))).toEqual(['b']);
  expect(refusalsIn(explain(web))).toEqual(['a cell_spread: its zones have as many members of the group as they may']);
  expect(explain(web).diagnosis).toMatchObject({ hostsConsidered: 2, hostsPassed: 1 });
  expect(passedIn(explain())).toHaveLength(2);
  expect((await select({}, web)).destinations.map(({ zone }) => zone)).toEqual(['z2']);
});

it('says of a cell that has the zone why it does not take a member there', async () => {
  const { explain, select, held } = await cellsWith({ a: { z1: 9 }, b: { z2: 9 } });
  held.set('one', 'z1');
  const huge = { ...web, resources: { VCPU: 1_000 } };
  expect(explain(huge).zones).toMatchObject([{ zone: 'z2', cells: [], reason: 'no_cell' }, { zone: 'z1' }]);
  expect(explain(huge).diagnosis.filters.map(({ filter }) => filter)).toEqual(['cell_capacity']);
  expect((await select({}, huge)).destinations).toEqual([]);
});

it('counts members that are on their way, unless no zone were left for the next', async () => {
  const { explain, select } = await cellsWith({ a: { z1: 9 }, b: { z2: 9 } });
  const [first] = (await select({}, web)).destinations;
  const other = first?.zone === 'z1' ? 'z2' : 'z1';
  expect(explain(web).zones).toMatchObject([
    { zone: other, members: 0, reason: '' },
    { zone: first?.zone, members: 1 },
  ]);
});

it('looks at the zone that is asked for alone, and leaves out those of cells that get nothing new', async () => {
  const { explain, cells, held } = await cellsWith({ a: { z1: 9 }, b: { z2: 9 }, c: { z3: 9 } });
  held.set('one', 'z1');
  held.set('two', 'z3');
  expect(explain({ ...web, availabilityZone: 'z1' }).zones).toMatchObject([
    { zone: 'z1', members: 1, cells: ['a'], reason: '' },
    { zone: 'z3', cells: [], reason: 'not_for_it' },
  ]);
  for (const name of ['b', 'c']) {
    const cell = cells.get(name);
    if (cell) cell.record = { ...cell.record, state: 'disabled' };
  }
  expect(explain(web).zones).toMatchObject([
    { zone: 'z1', cells: ['a'] },
    { zone: 'z3', reason: 'not_for_it' },
  ]);
  expect(passedIn(explain(web))).toEqual(['a']);
});

it('shows members that are counted in a zone of which no cell tells any more: it has another name now, or is gone', async () => {
  const { explain, held } = await cellsWith({ a: { z9: 9 }, b: { z2: 9 } });
  for (const uuid of uuids(2)) held.set(uuid, 'z1');
  expect(explain(web).zones?.at(-1)).toEqual({ zone: 'z1', members: 2, cells: [], reason: 'no_such_zone' });
});

it('looks at the cell alone that members of an affinity group are in, as a selection does, and says why not at the others', async () => {
  const { explain, select, asked } = await cellsWith({ a: { z1: 9 }, b: { z1: 9 }, c: { z1: 9 } }, { cell: 'b' });
  const affinity = { group: { id: 'web', maxPerHost: 1, policy: 'affinity' } } as const;
  expect(passedIn(explain(affinity))).toEqual(['b']);
  const elsewhere = 'cell_affinity: the members of its group are in another cell';
  expect(refusalsIn(explain(affinity))).toEqual([`a ${elsewhere}`, `c ${elsewhere}`]);
  const { noValidHost } = await select({}, { ...affinity, resources: { VCPU: 1_000 } });
  expect(asked).toEqual([]);
  expect(noValidHost).toEqual(explain({ ...affinity, resources: { VCPU: 1_000 } }).diagnosis);
  expect(noValidHost).toMatchObject({ hostsConsidered: 3, hostsPassed: 0 });
});

it('names first the cell that members of a soft affinity group are in', async () => {
  const { explain } = await cellsWith({ a: { z1: 9, z2: 9, z3: 9, z4: 9 }, b: { z1: 9 } }, { cell: 'b' });
  const soft = { group: { id: 'web', maxPerHost: 1, policy: 'soft-affinity' } } as const;
  expect(passedIn(explain(soft))).toEqual(['b', 'a']);
});
