import { setMaxListeners } from 'node:events';
import { assert, asyncProperty, constantFrom, integer, record } from 'fast-check';
import { inventory } from '#libs/domain/inventory';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import type { Command } from '#libs/placement/port/placement-store';
import { aWrite, claim, commit } from '#libs/testing/placement/placement';
import { endpointAt, withoutGenerations } from '../testing/endpoints';
import { runLine } from '../testing/run-line';
import { fillSmallCloud, type SmallCloud, startPlacementOn, uuidOf } from '../testing/small-cloud';
import { runImport } from './run-import';
import { readSnapshot, type Snapshot } from './snapshot';

jest.setTimeout(120_000);
// As the program does: each call in flight listens to the signal of Ctrl-C.
setMaxListeners(0);

/** A store that counts its commits and tells of each. */
class CountingStore extends MemoryPlacementStore {
  onCommit = (_count: number) => {};
  count = 0;

  override async commit(command: Command) {
    const result = await super.commit(command);
    if (result.kind === 'committed') this.onCommit(++this.count);
    return result;
  }
}

let source: CountingStore;
let destination: CountingStore;
let from: SmallCloud;
let to: SmallCloud;
beforeEach(async () => {
  [source, destination] = [new CountingStore(), new CountingStore()];
  [from, to] = [await startPlacementOn(source), await startPlacementOn(destination)];
});
afterEach(async () => {
  await Promise.all([from.close(), to.close()]);
});

const run = async (flags = '') => {
  const line = `placement import --from ${from.url} --from-token admin --placement-url ${to.url} --rate 10000 --json ${flags}`;
  const { code, out, err } = await runLine(line.trim());
  return {
    code,
    err,
    ...((out === '' ? {} : JSON.parse(out)) as {
      writes?: number;
      differences?: object[];
      failures?: { why: string }[];
    }),
  };
};

const contents = async (url: string) => plain(await readSnapshot(await endpointAt(url)));

/** Without generations, which the destination may have higher. */
function plain({ resourceClasses, traits, providers, consumers }: Snapshot) {
  return {
    names: [...resourceClasses, ...traits].sort(),
    providers: withoutGenerations(providers),
    consumers: withoutGenerations(consumers),
  };
}

it('copies trees, inventories, names, aggregates and consumers, and nothing a second time', async () => {
  await fillSmallCloud(source);
  await commit(source, { kind: 'create_name', catalogue: 'resource_class', name: 'CUSTOM_UNUSED' });
  await holds(source, 103, uuidOf(6), 1);
  await commit(source, { kind: 'raise_generations', providers: { [uuidOf(6)]: 400 }, consumers: { [uuidOf(103)]: 7 } });
  const dry = await run('--dry-run');
  expect(dry).toMatchObject({
    code: 0,
    writes: 0,
    differences: expect.arrayContaining([{ of: 'trait', id: 'CUSTOM_PHYSNET_1', aspect: 'missing' }]),
  });
  expect(destination.count).toBe(0);
  expect(await run()).toMatchObject({ code: 0, differences: [], failures: [] });
  expect(await contents(to.url)).toEqual(await contents(from.url));
  const copied = await readSnapshot(await endpointAt(to.url));
  expect(copied.providers.get(uuidOf(6))?.generation).toBe(400);
  expect(copied.consumers.get(uuidOf(103))?.generation).toBe(7);
  const before = destination.count;
  expect(await run()).toMatchObject({ code: 0, writes: 0, differences: [] });
  expect(destination.count).toBe(before);
});

const aHost = async (store: MemoryPlacementStore, number: number, total: number) => {
  const uuid = uuidOf(number);
  await commit(store, { kind: 'put_provider', mode: 'create', uuid, name: `host-${number}`, parentUuid: undefined });
  await size(store, number, total);
  return uuid;
};
const size = (store: MemoryPlacementStore, number: number, total: number) =>
  commit(store, {
    kind: 'write_inventories',
    providerUuid: uuidOf(number),
    generation: undefined,
    inventories: { VCPU: inventory(total) },
    replace: true,
  });
const holds = (store: MemoryPlacementStore, consumer: number, host: string, amount: number) =>
  claim(store, aWrite({ [host]: { VCPU: amount } }, { uuid: uuidOf(consumer), owner: 'api', expect: { kind: 'any' } }));

it('copies what stands above capacity, and leaves the inventory as it is', async () => {
  const host = await aHost(source, 1, 16);
  for (const consumer of [101, 102, 103]) await holds(source, consumer, host, 5);
  await size(source, 1, 8);
  expect(await run()).toMatchObject({ code: 0, differences: [] });
  expect(await contents(to.url)).toEqual(await contents(from.url));
});

it('follows consumers that changed places on full hosts since, and hosts that were renamed and reparented', async () => {
  const [a, b] = [await aHost(source, 1, 8), await aHost(source, 2, 8)];
  await holds(source, 101, a, 8);
  await holds(source, 102, b, 8);
  expect((await run()).code).toBe(0);
  const swapped = [
    aWrite({ [b]: { VCPU: 8 } }, { uuid: uuidOf(101) }),
    aWrite({ [a]: { VCPU: 8 } }, { uuid: uuidOf(102) }),
  ];
  await claim(
    source,
    ...swapped.map((write) => ({ ...write, owner: 'api' as const, expect: { kind: 'any' as const } })),
  );
  await commit(source, { kind: 'put_provider', mode: 'update', uuid: a, name: 'renamed', parentUuid: b });
  expect(await run()).toMatchObject({ code: 0, differences: [] });
  expect(await contents(to.url)).toEqual(await contents(from.url));
});

it('shows what only the destination has, and deletes it when told so', async () => {
  const host = await aHost(source, 1, 8);
  await aHost(destination, 1, 8);
  const [extra, child] = [await aHost(destination, 2, 8), await aHost(destination, 3, 8)];
  await commit(destination, { kind: 'put_provider', mode: 'update', uuid: child, name: 'child', parentUuid: extra });
  for (const [consumer, on] of [
    [101, host],
    [102, child],
  ] as const)
    await holds(destination, consumer, on, 2);
  const kept = await run();
  expect(kept.code).toBe(1);
  expect(kept.differences?.map((one) => (one as { aspect: string }).aspect)).toEqual([
    'extra',
    'extra',
    'extra',
    'extra',
  ]);
  expect(await run('--delete-extra')).toMatchObject({ code: 0, differences: [] });
  expect(await contents(to.url)).toEqual(await contents(from.url));
});

it('says what the destination refuses, and why', async () => {
  await aHost(source, 1, 8);
  await commit(destination, {
    kind: 'put_provider',
    mode: 'create',
    uuid: uuidOf(9),
    name: 'host-1',
    parentUuid: undefined,
  });
  const { code, failures } = await run();
  expect(code).toBe(1);
  expect(failures?.map(({ why }) => why)).toEqual([expect.stringContaining('name: host-1 already exists')]);
});

it('never replaces what Berth places', async () => {
  const host = await aHost(source, 1, 8);
  await aHost(destination, 1, 8);
  await holds(source, 101, host, 2);
  await claim(destination, aWrite({ [host]: { VCPU: 4 } }, { uuid: uuidOf(101), owner: 'conductor' }));
  expect(await run('--delete-extra')).toMatchObject({ code: 1, failures: [{ of: 'consumer', id: uuidOf(101) }] });
  const { consumers } = await readSnapshot(await endpointAt(to.url));
  expect(consumers.get(uuidOf(101))?.allocations).toEqual({ [host]: { VCPU: 4 } });
});

it('goes on after it ended at any write', async () => {
  await fillSmallCloud(source);
  const host = await aHost(source, 8, 16);
  for (const consumer of [201, 202, 203]) await holds(source, consumer, host, 5);
  await size(source, 8, 8);
  const ends = record({ atWrite: integer({ min: 1, max: 30 }), again: constantFrom(0, 1, 3) });
  await assert(
    asyncProperty(ends, async ({ atWrite, again }) => {
      const store = new CountingStore();
      const cloud = await startPlacementOn(store);
      try {
        for (const end of [atWrite, ...(again === 0 ? [] : [again])]) {
          const interrupting = new AbortController();
          const last = store.count + end;
          store.onCommit = (count) => count >= last && interrupting.abort();
          const origin = await endpointAt(from.url);
          // The last write of the import before may still be under way, and ends this one as soon as it asks.
          const opened = endpointAt(cloud.url, interrupting.signal);
          await opened.then((target) => importInto({ from: origin, to: target })).catch(() => {});
        }
        store.onCommit = () => {};
        const whole = await importInto({ from: await endpointAt(from.url), to: await endpointAt(cloud.url) });
        expect(whole.differences).toEqual([]);
        expect(await contents(cloud.url)).toEqual(await contents(from.url));
      } finally {
        await cloud.close();
      }
    }),
    { numRuns: 5 },
  );
});

const importInto = (both: Pick<Parameters<typeof runImport>[0], 'from' | 'to'>) =>
  runImport({ ...both, isDryRun: false, deletesExtra: false, step: (_what, work) => work(() => {}) });

it.each([
  ['', 2, 'no source is named'],
  ['--from URL', 2, 'the source wants a token'],
  ['--from URL --from-token x --placement-url URL/', 2, 'source and destination are the same'],
  ['--from http://127.0.0.1:1 --from-token x --client-timeout-ms 100', 3, 'cannot be reached'],
  [
    '--from URL --keystone-url http://127.0.0.1:1 --keystone-password x',
    4,
    'Keystone at http://127.0.0.1:1 is unavailable',
  ],
])('refuses "%s" with exit code %i', async (flags, code, message) => {
  const answer = await runLine(`placement import ${flags.replaceAll('URL', from.url)}`.trim());
  expect(answer).toMatchObject({ code, err: expect.stringContaining(message) });
});
