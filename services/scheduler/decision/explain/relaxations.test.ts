import * as fc from 'fast-check';
import { inventory } from '#libs/domain/inventory';
import type { HostState } from '../../fleet/host-state';
import { aWorld, type World } from '../../testing/world';
import { type RefusedHost, relaxationsOf } from './relaxations';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const SYMBOLS = ['a', 'b', 'c', 'd', 'e'];

function refused(name: string, symbols: readonly string[]): RefusedHost {
  const reasons = symbols.map((symbol) => ({ symbol, phrase: `are ${symbol}` }));
  return { host: { host: { name } } as HostState, reasons, lacks: {} };
}

const fleets = fc
  .array(fc.subarray(SYMBOLS, { minLength: 1 }), { minLength: 1, maxLength: 20 })
  .map((hosts) => hosts.map((symbols, i) => refused(`host-${i}`, symbols)));

function hits(symbols: readonly string[], fleet: readonly RefusedHost[]): boolean {
  return fleet.every(({ reasons }) => reasons.some(({ symbol }) => symbols.includes(symbol)));
}

it('names reasons that together refuse every host, none of which could be left out', () => {
  fc.assert(
    fc.property(fleets, (fleet) => {
      const { conflict } = relaxationsOf(fleet);
      expect(hits(conflict, fleet)).toBe(true);
      for (const one of conflict)
        expect(
          hits(
            conflict.filter((other) => other !== one),
            fleet,
          ),
        ).toBe(false);
    }),
  );
});

it('names sets of reasons without which so many hosts would fit, and no set that contains another', () => {
  fc.assert(
    fc.property(fleets, (fleet) => {
      const { relaxations } = relaxationsOf(fleet);
      expect(relaxations.length).toBeGreaterThan(0);
      for (const { reasons, hosts } of relaxations) {
        const fit = fleet.filter((host) => host.reasons.every(({ symbol }) => reasons.includes(symbol)));
        expect(hosts).toBe(fit.length);
        for (const one of reasons) {
          const fewer = reasons.filter((other) => other !== one);
          expect(fleet.some((host) => host.reasons.every(({ symbol }) => fewer.includes(symbol)))).toBe(false);
        }
      }
    }),
  );
});

it('says what would fit, and by how much less, when no host does', async () => {
  await world.report('small', { inventories: { VCPU: inventory(4), MEMORY_MB: inventory(4_096) } });
  await world.report('large', { inventories: { VCPU: inventory(16), MEMORY_MB: inventory(8_192) } });
  await world.report('fast', { inventories: { VCPU: inventory(2) }, traits: ['CUSTOM_FAST'] });
  const scheduler = await world.scheduler();
  const spec = { resources: { VCPU: 8, MEMORY_MB: 10_240 }, requiredTraits: ['CUSTOM_FAST'] };
  const { relaxations, conflict } = scheduler.explain(spec);
  expect(relaxations.map(({ sentence }) => sentence)).toEqual([
    '1 host would fit, but it lacks free MEMORY_MB and lacks trait CUSTOM_FAST; the smallest gap: 2048 MEMORY_MB, on large',
    '1 host would fit, but it has no MEMORY_MB and lacks free VCPU; the smallest gap: 6 VCPU, on fast',
  ]);
  expect(conflict).toEqual(['capacity_memory_mb', 'no_inventory_memory_mb']);
  const relaxed = { resources: { VCPU: 8, MEMORY_MB: 10_240 - 2_048 } };
  expect(scheduler.explain(relaxed).hosts.map(({ host }) => host)).toEqual(['large']);
});

it('says nothing of the kind when a host fits, or one host is asked about', async () => {
  await world.report('host');
  const scheduler = await world.scheduler();
  expect(scheduler.explain({ resources: { VCPU: 1 } })).toMatchObject({ relaxations: [], conflict: [] });
  expect(scheduler.explain({ resources: { VCPU: 99 } }, 'host')).toMatchObject({ relaxations: [], conflict: [] });
});
