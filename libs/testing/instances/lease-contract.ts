import type { LeaseStore } from '../../instances/store';

/** The fixture of an adapter: a store without leases, and control of time. */
export interface LeaseFixture {
  readonly store: LeaseStore;
  /** Advances the store's time. */
  readonly pass: (durationMs: number) => Promise<void>;
}

/** The contract suite of LeaseStore. `open` gives an empty store for each test. */
export function describeLeaseStore(name: string, open: () => Promise<LeaseFixture>): void {
  describe(`${name} lease store`, () => {
    it('gives a lease to one holder at a time', async () => {
      const { store } = await open();
      expect(await store.acquire('audit', 'a', 10_000)).toBeDefined();
      expect(await store.acquire('audit', 'b', 10_000)).toBeUndefined();
      expect(await store.acquire('other', 'b', 10_000)).toBeDefined();
    });

    it('gives a lease to one of many who ask at once', async () => {
      const { store } = await open();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => store.acquire('audit', `holder-${n}`, 10_000)),
      );
      expect(answers.filter((lease) => lease !== undefined)).toHaveLength(1);
    });

    it('keeps the epoch when the holder renews', async () => {
      const { store, pass } = await open();
      const first = await store.acquire('audit', 'a', 400);
      await pass(250);
      expect(await store.acquire('audit', 'a', 400)).toEqual(first);
      await pass(250);
      expect(await store.acquire('audit', 'b', 400)).toBeUndefined();
    });

    it('raises the epoch when a lease runs out and somebody takes it', async () => {
      const { store, pass } = await open();
      const first = await store.acquire('audit', 'a', 50);
      await pass(100);
      const second = await store.acquire('audit', 'b', 50);
      expect(second?.epoch).toBeGreaterThan(first?.epoch ?? Number.POSITIVE_INFINITY);
      await pass(100);
      const third = await store.acquire('audit', 'b', 50);
      expect(third?.epoch).toBeGreaterThan(second?.epoch ?? Number.POSITIVE_INFINITY);
    });

    it('frees a lease when its holder releases it, and only then', async () => {
      const { store } = await open();
      const first = await store.acquire('audit', 'a', 10_000);
      await store.release('audit', 'b');
      expect(await store.acquire('audit', 'b', 10_000)).toBeUndefined();
      await store.release('audit', 'a');
      const second = await store.acquire('audit', 'b', 10_000);
      expect(second?.epoch).toBeGreaterThan(first?.epoch ?? Number.POSITIVE_INFINITY);
    });

    it('takes the release of a lease that nobody holds', async () => {
      const { store } = await open();
      await expect(store.release('audit', 'a')).resolves.toBeUndefined();
    });
  });
}
