import { anAcquisition, mustAcquire } from '../../testing/placement/placement';
import { fateOf, lostUpToMs } from '../port/store-identity';
import { MemoryPlacementStore } from './placement-store';

const trait = (name: string, atMs: number) => ({ kind: 'create_name', atMs, catalogue: 'trait', name }) as const;

/** A store in which another server goes on that has not got the last commit, and what somebody saw who has. */
async function wentBack() {
  const before = new MemoryPlacementStore();
  await before.commit(trait('CUSTOM_A', 1_000));
  await before.commit(trait('CUSTOM_B', 1_001));
  const store = new MemoryPlacementStore();
  await store.commit(trait('CUSTOM_A', 1_000));
  store.goOn(2_000);
  return { store, seen: await before.revision(), known: (await before.identify()).birthId };
}

it('is another store when it began at another time', async () => {
  const [one, other] = [new MemoryPlacementStore(), new MemoryPlacementStore()];
  expect(await one.identify()).toMatchObject({ birthId: undefined, revision: 0 });
  await one.commit(trait('CUSTOM_A', 1_000));
  await other.commit(trait('CUSTOM_A', 2_000));
  expect(fateOf((await one.identify()).birthId, [], await other.identify())).toBe('new');
});

it('shows where another server went on with it, and gives no revision twice', async () => {
  const { store, seen, known } = await wentBack();
  expect(fateOf(known, [seen], await store.identify())).toBe('went_back');
  await store.commit(trait('CUSTOM_C', 2_001));
  expect(await store.identify()).toMatchObject({ revision: 2_000_000, jumps: [[1_000_000, 2_000_000]] });
  expect(fateOf(known, [seen], await store.identify())).toBe('went_back');
});

it('may have lost writes up to now until somebody commits, and knows until when from then on', async () => {
  const { store } = await wentBack();
  let nowMs = 3_000;
  store.goOn(2_000, () => nowMs);
  expect(lostUpToMs(await store.identify())).toBe(3_000);
  nowMs = 4_000;
  expect(await store.identify()).toMatchObject({ isUnwritten: true, jumps: [[1_000_000, 4_000_000]] });
  expect(await store.commit({ kind: 'go_on', atMs: nowMs })).toMatchObject({ kind: 'committed' });
  nowMs = 5_000;
  expect(await store.identify()).toMatchObject({ isUnwritten: false, jumps: [[1_000_000, 2_000_000]] });
});

it('asks a follower that saw what was lost for a new snapshot', async () => {
  const { store, seen } = await wentBack();
  const { signal } = new AbortController();
  const follow = (revision: number) => store.follow(revision, () => {}, signal);
  await expect(follow(seen)).rejects.toMatchObject({ reason: 'revision_trimmed' });
  await store.commit(trait('CUSTOM_C', 2_001));
  await expect(follow(seen)).rejects.toMatchObject({ reason: 'revision_trimmed' });
});

it('asks a follower for a new snapshot where another server went on: what it knew ahead of the stream may be lost', async () => {
  const { store } = await wentBack();
  const revision = await store.revision();
  const revisions: number[] = [];
  const following = store.follow(
    revision,
    (changes) => revisions.push(...changes.map((one) => one.revision)),
    new AbortController().signal,
  );
  await store.commit(trait('CUSTOM_C', 2_001));
  await expect(following).rejects.toMatchObject({ reason: 'revision_trimmed' });
  expect(revisions).toEqual([]);
});

it('gives a host to the next run a lease after its clock was set back, not an hour later', async () => {
  const store = new MemoryPlacementStore();
  const [atMs, leaseMs] = [10_000_000, 60_000];
  await mustAcquire(store, { atMs: atMs + 3_600_000, leaseMs });
  const next = (now: number) => store.acquireHosts(anAcquisition({ agentRun: 'run-2', atMs: now }));
  expect(await next(atMs)).toMatchObject([{ kind: 'taken', leftMs: leaseMs }]);
  expect(await next(atMs + leaseMs)).toMatchObject([{ kind: 'granted' }]);
});
