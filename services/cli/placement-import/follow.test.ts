import { setMaxListeners } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { sleep } from '#libs/domain/clock';
import { inventory } from '#libs/domain/inventory';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { systemClock } from '#libs/runtime/system';
import { aWrite, claim, commit } from '#libs/testing/placement/placement';
import { endpointAt, withoutGenerations } from '../testing/endpoints';
import { runLine } from '../testing/run-line';
import { fillSmallCloud, type SmallCloud, startPlacementOn, uuidOf } from '../testing/small-cloud';
import type { Endpoint } from './endpoint';
import { follow } from './follow';
import { readChanges } from './read-changes';
import { readSnapshot, type Snapshot } from './snapshot';

jest.setTimeout(120_000);
setMaxListeners(0);

const clock = systemClock();
const HOST = uuidOf(8);
let source: MemoryPlacementStore;
let from: SmallCloud;
let to: SmallCloud;
beforeEach(async () => {
  source = new MemoryPlacementStore();
  [from, to] = [await startPlacementOn(source), await startPlacementOn(new MemoryPlacementStore())];
  await fillSmallCloud(source);
  await commit(source, { kind: 'put_provider', mode: 'create', uuid: HOST, name: 'host-8', parentUuid: undefined });
  await size(16);
});
afterEach(async () => {
  await Promise.all([from.close(), to.close()]);
});

const size = (total: number) =>
  commit(source, {
    kind: 'write_inventories',
    providerUuid: HOST,
    generation: undefined,
    inventories: { VCPU: inventory(total) },
    replace: true,
  });
const holds = (consumer: number, amount: number) => {
  const allocations = amount === 0 ? {} : { [HOST]: { VCPU: amount } };
  return claim(source, aWrite(allocations, { uuid: uuidOf(consumer), owner: 'api', expect: { kind: 'any' } }));
};

/** The endpoint with its questions counted, and a list of providers that may be old. */
function watched(real: Endpoint, list?: object): { endpoint: Endpoint; asked: string[] } {
  const asked: string[] = [];
  const note = (path: string) => {
    asked.push(path);
    return path === '/resource_providers' ? list : undefined;
  };
  const own = {
    find: async <T>(path: string) => (note(path) as T | undefined) ?? real.find<T>(path),
    get: async <T>(path: string) => (note(path) as T | undefined) ?? real.get<T>(path),
  };
  return { endpoint: { ...real, ...own }, asked };
}

/** All that both sides should have alike; generations of the copy may be higher. */
function held({ providers, consumers }: Snapshot) {
  return { providers: withoutGenerations(providers), consumers: withoutGenerations(consumers) };
}
const contents = async (url: string) => held(await readSnapshot(await endpointAt(url)));

it('keeps a copy what its source is: claims, sizes, providers that come and go', async () => {
  const interrupted = new AbortController();
  const ended = follow({
    from: await endpointAt(from.url),
    to: await endpointAt(to.url),
    deletesExtra: true,
    intervalMs: 20,
    sweepMs: 1_000,
    clock,
    interrupted: interrupted.signal,
    onRound: () => {},
  });
  const other = uuidOf(9);
  const changes = [
    () => holds(301, 3),
    () => commit(source, { kind: 'put_provider', mode: 'create', uuid: other, name: 'new', parentUuid: undefined }),
    () => size(32),
    () => holds(302, 20),
    () => size(8),
    () => holds(301, 0),
    () => commit(source, { kind: 'delete_provider', uuid: other }),
  ];
  for (const change of changes) {
    await change();
    const wanted = await contents(from.url);
    for (const untilMs = clock.now() + 20_000; !isDeepStrictEqual(await contents(to.url), wanted); ) {
      if (clock.now() > untilMs) break;
      await sleep(clock, 20);
    }
    expect(await contents(to.url)).toEqual(wanted);
  }
  interrupted.abort();
  await ended;
});

it('reads what changed, and of the rest the list alone', async () => {
  await holds(301, 3);
  const real = await endpointAt(from.url);
  const before = await readSnapshot(real);
  const quiet = watched(real);
  expect(held(await readChanges(quiet.endpoint, before, new Set()))).toEqual(held(before));
  expect(quiet.asked).toEqual(['/resource_classes', '/traits', '/resource_providers']);
  await holds(302, 2);
  const busy = watched(real);
  const after = await readChanges(busy.endpoint, before, new Set());
  expect(held(after)).toEqual(await contents(from.url));
  const parts = ['inventories', 'traits', 'aggregates', 'allocations'].map(
    (part) => `/resource_providers/${HOST}/${part}`,
  );
  expect(busy.asked.slice(3)).toEqual([...parts, `/allocations/${uuidOf(302)}`]);
});

it('sees in its turn what was given back without a new generation, as a DELETE in OpenStack does', async () => {
  await holds(301, 3);
  const real = await endpointAt(from.url);
  const before = await readSnapshot(real);
  const old = await real.get<object>('/resource_providers');
  await holds(301, 0);
  const { endpoint: silent } = watched(real, old);
  expect((await readChanges(silent, before, new Set())).consumers.has(uuidOf(301))).toBe(true);
  expect((await readChanges(silent, before, new Set([HOST]))).consumers.has(uuidOf(301))).toBe(false);
});

it('refuses to follow where it should end', async () => {
  const { code, err } = await runLine(`placement import --from ${from.url} --from-token admin --follow --dry-run`);
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('--follow neither ends') });
});
