import { runSeed } from '../world/worlds';

it.each([
  [
    'fleet',
    ['claims: count', 'claims: offer', 'claims: write', 'leases: acquire', 'leases: release', 'leases: report'],
  ],
  ['fleet', ['records: build', 'records: create', 'records: destroy', 'records: mark', 'records: publish']],
  ['ring', ['leases: write', 'pools: join', 'records: update']],
  ['cells', ['reservations: give', 'reservations: record', 'reservations: reserve', 'reservations: unreserve']],
] as const)('checks each step of some runs of the %s, of kinds %j', async (world, kinds) => {
  const seen = new Set<string>();
  for (let seed = 7; !kinds.every((kind) => seen.has(kind)) && seed < 17; seed++) {
    const { brokenTrace, traced } = await runSeed({ world, seed, actionCount: 40 });
    expect(brokenTrace).toBeUndefined();
    for (const kind of traced.keys()) seen.add(kind);
  }
  expect([...seen]).toEqual(expect.arrayContaining([...kinds]));
});
