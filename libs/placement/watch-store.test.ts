import { createMetrics } from '../runtime/metrics';
import { fakeClock } from '../testing/fake-clock';
import type { StoreHealth, StoreIdentity } from './port/store-identity';
import { SeenRevisions } from './redis/seen-revisions';
import { storeClock } from './store-clock';
import { watchStore } from './watch-store';

/** A store that a test changes, watched; what was said of it. */
async function watched(seenRevision: number, identity: StoreIdentity, figures?: StoreHealth) {
  const told: string[] = [];
  const [clock, metrics, stopping] = [fakeClock(), createMetrics({}), new AbortController()];
  const say = (fields: object) => void told.push((fields as { event: string }).event);
  const log = { debug() {}, info() {}, warn() {}, error: say, isLevelEnabled: () => false, child: () => log };
  const seen = new SeenRevisions();
  seen.add(seenRevision);
  let commits = 0;
  const store = {
    present: identity as StoreIdentity | 'away',
    async commit() {
      commits += 1;
    },
    identify,
    ...(figures && { health: async () => figures }),
    takeSeen: () => seen.take(),
  };
  let meanwhile = 0;
  async function identify() {
    if (meanwhile > 0) seen.add(meanwhile);
    meanwhile = 0;
    if (store.present === 'away') throw new Error('away');
    seen.add(store.present.revision);
    return store.present;
  }
  const watching = watchStore(store, { clock: storeClock(clock), log, metrics }, stopping.signal);
  await clock.advance(0);
  return {
    told,
    metrics,
    commits: () => commits,
    async becomes(present: StoreIdentity | 'away') {
      store.present = present;
      await clock.advance(5_000);
    },
    /** While the next question is under way. */
    seeWhileAsked(revision: number) {
      meanwhile = revision;
    },
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}

const STORE: StoreIdentity = { birthId: 'a', bornAtMs: 5_000, revision: 100, nowMs: undefined, jumps: [] };
const NOBODYS: StoreIdentity = { birthId: undefined, bornAtMs: 0, revision: 0, nowMs: undefined, jumps: [] };

it('says nothing of a store that goes on, is away for a while, or is first written to', async () => {
  const store = await watched(0, NOBODYS);
  await store.becomes(STORE);
  await store.becomes('away');
  await store.becomes({ ...STORE, revision: 20_000, jumps: [[100, 20_000]] });
  expect(store.told).toEqual([]);
  expect(await store.metrics.expose()).toContain('berth_store_born_timestamp_seconds 5');
  await store.stop();
});

it("shows the server's memory and file", async () => {
  const store = await watched(0, STORE, { memoryBytes: 7, memoryLimitBytes: 9, isFileFailing: true });
  const text = await store.metrics.expose();
  for (const line of ['memory_bytes 7', 'memory_limit_bytes 9', 'file_failing 1'])
    expect(text).toContain(`berth_store_${line}`);
  await store.stop();
});

it.each([
  ['is empty', NOBODYS, 'store_new'],
  ['is another one', { ...STORE, birthId: 'b' }, 'store_new'],
  ['is behind what was seen', { ...STORE, revision: 90 }, 'store_went_back'],
  ['went on from before what was seen', { ...STORE, revision: 20_005, jumps: [[90, 20_000]] }, 'store_went_back'],
] as const)('says once that a store %s', async (_, present, event) => {
  const store = await watched(100, STORE);
  await store.becomes(present);
  await store.becomes({ ...present, revision: present.revision + 1 });
  expect(store.told).toEqual([event]);
  expect(await store.metrics.expose()).toContain(`berth_store_losses_total{fate="${event.slice(6)}"} 1`);
  await store.stop();
});

it('says nothing of what this process wrote while the answer was under way', async () => {
  const store = await watched(100, STORE);
  store.seeWhileAsked(105);
  await store.becomes({ ...STORE, revision: 103 });
  await store.becomes({ ...STORE, revision: 106 });
  expect(store.told).toEqual([]);
  await store.becomes({ ...STORE, revision: 104 });
  expect(store.told).toEqual(['store_went_back']);
  await store.stop();
});

it('remembers what was seen before a jump while nobody answers', async () => {
  const store = await watched(100, STORE);
  await store.becomes('away');
  store.seeWhileAsked(20_001);
  await store.becomes('away');
  await store.becomes({ ...STORE, revision: 20_005, jumps: [[90, 20_000]] });
  expect(store.told).toEqual(['store_went_back']);
  await store.stop();
});

it('commits where another server goes on and nobody has, and not else', async () => {
  const store = await watched(100, STORE);
  await store.becomes(STORE);
  expect(store.commits()).toBe(0);
  await store.becomes({ ...STORE, jumps: [[100, 6_000_000]], isUnwritten: true });
  expect(store.commits()).toBe(1);
  await store.becomes({ ...STORE, revision: 6_000_000, jumps: [[100, 6_000_000]] });
  expect(store.commits()).toBe(1);
  await store.stop();
});
