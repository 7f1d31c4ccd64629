import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { answer } from '#libs/bus/typed-calls';
import { CellLink } from '#libs/cells/cell-link';
import { SERVICE } from '#libs/contracts/identity';
import type { SelectDestinationsRequest } from '#libs/contracts/messages';
import { RPC_CONDUCTOR, RPC_SCHEDULER } from '#libs/contracts/queues';
import { releaseClaimsMethod } from '#libs/contracts/release-claims';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import { seededRandom } from '#libs/domain/random';
import type { RequestSpec } from '#libs/domain/request-spec';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { KnownCell } from './known-cell';
import { selectCell } from './select-cell';

const clock = fakeClock();
const random = seededRandom(5);
const around = () => ({ clock, random, log: silentLog, metrics: createMetrics({}) });
const uuids = (count: number) => Array.from({ length: count }, () => random.uuid());
const diagnosis = {
  hostsConsidered: 1,
  hostsPassed: 0,
  filters: [],
  claimConflicts: 0,
  summary: 'full',
  quotaExceeded: [],
};

/** Cells with room for so many instances each: they claim, and say what they were asked for and what they gave back. */
async function cellsWith(rooms: Readonly<Record<string, number>>, group?: { readonly cell: string }, refusalMs = 0) {
  const broker = new MemoryBroker(clock, silentLog);
  const room = new Map(Object.entries(rooms));
  const asked: string[] = [];
  const cells = new Map<string, KnownCell>();
  for (const name of room.keys()) {
    const bus = new MemoryBus(broker, SERVICE, { ...readConfig(busOptions, {}), cell: name }, around());
    await bus.serve(RPC_SCHEDULER, {
      ...answer(selectDestinationsMethod, async ({ instanceUuids, minCount = 0 }) => {
        asked.push(name);
        const free = room.get(name) ?? 0;
        if (free < (minCount || instanceUuids.length)) return { destinations: [], noValidHost: diagnosis };
        const taken = instanceUuids.slice(0, free);
        room.set(name, free - taken.length);
        const selected = { host: 'h1', cell: name, allocationRequest: new Uint8Array(), serviceHost: 'h1', epoch: 1 };
        const destinations = taken.map((instanceUuid) => ({ instanceUuid, selected, alternates: [], claimToken: 1 }));
        return { destinations, noValidHost: undefined };
      }),
    });
    await bus.serve(RPC_CONDUCTOR, {
      ...answer(releaseClaimsMethod, async ({ claims }) => {
        room.set(name, (room.get(name) ?? 0) + claims.length);
        return { released: claims.length };
      }),
    });
    const link = new CellLink(name, async () => bus, around());
    await clock.advance(0);
    cells.set(name, new KnownCell(link, clock));
  }
  const config = { maxAsked: 5, askTimeoutMs: 1_000, refusalMs };
  const deps = { cells, random, config, cellOfGroup: () => group?.cell };
  const select = async (request: Partial<SelectDestinationsRequest>, fields: Partial<RequestSpec> = {}) => {
    const spec = aRequestSpec(fields);
    const usual = { requestId: random.uuid(), requestSpec: requestSpecCodec.encode(spec), instanceUuids: uuids(1) };
    const selecting = selectCell(resolveSpec(spec, 'spec'), { ...usual, numAlternates: 0, ...request }, deps);
    await clock.advance(0);
    return selecting;
  };
  const countsOf = ({ destinations }: Awaited<ReturnType<typeof select>>) => {
    const counts: Record<string, number> = {};
    for (const { selected } of destinations) counts[selected.cell] = (counts[selected.cell] ?? 0) + 1;
    return counts;
  };
  return { select, countsOf, asked, room };
}

it('a request that one cell takes is not divided', async () => {
  const { select, countsOf } = await cellsWith({ a: 2, b: 4 });
  const response = await select({ instanceUuids: uuids(4) });
  expect(countsOf(response)).toEqual({ b: 4 });
  expect(response.cell).toBe('b');
});

it('a request that no cell takes in whole is divided among cells', async () => {
  const { select, countsOf, room } = await cellsWith({ a: 2, b: 3 });
  expect(countsOf(await select({ instanceUuids: uuids(5) }))).toEqual({ a: 2, b: 3 });
  expect([...room.values()]).toEqual([0, 0]);
});

it('when all cells together have too little, what some selected is given back', async () => {
  const { select, room } = await cellsWith({ a: 2, b: 3 });
  const response = await select({ instanceUuids: uuids(6) });
  expect(response.destinations).toEqual([]);
  expect(response.noValidHost?.summary).toContain('2 cells considered');
  expect(Object.fromEntries(room)).toEqual({ a: 2, b: 3 });
});

it('of a gang as many are selected as are enough, and no fewer', async () => {
  const { select, countsOf, room } = await cellsWith({ a: 2, b: 3 });
  expect((await select({ instanceUuids: uuids(8), minCount: 6 })).destinations).toEqual([]);
  expect(Object.fromEntries(room)).toEqual({ a: 2, b: 3 });
  expect(countsOf(await select({ instanceUuids: uuids(8), minCount: 4 }))).toEqual({ a: 2, b: 3 });
});

const group = { id: 'top:web', maxPerHost: 1 } as const;

it('an affinity group stays in the cell of its members, and is not divided', async () => {
  const { select, countsOf, asked } = await cellsWith({ a: 1, b: 9 }, { cell: 'a' });
  const affinity = { group: { ...group, policy: 'affinity' } } as const;
  expect(countsOf(await select({}, affinity))).toEqual({ a: 1 });
  expect((await select({}, affinity)).destinations).toEqual([]);
  expect(asked).toEqual(['a', 'a']);
});

it('a group that spreads over zones is of one cell, too', async () => {
  const { select } = await cellsWith({ a: 2, b: 2 });
  const spread = { by: 'availability_zone', maxSkew: 1 };
  const response = await select(
    { instanceUuids: uuids(3) },
    { group: { ...group, policy: 'soft-anti-affinity', spread } },
  );
  expect(response.destinations).toEqual([]);
});

it('a soft affinity group goes first where its members are; one of anti-affinity anywhere', async () => {
  const { select, countsOf } = await cellsWith({ a: 1, b: 9 }, { cell: 'a' });
  const soft = { group: { ...group, policy: 'soft-affinity' } } as const;
  expect(countsOf(await select({}, soft))).toEqual({ a: 1 });
  expect(countsOf(await select({}, soft))).toEqual({ b: 1 });
  const anti = { group: { ...group, policy: 'anti-affinity' } } as const;
  expect(countsOf(await select({ instanceUuids: uuids(2) }, anti))).toEqual({ b: 2 });
});

it('what a cell refused because of a group is not taken for a refusal of the like', async () => {
  const { select, countsOf, room } = await cellsWith({ a: 0 }, undefined, 60_000);
  const anti = { group: { ...group, policy: 'anti-affinity' } } as const;
  expect((await select({}, anti)).destinations).toEqual([]);
  room.set('a', 1);
  expect(countsOf(await select({}))).toEqual({ a: 1 });
  expect((await select({})).destinations).toEqual([]);
  room.set('a', 1);
  expect((await select({})).noValidHost?.summary).toContain('refused_just_now');
});
