import * as fc from 'fast-check';
import { inventory } from '#libs/domain/inventory';
import { aWorld, hostsOf } from '../../testing/world';

/** VCPUs free on the hosts of each rack. */
const racks = fc.array(fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 4,
});
const kind = fc.record({ vcpus: fc.integer({ min: 1, max: 4 }), count: fc.integer({ min: 1, max: 4 }) });
type Kind = typeof kind extends fc.Arbitrary<infer K> ? K : never;

async function placed(fleet: readonly (readonly number[])[], kinds: readonly Kind[]) {
  const world = aWorld();
  for (const [r, hosts] of fleet.entries()) {
    for (const [n, vcpus] of hosts.entries()) {
      await world.report(`r${r}-${n}`, { inventories: { VCPU: inventory(vcpus) } });
    }
    await world.aggregate(`r${r}`, { rack: `r${r}` }, ...hosts.map((_, n) => `r${r}-${n}`));
  }
  const scheduler = await world.scheduler();
  const group = { id: 'g', policy: 'soft-affinity', maxPerHost: 1, within: { levels: ['rack'], required: 1 } } as const;
  const asked = kinds.map(({ vcpus, count }) => ({ spec: { resources: { VCPU: vcpus }, group }, count }));
  const selected = await scheduler.selectKinds(asked);
  await world.close();
  return { hosts: hostsOf(selected), conflicts: selected.conflicts };
}

/** True if some way of placing all pieces on the hosts exists. */
function fits(free: readonly number[], pieces: readonly number[]): boolean {
  const [piece, ...others] = pieces;
  if (piece === undefined) return true;
  return [...new Set(free)].some((amount) => {
    if (amount < piece) return false;
    const at = free.indexOf(amount);
    return fits(free.toSpliced(at, 1, amount - piece), others);
  });
}

const piecesOf = (kinds: readonly Kind[]) =>
  kinds.flatMap(({ vcpus, count }) => Array.from({ length: count }, () => vcpus)).toSorted((a, b) => b - a);

it('places one kind in the rack with the fewest pieces left over, exactly where brute force finds one', async () => {
  let placedCount = 0;
  await fc.assert(
    fc.asyncProperty(racks, kind, async (fleet, one) => {
      const leftOver = (hosts: readonly number[]) =>
        hosts.reduce((sum, vcpus) => sum + Math.floor(vcpus / one.vcpus), 0) - one.count;
      const possible = fleet.map(leftOver).filter((left) => left >= 0);
      const { hosts, conflicts } = await placed(fleet, [one]);
      expect(conflicts).toBe(0);
      expect(hosts.length).toBe(possible.length > 0 ? one.count : 0);
      const used = [...new Set(hosts.map((host) => Number(host.slice(1).split('-')[0])))];
      expect(used.map((rack) => leftOver(fleet[rack] ?? []))).toEqual(hosts.length > 0 ? [Math.min(...possible)] : []);
      if (hosts.length > 0) placedCount += 1;
    }),
    { numRuns: 300 },
  );
  expect(placedCount).toBeGreaterThan(60);
});

it('places two kinds in one rack that holds all of them, and finds one nearly wherever brute force does', async () => {
  const counts = { placed: 0, missed: 0 };
  await fc.assert(
    fc.asyncProperty(racks, kind, kind, async (fleet, first, second) => {
      const kinds = [first, second];
      const { hosts, conflicts } = await placed(fleet, kinds);
      expect(conflicts).toBe(0);
      const isPossible = fleet.some((rack) => fits(rack, piecesOf(kinds)));
      if (hosts.length === 0) {
        if (isPossible) counts.missed += 1;
        return;
      }
      counts.placed += 1;
      expect(new Set(hosts.map((host) => host.split('-')[0])).size).toBe(1);
      const used = new Map<string, number>();
      for (const [n, host] of hosts.entries()) {
        const { vcpus } = n < first.count ? first : second;
        used.set(host, (used.get(host) ?? 0) + vcpus);
      }
      for (const [host, vcpus] of used) {
        const [rack, n] = host.slice(1).split('-').map(Number);
        expect(vcpus).toBeLessThanOrEqual(fleet[rack as number]?.[n as number] ?? 0);
      }
    }),
    { numRuns: 300 },
  );
  expect(counts.placed).toBeGreaterThan(40);
  // Two kinds on hosts that differ are a packing problem: the larger kind first is not always right.
  expect(counts.missed).toBeLessThan(counts.placed / 10);
});
