import { selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import type { KnownCell } from './known-cell';
import { cellsWith, uuids } from './testing/cells-with';

it('a request that one cell takes is not divided', async () => {
  const { select, countsOf } = await cellsWith({ a: 2, b: 4 });
  const response = await select({ instanceUuids: uuids(4) });
  expect(countsOf(response)).toEqual({ b: 4 });
  expect(response.cell).toBe('b');
});

it('a request that no cell takes in whole is divided among cells', async () => {
  const { select, countsOf, room } = await cellsWith({ a: 2, b: 3 });
  expect(countsOf(await select({ instanceUuids: uuids(5) }))).toEqual({ a: 2, b: 3 });
  expect([...room.values()]).toEqual([0, 0]);
});

it('when all cells together have too little, what some selected is given back', async () => {
  const { select, room } = await cellsWith({ a: 2, b: 3 });
  const response = await select({ instanceUuids: uuids(6) });
  expect(response.destinations).toEqual([]);
  expect(response.noValidHost?.summary).toContain('2 cells considered');
  expect(Object.fromEntries(room)).toEqual({ a: 2, b: 3 });
});

it('of a gang as many are selected as are enough, and no fewer', async () => {
  const { select, countsOf, room } = await cellsWith({ a: 2, b: 3 });
  expect((await select({ instanceUuids: uuids(8), minCount: 6 })).destinations).toEqual([]);
  expect(Object.fromEntries(room)).toEqual({ a: 2, b: 3 });
  expect(countsOf(await select({ instanceUuids: uuids(8), minCount: 4 }))).toEqual({ a: 2, b: 3 });
});

it('a gang that is whole in one cell, or has several kinds, is not divided', async () => {
  const { select, room } = await cellsWith({ a: 2, b: 3 });
  expect((await select({ instanceUuids: uuids(5), inOneCell: true })).destinations).toEqual([]);
  const furtherKinds = [{ instanceUuids: uuids(1), requestSpec: anEncodedSpec(), minCount: 1 }];
  expect((await select({ instanceUuids: uuids(5), furtherKinds })).destinations).toEqual([]);
  expect(Object.fromEntries(room)).toEqual({ a: 2, b: 3 });
});

const group = { id: 'top:web', maxPerHost: 1 } as const;

it('an affinity group stays in the cell of its members, and is not divided', async () => {
  const { select, countsOf, asked } = await cellsWith({ a: 1, b: 9 }, { cell: 'a' });
  const affinity = { group: { ...group, policy: 'affinity' } } as const;
  expect(countsOf(await select({}, affinity))).toEqual({ a: 1 });
  expect((await select({}, affinity)).destinations).toEqual([]);
  expect(asked).toEqual(['a', 'a']);
});

it('a group that spreads over racks is of one cell, too', async () => {
  const { select } = await cellsWith({ a: 2, b: 2 });
  const spread = { by: 'rack', maxSkew: 1 };
  const response = await select(
    { instanceUuids: uuids(3) },
    { group: { ...group, policy: 'soft-anti-affinity', spread } },
  );
  expect(response.destinations).toEqual([]);
});

it('a soft affinity group goes first where its members are; one of anti-affinity anywhere', async () => {
  const { select, countsOf } = await cellsWith({ a: 1, b: 9 }, { cell: 'a' });
  const soft = { group: { ...group, policy: 'soft-affinity' } } as const;
  expect(countsOf(await select({}, soft))).toEqual({ a: 1 });
  expect(countsOf(await select({}, soft))).toEqual({ b: 1 });
  const anti = { group: { ...group, policy: 'anti-affinity' } } as const;
  expect(countsOf(await select({ instanceUuids: uuids(2) }, anti))).toEqual({ b: 2 });
});

it('what a cell refused because of a group is not taken for a refusal of the like', async () => {
  const { select, countsOf, room } = await cellsWith({ a: 0 }, undefined, 60_000);
  const anti = { group: { ...group, policy: 'anti-affinity' } } as const;
  expect((await select({}, anti)).destinations).toEqual([]);
  room.set('a', 1);
  expect(countsOf(await select({}))).toEqual({ a: 1 });
  expect((await select({})).destinations).toEqual([]);
  room.set('a', 1);
  expect((await select({})).noValidHost?.summary).toContain('refused_just_now');
});

it('tells of a cell its name and its own words: no sums of its cohorts, and nothing that an error of it says', async () => {
  const { select, cells } = await cellsWith({ a: 9, b: 9 });
  const excess = {
    scope: 'cohort',
    name: 'planted',
    resourceClass: 'VCPU',
    used: 7_411,
    asked: 1,
    limit: 7_500,
  } as const;
  const noValidHost = {
    hostsConsidered: 3,
    hostsPassed: 0,
    filters: [{ filter: 'planted', refused: 3, reasons: { planted: 3 } }],
    claimConflicts: 0,
    summary: 'VCPU: 1 asked, more than is left',
    quotaExceeded: [excess],
  };
  answersBy(cells.get('a'), async () => selectDestinationsMethod.response.encode({ destinations: [], noValidHost }));
  answersBy(cells.get('b'), async () => {
    throw new BerthError('permission_denied', 'wrong_cell', 'amqp://cell.b.scheduler:planted@10.0.0.7');
  });
  const answer = await select({});
  expect(answer.noValidHost?.summary).toMatch(/a: asked, and VCPU: 1 asked, more than is left/);
  expect(answer.noValidHost?.summary).toMatch(/b: unreachable \(wrong_cell\)/);
  expect(JSON.stringify(answer)).not.toMatch(/planted|7411|7500|10\.0\.0/);
});

function answersBy(cell: KnownCell | undefined, call: () => Promise<Uint8Array>): void {
  Object.defineProperty(cell?.link, 'bus', { value: { call } });
}
