import { memoryJournal } from '../memory-journal';
import type { TrackedInstance } from './tracked-instance';
import { undoBuild } from './undo-build';

const uuid = 'i-1';
const building = { uuid, state: 'building', orderBody: 'b3JkZXI=' } as TrackedInstance;

/** A host whose run ends before its step of this number; the instance is on it, and in its journal. */
function aHostThatEndsBefore(step: number) {
  const journal = memoryJournal([building]);
  const present = new Set([uuid]);
  let steps = 0;
  const take = async (effect: () => unknown) => {
    if (steps++ >= step) throw new Error('the run has ended');
    await effect();
  };
  const host = {
    journal: {
      ...journal,
      put: (instance: TrackedInstance) => take(() => journal.put(instance)),
      remove: (removed: string) => take(() => journal.remove(removed)),
    },
    driver: { destroy: (destroyed: string) => take(() => present.delete(destroyed)) },
  };
  return { host: host as never, journal, present };
}

it.each([0, 1, 2])('leaves the entry of what is left, whatever was done when the run ended: %i steps', async (step) => {
  const { host, journal, present } = aHostThatEndsBefore(step);
  await expect(undoBuild(host, uuid)).rejects.toThrow('the run has ended');
  expect(journal.instances.has(uuid)).toBe(true);
  // The next run undoes the rest, and builds nothing of what is gone.
  const state = journal.instances.get(uuid)?.state;
  expect(state).toBe(step === 0 ? 'building' : 'destroying');
  expect(present.has(uuid)).toBe(step < 2);
});

it('leaves nothing, once it is done', async () => {
  const { host, journal, present } = aHostThatEndsBefore(3);
  await undoBuild(host, uuid);
  expect([...present, ...journal.instances.keys()]).toEqual([]);
});

it('destroys what has no entry, too', async () => {
  const { host, journal, present } = aHostThatEndsBefore(3);
  await journal.remove(uuid);
  await undoBuild(host, uuid);
  expect([...present, ...journal.instances.keys()]).toEqual([]);
});
