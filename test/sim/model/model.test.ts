import { explore } from '#libs/simulation/explore';
import type { ClaimStep, Claims } from './claims';
import { ModelWorld, type Scope } from './small/model-world';
import { ONE_INSTANCE } from './small/one-instance';
import { CLAIMS, EVENTS, LEASES, POOLS, RESERVATIONS } from './small/scopes';
import { withEntry } from './step';

function exploreScope<S extends object, T>(scope: Scope<S, T>) {
  return explore(async () => new ModelWorld(scope));
}

it.each([
  ['claims', () => exploreScope(CLAIMS)],
  ['leases', () => exploreScope(LEASES)],
  ['pools', () => exploreScope(POOLS)],
  ['events', () => exploreScope(EVENTS)],
  ['reservations', () => exploreScope(RESERVATIONS)],
  ['one instance', () => exploreScope(ONE_INSTANCE)],
])('keeps its invariants in every state of the small scope of %s', async (_, exploreAll) => {
  const { stateCount, violation } = await exploreAll();
  expect(violation).toBeUndefined();
  expect(stateCount).toBeGreaterThan(100);
});

it('misses a release that expects its claim', async () => {
  const step = (claims: Claims, tried: ClaimStep) => {
    if (tried.kind !== 'write') return CLAIMS.step(claims, tried);
    const writes = tried.writes.map((write) => ({ ...write, expects: { kind: 'any' } as const }));
    return CLAIMS.step(claims, { ...tried, writes });
  };
  const { violation } = await exploreScope({ ...CLAIMS, step });
  expect(violation?.message).toBe('a late release of x took a newer claim');
});

it('misses the bound of a claim', async () => {
  const step = (claims: Claims, tried: ClaimStep) =>
    CLAIMS.step(claims, tried.kind === 'write' ? { ...tried, isForced: true } : tried);
  const { violation } = await exploreScope({ ...CLAIMS, step });
  expect(violation?.message).toMatch(/are in use; 0 may be/);
});

it('misses the epoch of a write', async () => {
  const { violation } = await exploreScope({
    ...LEASES,
    step: (state, tried) => {
      if (tried === 'time passes' || tried.kind !== 'write') return LEASES.step(state, tried);
      return state;
    },
  });
  expect(violation?.message).toMatch(/epoch 1 is heard after epoch 2/);
});

it('misses the outbox', async () => {
  const { violation } = await exploreScope({
    ...EVENTS,
    step: (records, tried) => {
      return tried.kind === 'mark'
        ? { ...records, outbox: withEntry(records.outbox, 'x', []) }
        : EVENTS.step(records, tried);
    },
  });
  expect(violation?.message).toBe('version 1 is told to nobody, and not in the outbox');
});
