import { runSeed } from '../world/worlds';

it.each([
  [
    'fleet',
    ['claims: count', 'claims: offer', 'claims: write', 'leases: acquire', 'leases: release', 'leases: report'],
  ],
  ['fleet', ['records: build', 'records: create', 'records: destroy', 'records: mark', 'records: publish']],
  ['ring', ['leases: write', 'pools: join', 'records: update']],
  ['cells', ['reservations: give', 'reservations: record', 'reservations: reserve', 'reservations: unreserve']],
] as const)('checks each step of a run of the %s, of kinds %j', async (world, kinds) => {
  const { brokenTrace, traced } = await runSeed({ world, seed: 7, actionCount: 40 });
  expect(brokenTrace).toBeUndefined();
  expect([...traced.keys()]).toEqual(expect.arrayContaining([...kinds]));
});
