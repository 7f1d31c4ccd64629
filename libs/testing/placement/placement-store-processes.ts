import type { SeenProcess } from '../../placement/port/placement-store';
import { AT_MS, type PlacementStoreWorld } from './placement';

/** The processes that use a store, as it tells of them. */
/** Questions to hosts. */
export function describeAsks(world: () => PlacementStoreWorld): void {
  describe('questions to hosts', () => {
    const open = (id: string, host: string) =>
      world().store.openAsk({ id, host, instanceUuid: 'i', ttlMs: 60_000 }, AT_MS);

    it('have the first answer of the host that was asked, and of nobody else', async () => {
      const another = await world().another();
      await open('a', 'h1');
      expect(await another.askAnswer('a', AT_MS)).toBeUndefined();
      expect(await another.answerAsk('a', 'h2', 'of another', AT_MS)).toBe(false);
      expect(await another.answerAsk('b', 'h1', 'to nothing', AT_MS)).toBe(false);
      expect(await another.answerAsk('a', 'h1', 'é yes', AT_MS)).toBe(true);
      expect(await another.answerAsk('a', 'h1', 'no', AT_MS)).toBe(false);
      expect(await world().store.askAnswer('a', AT_MS)).toBe('é yes');
    });
  });
}

export function describeProcesses(world: () => PlacementStoreWorld): void {
  describe('processes', () => {
    const scheduler: SeenProcess = {
      service: 'scheduler',
      name: 'a "b":1',
      version: '1.2.3',
      startedAtMs: 100,
      problem: '',
    };
    const seen = async () => (await world().store.processes()).map(({ name, seenAtMs }) => [name, seenAtMs]);

    it('are told by every client as they said last, and are no commit', async () => {
      const { store } = world();
      const before = await store.revision();
      await store.noteProcess(scheduler, 1_000, 500);
      await store.noteProcess({ ...scheduler, service: 'conductor' }, 1_000, 500);
      await store.noteProcess({ ...scheduler, problem: 'mirror' }, 1_100, 500);
      await store.noteProcess({ ...scheduler, problem: 'mirror' }, 1_050, 500);
      expect(await (await world().another()).processes()).toEqual([
        { ...scheduler, service: 'conductor', seenAtMs: 1_000 },
        { ...scheduler, problem: 'mirror', seenAtMs: 1_100 },
      ]);
      expect(await store.revision()).toBe(before);
    });

    it('go when they end, and when they were silent for too long', async () => {
      const { store } = world();
      for (const [n, name] of ['a', 'b', 'c'].entries()) await store.noteProcess({ ...scheduler, name }, n * 100, 150);
      expect(await seen()).toEqual([
        ['b', 100],
        ['c', 200],
      ]);
      await store.forgetProcess('scheduler', 'c');
      await store.forgetProcess('scheduler', 'nobody');
      expect(await seen()).toEqual([['b', 100]]);
    });
  });
}
