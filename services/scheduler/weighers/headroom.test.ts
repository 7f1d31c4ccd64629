import * as fc from 'fast-check';
import { inventory, type Resources } from '#libs/domain/inventory';
import type { AskedShape } from '../demand/demand';
import { Demand } from '../demand/demand';
import { pricesOf } from '../demand/prices';
import { countOf, type Shape, shapeOf, wholeHost } from '../demand/shape';
import { ShapeColumns } from '../demand/shape-columns';
import { aWorld, classified, hostsOf, type World } from '../testing/world';
import { headroomWeigher } from './headroom';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const resources = fc
  .dictionary(fc.constantFrom('VCPU', 'MEMORY_MB', 'DISK_GB'), fc.integer({ min: 1, max: 1_000_000 }), { minKeys: 1 })
  .map((amounts) => ({ ...amounts }));
const shapes: fc.Arbitrary<Shape[]> = fc.array(
  resources.map((amounts) => ({ key: JSON.stringify(amounts), resources: amounts })),
  { maxLength: 6 },
);
const free = fc.dictionary(fc.constantFrom('VCPU', 'MEMORY_MB', 'DISK_GB'), fc.integer({ min: -100, max: 5_000_000 }));

/** The plain rule: a place counts once, one that is partly free 0.6 of the square of its free part. */
function placesOf({ resources: asked }: Pick<Shape, 'resources'>, left: Resources): number {
  const times = Math.min(...Object.entries(asked).map(([name, amount]) => Math.max(0, left[name] ?? 0) / amount));
  return Math.floor(times) + 0.6 * (times % 1) ** 2;
}

const without = (left: Resources, taken: Resources): Resources =>
  Object.fromEntries(Object.entries(left).map(([name, amount]) => [name, amount - (taken[name] ?? 0)]));

it('counts what fits by columns as shape by shape, and to the last unit', () => {
  fc.assert(
    fc.property(shapes, free, fc.integer({ min: 1, max: 50 }), (all, left, times) => {
      const columns = new ShapeColumns(all);
      const freeIn = (amounts: Resources) =>
        Float64Array.from(columns.names, (name) => Math.max(0, amounts[name] ?? 0));
      const countsIn = (amounts: Resources) => {
        const sums = new Float64Array(all.length);
        columns.addCountsOf({ free: amounts }, sums);
        return [...sums];
      };
      expect(countsIn(left)).toEqual(all.map((shape) => countOf(shape, left)));
      for (const [k, shape] of all.entries()) {
        const exactly = Object.entries(shape.resources).map(([name, amount]) => [name, times * amount] as const);
        expect(countsIn(Object.fromEntries(exactly))[k]).toBe(times);
        const onlyThis = Float64Array.from(all, (_, n) => (n === k ? 1 : 0));
        const places = placesOf(shape, left);
        expect(Math.abs(columns.worth(freeIn(left), onlyThis) - places)).toBeLessThanOrEqual(1e-9 * (1 + places));
      }
    }),
  );
});

it('a shape loses no more of its places than its largest ratio to what is taken, rounded up', () => {
  fc.assert(
    fc.property(resources, free, resources, (asked, left, taken) => {
      const lost = placesOf({ resources: asked }, left) - placesOf({ resources: asked }, without(left, taken));
      const ratios = Object.entries(asked).map(([name, amount]) => (taken[name] ?? 0) / amount);
      expect(lost).toBeGreaterThanOrEqual(0);
      expect(lost).toBeLessThanOrEqual(Math.ceil(Math.max(...ratios)) + 1e-9);
    }),
  );
});

it('weighs between its bounds the sum of what each shape loses, times its price', async () => {
  await world.report('a');
  await world.report('b');
  await world.occupy('b', { VCPU: 5, MEMORY_MB: 1_024 });
  const scheduler = await world.scheduler();
  const snapshot = scheduler.fleet.snapshot(world.clock.now());
  const large: AskedShape = { key: 'large', resources: { VCPU: 8 }, share: 0.25 };
  const small: AskedShape = { key: 'small', resources: { VCPU: 1, MEMORY_MB: 1_024 }, share: 0.75 };
  const prices = pricesOf([large, small], snapshot);
  expect(prices.shapes.map(({ fits }) => fits)).toEqual([1, 11, 1]);
  const taken = { VCPU: 3 };
  const measure = headroomWeigher.prepare(classified({ resources: taken }).equivalenceClass, prices);
  for (const name of ['a', 'b']) {
    const host = scheduler.host(name) ?? fail(name);
    let cost = 0;
    for (const shape of prices.shapes) {
      cost += shape.price * (placesOf(shape, host.free) - placesOf(shape, without(host.free, taken)));
    }
    expect(measure?.raw(host)).toBeCloseTo(-cost, 10);
    expect(measure?.lower).toBeLessThanOrEqual(-cost);
  }
});

it('prices a shape by its demand and by its last rooms, at nothing where it fits on no empty host', async () => {
  for (const host of ['a', 'b']) await world.report(host);
  const snapshot = (await world.scheduler()).fleet.snapshot(world.clock.now());
  const pricesWith = (vcpus: number) =>
    pricesOf(
      [
        { key: 'often', resources: { VCPU: 1 }, share: 0.999 },
        { key: 'rare', resources: { VCPU: vcpus }, share: 0.001 },
      ],
      snapshot,
    ).shapes;
  const [often, rare] = pricesWith(8);
  expect(often?.price).toBeCloseTo(0.999 / 16.1 + 1 / 8 / 17 ** 2, 10);
  expect(rare?.price).toBeCloseTo(0.001 / 2.1 + 1 / 3 ** 2, 10);
  expect(pricesWith(9)[1]).toMatchObject({ key: 'rare', price: 0 });
});

it('prefers the host from which more of a large place is gone already', async () => {
  for (const host of ['little', 'much']) await world.report(host);
  await world.occupy('little', { VCPU: 1 });
  await world.occupy('much', { VCPU: 4 });
  const scheduler = await world.scheduler({ ...WITH_PROFILE, profile: 'headroom' });
  expect(hostsOf(await scheduler.select({ resources: { VCPU: 1 } }))).toEqual(['much']);
});

it('keeps the empty host for a large request that came before', async () => {
  for (const host of ['empty', 'used']) await world.report(host);
  await world.occupy('used', { VCPU: 1 });
  const scheduler = await world.scheduler({ ...WITH_PROFILE, profile: 'headroom' });
  expect(hostsOf(await scheduler.select({ resources: { VCPU: 2 } }))).toEqual(['used']);
  expect(hostsOf(await scheduler.select({ resources: { VCPU: 8 } }))).toEqual(['empty']);
});

it('spreads, packs or keeps room on the hosts of an aggregate that says so', async () => {
  for (const host of ['p1', 'p2']) await world.report(host);
  await world.occupy('p1', { VCPU: 4, MEMORY_MB: 8_192, DISK_GB: 50 });
  const scheduler = await world.scheduler(WITH_PROFILE);
  expect(hostsOf(await scheduler.select({ resources: { VCPU: 1 } }))).toEqual(['p2']);
  await world.aggregate('packed', { scheduler_profile: 'pack' }, 'p1', 'p2');
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  expect(hostsOf(await scheduler.select({ resources: { VCPU: 1 } }))).toEqual(['p1']);
});

it('tells which later requests a placement costs, the dearest first', async () => {
  await world.report('only', { inventories: { VCPU: inventory(8) } });
  const scheduler = await world.scheduler();
  const { equivalenceClass } = classified({ resources: { VCPU: 4 } });
  scheduler.pricing.note(equivalenceClass, ['one'], scheduler.fleet.snapshot(world.clock.now()));
  const [verdict] = scheduler.explain({ resources: { VCPU: 3 } }).hosts;
  expect(verdict?.roomCosts).toEqual([
    { resources: { VCPU: 4 }, fewer: 1, fits: 2, cost: expect.any(Number) as number },
    { resources: { VCPU: 8 }, fewer: 1, fits: 1, cost: expect.any(Number) as number },
  ]);
});

it('counts an instance once, however often it is asked for, and again by another size', async () => {
  await world.report('only', { inventories: { VCPU: inventory(64) } });
  const scheduler = await world.scheduler();
  const snapshot = scheduler.fleet.snapshot(world.clock.now());
  const note = (vcpus: number, uuids: readonly string[]) =>
    scheduler.pricing.note(classified({ resources: { VCPU: vcpus } }).equivalenceClass, uuids, snapshot);
  const shares = () => scheduler.pricing.asked().map(({ share }) => Number(share.toFixed(3)));
  note(1, ['a', 'b']);
  for (let times = 0; times < 50; times++) note(2, ['waits']);
  expect(shares()).toEqual([0.667, 0.333]);
  note(2, ['a', 'waits']);
  expect(shares()).toEqual([0.5, 0.5]);
});

describe('demand', () => {
  const shape = (vcpus: number) => shapeOf(classified({ resources: { VCPU: vcpus } }).equivalenceClass) as Shape;

  it('forgets: what is asked for now counts more than as much long ago', () => {
    const demand = new Demand();
    demand.note(shape(1), 1_000);
    demand.note(shape(2), 40_000);
    demand.note(shape(4), 1_000);
    const [old, , recent] = demand.asked();
    expect(recent?.share).toBeGreaterThan(3.5 * (old?.share ?? 1));
    expect(demand.asked().reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 10);
  });

  it('is bounded, and lasts longer than the numbers in which it is counted', () => {
    const demand = new Demand();
    for (let vcpus = 1; vcpus <= 200; vcpus++) demand.note(shape(vcpus), 1_000);
    expect(demand.asked()).toHaveLength(128);
    for (let n = 0; n < 1_000; n++) demand.note(shape(1), 20_000);
    expect(demand.asked().every(({ share }) => share >= 0 && share <= 1)).toBe(true);
    expect(wholeHost({ inventories: { VCPU: inventory(0) } })).toBeUndefined();
  });
});

/** Tests draw no host unless they say so. */
const WITH_PROFILE = { hostSubsetSize: 1 };

function fail(name: string): never {
  throw new Error(`there is no host ${name}`);
}
