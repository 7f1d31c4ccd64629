import type { SeenProcess } from '../../placement/port/placement-store';
import type { PlacementStoreWorld } from './placement';

/** The processes that use a store, as it tells of them. */
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
