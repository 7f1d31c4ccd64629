import { randomUUID } from 'node:crypto';
import type { Instance } from '../../domain/instance';
import { type InstanceStore, versionOf } from '../../instances/store';
import { anInstance, nextVersion } from './instance';

interface OutboxUnderTest {
  readonly store: InstanceStore;
  /** Advances the store's clock. */
  readonly pass: (durationMs: number) => Promise<void>;
}

/** Outbox entries of at least this age, by uuid. */
export async function outboxOf(store: InstanceStore, minAgeMs = 0): Promise<(readonly Instance[])[]> {
  const all: (readonly Instance[])[] = [];
  await store.scanOutbox(minAgeMs, async (rows) => void all.push(...rows));
  return all.toSorted(([a], [b]) => ((a?.uuid ?? '') < (b?.uuid ?? '') ? -1 : 1));
}

/** The contract suite of InstanceStore's outbox. `open` gives an empty store for each test. */
export function describeOutbox(name: string, open: (maxOutbox: number) => Promise<OutboxUnderTest>): void {
  describe(`${name} outbox`, () => {
    let store: InstanceStore;
    let pass: OutboxUnderTest['pass'];

    beforeEach(async () => {
      ({ store, pass } = await open(20));
    });

    afterEach(() => store.close());

    const createOne = async (fields: Partial<Instance> = {}) => {
      const instance = anInstance(fields);
      await store.create(instance.requestId, [instance]);
      return instance;
    };
    const size = () => store.scanOutbox(0, async () => {});

    it('has every version of an instance from the write on, in order, as its event tells it', async () => {
      const first = await createOne({ name: 'Ünïcode "quoted"\nline', dueAtMs: 5 });
      const attempt = {
        host: 'h1',
        number: 1,
        outcome: 'building',
        reason: '\n',
        startedAtMs: 5,
        endedAtMs: undefined,
      };
      const bytes = { alternates: Uint8Array.of(1, 2), allocationRequest: Uint8Array.of(3, 4) };
      const second = nextVersion(first, {
        state: 'building',
        host: 'h1',
        dueAtMs: 7,
        ...bytes,
        attempts: [attempt as never],
      });
      const third = nextVersion(second, {
        state: 'error',
        fault: { reason: 'x', message: 'a\nb' },
        dueAtMs: undefined,
      });
      expect((await store.update(second)).unpublished).toEqual([versionOf(first), second]);
      expect((await store.update(third)).unpublished).toEqual([versionOf(first), versionOf(second), third]);
      expect(await outboxOf(store)).toEqual([[first, second, third].map(versionOf)]);
    });

    it('has all instances of a request, and nothing of a write that was refused', async () => {
      const requestId = randomUUID();
      const both = [anInstance({ requestId }), anInstance({ requestId })];
      await store.create(requestId, both);
      await store.create(requestId, [anInstance({ requestId })]);
      await store.create(randomUUID(), [both[0] as Instance, anInstance()]).catch(() => {});
      const refused = await store.update({ ...(both[0] as Instance), version: 3 });
      expect([refused.updated, refused.unpublished]).toEqual([false, []]);
      expect((await outboxOf(store)).flat()).toEqual(expect.arrayContaining(both.map(versionOf)));
      expect((await outboxOf(store)).flat()).toHaveLength(2);
    });

    it('gives up what is published, and nothing later', async () => {
      const first = await createOne();
      const second = nextVersion(first, { state: 'building' });
      const third = nextVersion(second, { state: 'active' });
      await store.update(second);
      await store.update(third);
      await store.markPublished(first.uuid, 2);
      expect(await outboxOf(store)).toEqual([[versionOf(third)]]);
      await store.markPublished(first.uuid, 1);
      expect(await outboxOf(store)).toEqual([[versionOf(third)]]);
      const fourth = nextVersion(third, { state: 'deleting' });
      expect((await store.update(fourth)).unpublished).toEqual([versionOf(third), fourth]);
      await store.markPublished(first.uuid, 4);
      await store.markPublished(randomUUID(), 4);
      expect([await outboxOf(store), await size()]).toEqual([[], { instanceCount: 0, ageMs: 0 }]);
    });

    it('keeps to the order of what one turn asks for', async () => {
      const first = anInstance();
      const second = nextVersion(first, { state: 'building' });
      const third = nextVersion(second, { state: 'active' });
      const [, one, , two] = await Promise.all([
        store.create(first.requestId, [first]),
        store.update(second),
        store.markPublished(first.uuid, 2),
        store.update(third),
      ]);
      expect([one.unpublished, two.unpublished]).toEqual([[versionOf(first), second], [third]]);
      expect(await outboxOf(store)).toEqual([[versionOf(third)]]);
    });

    it('gives what is old enough, and says how much there is and how old', async () => {
      const old = await createOne();
      await pass(200);
      await createOne();
      expect(await outboxOf(store, 150)).toEqual([[versionOf(old)]]);
      const { instanceCount, ageMs } = await size();
      expect(instanceCount).toBe(2);
      expect(ageMs).toBeGreaterThanOrEqual(199);
      expect(ageMs).toBeLessThan(5_000);
    });

    it('shows all of many', async () => {
      const requestId = randomUUID();
      const many = Array.from({ length: 1_500 }, () => anInstance({ requestId }));
      await store.create(requestId, many);
      const seen = (await outboxOf(store)).flat().map(({ uuid }) => uuid);
      expect([...new Set(seen)]).toEqual(many.map(({ uuid }) => uuid).sort());
      expect((await size()).instanceCount).toBe(1_500);
    });

    it('counts age from when an instance came into it, not from its birth', async () => {
      const first = await createOne();
      await store.markPublished(first.uuid, 1);
      await pass(200);
      await store.update(nextVersion(first, { state: 'building' }));
      expect(await outboxOf(store, 150)).toEqual([]);
      expect(await outboxOf(store)).toHaveLength(1);
    });

    it('takes no new instance when it is full, and every step of those that are there', async () => {
      const requestId = randomUUID();
      const many = Array.from({ length: 20 }, () => anInstance({ requestId }));
      await store.create(requestId, many);
      const refused = anInstance();
      await expect(store.create(refused.requestId, [refused])).rejects.toMatchObject({
        code: 'unavailable',
        reason: 'outbox_full',
      });
      expect(await store.get([refused.uuid])).toEqual([]);
      expect((await store.create(requestId, many)).created).toBe(false);
      for (const one of many) expect((await store.update(nextVersion(one, { state: 'building' }))).updated).toBe(true);
      await store.markPublished(many[0]?.uuid ?? '', 2);
      expect((await store.create(refused.requestId, [refused])).created).toBe(true);
    });

    it('holds what is deleted until its end is published', async () => {
      const gone = nextVersion(await createOne(), { state: 'deleted', updatedAtMs: 1 });
      await store.update(gone);
      expect(await store.forget(10, 10)).toBe(0);
      expect(await store.get([gone.uuid])).toEqual([gone]);
      await store.markPublished(gone.uuid, 2);
      expect(await store.forget(10, 10)).toBe(1);
      expect(await store.get([gone.uuid])).toEqual([]);
    });
  });
}
