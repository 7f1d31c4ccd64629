import * as fc from 'fast-check';
import {
  dominantShare,
  type FairShares,
  type FairWaiter,
  inFairOrder,
  type ProjectShare,
  unusedShare,
} from './fair-share';

const HOUR_MS = 3_600_000;
const CAPACITY = { VCPU: 100, MEMORY_MB: 1_000 };

const waiter = (requestId: string, fields: Partial<FairWaiter> = {}): FairWaiter => {
  return { requestId, projectId: 'a', priority: 0, arrivedAtMs: 0, asked: { VCPU: 1 }, ...fields };
};
const sharesOf = (projects: Readonly<Record<string, Partial<ProjectShare>>>, atMs = 0): FairShares => {
  const all = Object.entries(projects).map(([id, fields]) => [id, { ...unusedShare(id), ...fields }] as const);
  return { atMs, halfLifeMs: HOUR_MS, capacity: CAPACITY, projects: new Map(all), unknown: unusedShare };
};
const namesOf = (waiters: readonly FairWaiter[], shares: FairShares) =>
  inFairOrder(waiters, shares).waiters.map(({ requestId }) => requestId);

it('takes the largest part of any class that the fleet has', () => {
  expect(dominantShare({ VCPU: 10, MEMORY_MB: 300, instances: 9, PCPU: 4 }, { ...CAPACITY, PCPU: 0 })).toEqual({
    share: 0.3,
    resourceClass: 'MEMORY_MB',
  });
  expect(dominantShare({}, CAPACITY)).toEqual({ share: 0, resourceClass: '' });
});

it('goes by priority, then by what was used for the weight, then by age', () => {
  const waiters = [
    waiter('a', { projectId: 'a', arrivedAtMs: 1 }),
    waiter('b', { projectId: 'b', arrivedAtMs: 2 }),
    waiter('c', { projectId: 'c', arrivedAtMs: 3 }),
    waiter('d', { projectId: 'd', arrivedAtMs: 4 }),
    waiter('high', { projectId: 'a', arrivedAtMs: 9, priority: 1 }),
  ];
  const shares = sharesOf({ a: { lately: 0.3 }, b: { now: 0.1, lately: 0.1 }, c: { lately: 0.3, weight: 3 } });
  expect(namesOf(waiters, shares)).toEqual(['high', 'd', 'c', 'b', 'a']);
  expect(inFairOrder(waiters, shares).standings.get('b')).toEqual({
    number: 0.2,
    now: 0.1,
    lately: 0.1,
    weight: 1,
    ahead: 0,
    patience: 1,
  });
});

it('lets projects take turns when they used as much, by what they ask for', () => {
  const waiters = [
    ...[1, 2, 3, 4].map((n) => waiter(`a${n}`, { arrivedAtMs: n })),
    waiter('b1', { projectId: 'b', arrivedAtMs: 8, asked: { VCPU: 2 } }),
    waiter('b2', { projectId: 'b', arrivedAtMs: 9, asked: { VCPU: 2 } }),
  ];
  expect(namesOf(waiters, sharesOf({}))).toEqual(['a1', 'b1', 'a2', 'a3', 'b2', 'a4']);
});

it('gains a project nothing to spread its requests over priorities', () => {
  const waiters = [
    waiter('a1', { priority: 1, asked: { VCPU: 50 } }),
    waiter('a2', { arrivedAtMs: 1 }),
    waiter('b', { projectId: 'b', arrivedAtMs: 9 }),
  ];
  expect(namesOf(waiters, sharesOf({ b: { lately: 0.2 } }))).toEqual(['a1', 'b', 'a2']);
});

it('puts the first request of a project that got nothing for a half-life before what others ask for since', () => {
  const waiters = [
    waiter('a1', { arrivedAtMs: 0 }),
    waiter('a2', { arrivedAtMs: 1 }),
    waiter('new', { projectId: 'b', arrivedAtMs: HOUR_MS - 1 }),
  ];
  const shares = (gainedAtMs: number) => sharesOf({ a: { now: 0.5, lately: 0.5, gainedAtMs } }, HOUR_MS);
  expect(namesOf(waiters, shares(-HOUR_MS))).toEqual(['a1', 'new', 'a2']);
  expect(namesOf(waiters, shares(HOUR_MS - 1))).toEqual(['new', 'a1', 'a2']);
});

const someWaiters = fc
  .array(
    fc.record({
      projectId: fc.constantFrom('a', 'b', 'c'),
      priority: fc.integer({ min: -1, max: 1 }),
      arrivedAtMs: fc.nat(5),
      asked: fc.record({ VCPU: fc.nat(20), MEMORY_MB: fc.nat(200) }),
    }),
    { maxLength: 14 },
  )
  .map((all) => all.map((fields, n): FairWaiter => ({ ...fields, requestId: `r${n}` })));
const ownOf = (waiters: readonly FairWaiter[]) =>
  waiters.filter(({ projectId }) => projectId === 'a').map(({ requestId }) => requestId);
const someShare = fc.record({
  now: fc.double({ min: 0, max: 1, noNaN: true }),
  lately: fc.double({ min: 0, max: 1, noNaN: true }),
  weight: fc.integer({ min: 1, max: 10 }),
  gainedAtMs: fc.integer({ min: -2 * HOUR_MS, max: 5 }),
});
const someShares = fc.record({ a: someShare, b: someShare, c: someShare });

it('is one order of all, whatever order they come in', () => {
  fc.assert(
    fc.property(someWaiters, someShares, (waiters, projects) => {
      const shares = sharesOf(projects, 10);
      const names = namesOf(waiters, shares);
      expect(namesOf(waiters.toReversed(), shares)).toEqual(names);
      expect(new Set(names).size).toBe(waiters.length);
      const priorities = inFairOrder(waiters, shares).waiters.map(({ priority }) => priority);
      expect(priorities).toEqual(priorities.toSorted((a, b) => b - a));
    }),
  );
});

it('puts no request later for more weight, or for less that was used', () => {
  fc.assert(
    fc.property(someWaiters, someShares, fc.constantFrom('weight', 'lately', 'now'), (waiters, projects, what) => {
      const better = { ...projects.a, [what]: what === 'weight' ? projects.a.weight + 1 : projects.a[what] / 2 };
      const before = namesOf(waiters, sharesOf(projects, 10));
      const after = namesOf(waiters, sharesOf({ ...projects, a: better }, 10));
      const later = ownOf(waiters).filter((name) => after.indexOf(name) > before.indexOf(name));
      expect(later).toEqual([]);
    }),
  );
});

it('puts nothing of a project earlier because one request is split in two', () => {
  fc.assert(
    fc.property(someWaiters, someShares, fc.nat(), (waiters, projects, pick) => {
      const own = waiters.filter(({ projectId }) => projectId === 'a');
      const whole = own[pick % Math.max(1, own.length)];
      if (whole === undefined) return;
      const half = { VCPU: (whole.asked['VCPU'] ?? 0) / 2, MEMORY_MB: (whole.asked['MEMORY_MB'] ?? 0) / 2 };
      const halves = [whole, { ...whole, requestId: `${whole.requestId}'` }].map((one) => ({ ...one, asked: half }));
      const split = waiters.flatMap((one) => (one === whole ? halves : [one]));
      const shares = sharesOf(projects, 10);
      const before = namesOf(waiters, shares);
      const after = namesOf(split, shares).filter((name) => !name.endsWith("'"));
      const earlier = ownOf(waiters).filter((name) => after.indexOf(name) < before.indexOf(name));
      expect(earlier).toEqual([]);
    }),
  );
});

it('orders ten thousand requests of a thousand projects in a moment', () => {
  const waiters = Array.from({ length: 10_000 }, (_, n) =>
    waiter(`r${n}`, {
      projectId: `p${(n * 7) % 1_000}`,
      arrivedAtMs: n,
      priority: n % 3,
      asked: { VCPU: 1 + (n % 4) },
    }),
  );
  const projects = Array.from({ length: 1_000 }, (_, n) => [`p${n}`, { lately: (n % 17) / 100 }] as const);
  const shares = sharesOf(Object.fromEntries(projects));
  const startedAtMs = performance.now();
  expect(namesOf(waiters, shares)).toHaveLength(10_000);
  expect(performance.now() - startedAtMs).toBeLessThan(2_000);
});
