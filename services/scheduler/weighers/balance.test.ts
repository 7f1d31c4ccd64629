import * as fc from 'fast-check';
import { inventory, type Resources } from '#libs/domain/inventory';
import { HostRows } from '../demand/host-rows';
import { NO_PRICES, pricesOf } from '../demand/prices';
import { shapeOf } from '../demand/shape';
import type { HostState } from '../fleet/host-state';
import { aWorld, classified, type World } from '../testing/world';
import { balanceWeigher } from './balance';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

/** A host with a thousand of each class, and so many of them free. */
function hostWith(free: Resources): HostState {
  const inventories = Object.fromEntries(Object.keys(free).map((name) => [name, inventory(1_000)]));
  return { index: 0, inventories, free } as unknown as HostState;
}

function measureOf(taken: Resources, freeShares: Resources) {
  const rows = new HostRows(Object.keys(freeShares));
  const prices = { ...NO_PRICES, freeShares: Object.entries(freeShares), rows };
  return balanceWeigher.prepare(classified({ resources: taken }).equivalenceClass, prices);
}

const share = fc.double({ min: 0, max: 1, noNaN: true });
const left = fc.integer({ min: 0, max: 1_000 });

it('of two classes it is how far what stays free lies from the line through what the fleet has free', () => {
  fc.assert(
    fc.property(share, share, left, left, (cores, ram, freeCores, freeRam) => {
      const measure = measureOf({ VCPU: 10 }, { VCPU: cores, MEMORY_MB: ram });
      const [a, b] = [Math.max(0, freeCores - 10) / 1_000, freeRam / 1_000];
      const [A, B] = [cores + 0.05, ram + 0.05];
      const far = Math.abs(a * B - b * A) / Math.hypot(A, B);
      expect(measure?.raw(hostWith({ VCPU: freeCores, MEMORY_MB: freeRam }))).toBeCloseTo(-far, 10);
    }),
  );
});

it('stays between its bounds, of however many classes, over-allocated hosts as well', () => {
  const classes = fc.integer({ min: 2, max: 6 }).chain((count) =>
    fc.record({
      shares: fc.array(share, { minLength: count, maxLength: count }),
      free: fc.array(fc.integer({ min: -500, max: 1_000 }), { minLength: count, maxLength: count }),
    }),
  );
  fc.assert(
    fc.property(classes, ({ shares, free }) => {
      const named = <T>(values: readonly T[]) => Object.fromEntries(values.map((value, n) => [`CUSTOM_${n}`, value]));
      const measure = measureOf({ CUSTOM_0: 1 }, named(shares));
      const raw = measure?.raw(hostWith(named(free))) ?? Number.NaN;
      expect(raw).toBeLessThanOrEqual(0);
      expect(raw).toBeGreaterThanOrEqual((measure?.lower ?? 0) - 1e-9);
    }),
  );
});

it('looks only at classes that the host has, and at nothing where the fleet has one alone', () => {
  const measure = measureOf({ VCPU: 1 }, { VCPU: 0.5, MEMORY_MB: 0.5, DISK_GB: 0.9 });
  expect(measure?.raw(hostWith({ VCPU: 301, MEMORY_MB: 300 }))).toBeCloseTo(0, 10);
  expect(measure?.raw(hostWith({ VCPU: 301, MEMORY_MB: 300, DISK_GB: 0 }))).toBeLessThan(-0.1);
  expect(measureOf({ VCPU: 1 }, { VCPU: 0.5 })).toBeUndefined();
});

it('has the shares of what is asked for that are free on hosts that are up and enabled', async () => {
  for (const host of ['a', 'b', 'disabled']) await world.report(host);
  await world.occupy('a', { VCPU: 4, MEMORY_MB: 4_096 });
  await world.placement.commit({
    kind: 'set_host_enabled',
    atMs: world.clock.now(),
    host: 'disabled',
    enabled: false,
    reason: '',
  });
  const scheduler = await world.scheduler();
  const shape = shapeOf(classified({ resources: { VCPU: 1, MEMORY_MB: 1 } }).equivalenceClass);
  const asked = shape ? [{ ...shape, share: 1 }] : [];
  const { freeShares } = pricesOf(asked, scheduler.fleet.snapshot(world.clock.now()));
  expect(Object.fromEntries(freeShares)).toEqual({ VCPU: 0.75, MEMORY_MB: 0.875 });
});
