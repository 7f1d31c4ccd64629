import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { systemClock } from '#libs/runtime/system';
import { anInstance } from '#libs/testing/instances/instance';
import { aReport, mustReport } from '#libs/testing/placement/placement';
import type { Found } from '../api/search';
import { Browse } from '../testing/browse';
import { openWorld, type World } from '../testing/world';

/* Instances that were there before the console started. */
const instances = memoryInstanceStore(systemClock());
const OLD = ['web-6', 'web-66', 'my-web-6'].map((name) => anInstance({ name, state: 'error' }));
const GONE = anInstance({ name: 'web-6', state: 'deleted' });

let world: World;
let browse: Browse;

beforeAll(async () => {
  for (const one of [...OLD, GONE]) await instances.create(one.requestId, [one]);
  const placement = new MemoryPlacementStore();
  for (const [n, host] of ['host-1', 'host-10', 'host-2'].entries()) {
    await mustReport(placement, aReport({ host, providerUuid: `a0000000-0000-4000-8000-00000000000${n}` }));
  }
  world = await openWorld({}, placement, instances);
  browse = new Browse(world.url);
});
afterAll(() => world.close());

async function labels(text: string): Promise<string[]> {
  const { body } = await browse.ask('GET', `/api/search?q=${encodeURIComponent(text)}`);
  return (body as Found[]).map(({ label }) => label);
}

it('tells exact names first, then beginnings, then parts', async () => {
  expect(await labels('WEB-6')).toEqual(['web-6', 'web-66', 'my-web-6']);
  expect(await labels('host-1')).toEqual(['host-1', 'host-10']);
  expect(await labels('st-2')).toEqual(['host-2']);
});

it('finds an instance by the beginning of its uuid, with its state', async () => {
  const [, second] = OLD;
  const { body } = await browse.ask('GET', `/api/search?q=${second?.uuid.slice(0, 13)}`);
  expect(body).toMatchObject(
    [{ kind: 'instance', id: second?.uuid, label: 'web-66', note: /^ERROR/ }].map((one) => ({
      ...one,
      note: expect.stringMatching(one.note),
    })),
  );
});

it('finds nothing where nothing matches', async () => {
  expect(await labels('no such thing')).toEqual([]);
  expect(await labels(' ')).toEqual([]);
});
