import { randomUUID } from 'node:crypto';
import { array, assert, asyncProperty, constantFrom, integer, nat, record } from 'fast-check';
import { inventory } from '#libs/domain/inventory';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { type Contents, contentsOf, mustCommit } from '#libs/testing/placement/placement';
import { type Api, openApi } from './api';
import { consumerBody } from './state';

/*
 * One bad part among many leaves the store unchanged, wherever it is among them; without it the others are committed, so
 * that the refusal is really for that part.
 */

const PROVIDERS = 4;
const HELD = 3;
/** The inventories of all providers; at most 50 of memory per allocation. */
const ALL = { VCPU: 100, MEMORY_MB: 100, DISK_GB: 100 };
const MOST_AT_ONCE = 50;
const NOWHERE = '00000000-0000-4000-8000-00000000dead';
const RUNS = 60;

type Amounts = Readonly<Record<string, Readonly<Record<string, number>>>>;
type ConsumerBody = ReturnType<typeof consumerBody>;

/** A bad part of a consumer, for each reason of refusal. */
const BAD_PARTS: Readonly<Record<string, (world: World) => { readonly uuid?: string; readonly body: object }>> = {
  'more than there is': ({ host }) => bad({ [host(3)]: { VCPU: 1 }, [host(0)]: { VCPU: 121 } }),
  'more than at once': ({ host }) => bad({ [host(0)]: { VCPU: 1, MEMORY_MB: MOST_AT_ONCE + 1 } }),
  'a full class': ({ host }) => bad({ [host(0)]: { VCPU: 1 }, [host(1)]: { PCPU: 1 } }),
  'a class without inventory': ({ host }) => bad({ [host(2)]: { VGPU: 1 } }),
  'a class that is none': ({ host }) => bad({ [host(2)]: { CUSTOM_NOWHERE: 1 } }),
  'a provider that is none': ({ host }) => bad({ [host(3)]: { VCPU: 1 }, [NOWHERE]: { VCPU: 1 } }),
  'a consumer that is not new': ({ host, held }) => ({ ...bad({ [host(0)]: { VCPU: 1 } }), uuid: held(0) }),
  'a consumer of another generation': ({ host, held }) => ({
    body: consumerBody({ [host(0)]: { VCPU: 1 } }, { consumer_generation: 7 }),
    uuid: held(1),
  }),
  'a consumer that is gone': ({ host }) => ({
    body: consumerBody({ [host(0)]: { VCPU: 1 } }, { consumer_generation: 1 }),
  }),
  'an amount that is none': ({ host }) => bad({ [host(0)]: { VCPU: -1 } }),
};

/** A bad part of a provider in a reshape, for each reason of refusal. */
const BAD_INVENTORIES: Readonly<Record<string, (world: World) => Readonly<Record<string, object>>>> = {
  'a provider of another generation': ({ host }) => ({ [host(3)]: inventoriesAt(99, { VCPU: 100 }) }),
  'inventories of a provider that is none': () => ({ [NOWHERE]: inventoriesAt(0, { VCPU: 100 }) }),
  'inventory of a class that is none': ({ host, generation }) => ({
    [host(3)]: inventoriesAt(generation(3), { ...ALL, CUSTOM_NOWHERE: 1 }),
  }),
  'a class that is in use': ({ host, generation }) => ({ [host(2)]: inventoriesAt(generation(2), { DISK_GB: 100 }) }),
  'a total that is none': ({ host, generation }) => ({ [host(3)]: inventoriesAt(generation(3), { ...ALL, VCPU: -1 }) }),
};

/** Good parts of few units each, and the position of the bad one. */
const parts = record({
  good: array(record({ on: nat(PROVIDERS - 1), units: integer({ min: 1, max: 3 }) }), { minLength: 1, maxLength: 8 }),
  at: nat(8),
});

/** Tests that writes are atomic on one store. */
export function describeAllOrNothing(openStore: () => Promise<PlacementStore>): void {
  let world: World;
  beforeEach(async () => {
    world = await openWorld(await openStore());
  });
  afterEach(() => world.api.close());

  const isTakenOnlyWithout = async (path: string, body: (withBad: boolean) => object) => {
    const before = await contentsOf(world.store);
    const refused = await world.api.post(path, body(true));
    expect([400, 409]).toContain(refused.status);
    expect(await contentsOf(world.store)).toEqual(before);
    const taken = await world.api.post(path, body(false));
    expect({ status: taken.status, text: taken.text }).toEqual({ status: 204, text: '' });
  };

  it('POST /allocations with one bad part among many changes nothing', async () => {
    const property = asyncProperty(parts, constantFrom(...Object.keys(BAD_PARTS)), async ({ good, at }, reason) => {
      const consumers = good.map(({ on, units }): Part => [randomUUID(), aClaim(world, on, units)]);
      await isTakenOnlyWithout('/allocations', (withBad) => together(world, consumers, withBad ? reason : '', at));
    });
    await assert(
      property.beforeEach(() => world.begin()),
      { numRuns: RUNS },
    );
  });

  it('POST /reshaper with one bad part among many changes nothing', async () => {
    const reasons = [...Object.keys(BAD_PARTS), ...Object.keys(BAD_INVENTORIES)];
    const property = asyncProperty(parts, constantFrom(...reasons), async ({ good, at }, reason) => {
      const consumers = good.map(({ on, units }): Part => [randomUUID(), aClaim(world, on, units)]);
      const larger = { ...ALL, VCPU: 120, VGPU: 8 };
      const inventories = {
        [world.host(0)]: inventoriesAt(world.generation(0), larger),
        [world.host(1)]: inventoriesAt(world.generation(1), { ...larger, PCPU: 1 }),
      };
      await isTakenOnlyWithout('/reshaper', (withBad) => ({
        inventories: { ...inventories, ...(withBad ? BAD_INVENTORIES[reason]?.(world) : {}) },
        allocations: together(world, consumers, withBad ? reason : '', at),
      }));
    });
    await assert(
      property.beforeEach(() => world.begin()),
      { numRuns: RUNS },
    );
  });
}

type Part = readonly [uuid: string, body: object];

function together(
  world: World,
  consumers: readonly Part[],
  reason: string,
  at: number,
): Readonly<Record<string, object>> {
  const { uuid = randomUUID(), body } = BAD_PARTS[reason]?.(world) ?? {};
  return Object.fromEntries(
    body === undefined ? consumers : consumers.toSpliced(at % (consumers.length + 1), 0, [uuid, body]),
  );
}

/** The initial state: four providers, one with a full class, and three consumers. */
interface World {
  readonly api: Api;
  readonly store: PlacementStore;
  readonly host: (n: number) => string;
  readonly held: (n: number) => string;
  readonly generation: (n: number) => number;
  /** Resets the state, except generations. */
  readonly begin: () => Promise<void>;
}

async function openWorld(store: PlacementStore): Promise<World> {
  const api = await openApi(store);
  const uuids = Array.from({ length: PROVIDERS }, () => randomUUID());
  const consumers = Array.from({ length: HELD }, () => randomUUID());
  let contents: Contents;
  const world: World = {
    api,
    store,
    host: (n) => uuids[n] ?? '',
    held: (n) => consumers[n] ?? '',
    generation: (n) => contents.providers.find(({ uuid }) => uuid === uuids[n])?.generation ?? -1,
    begin: async () => {
      const all = (await contentsOf(store)).consumers.map(({ uuid }) => uuid);
      const gone = await Promise.all(all.map((uuid) => api.delete(`/allocations/${uuid}`)));
      expect(gone.filter(({ status }) => status !== 204)).toEqual([]);
      for (const uuid of uuids) {
        const room = inventory(100);
        const memory = inventory(100, { maxUnit: MOST_AT_ONCE });
        const inventories = { VCPU: room, MEMORY_MB: memory, DISK_GB: room, PCPU: inventory(1) };
        await mustCommit(store, {
          kind: 'write_inventories',
          providerUuid: uuid,
          generation: undefined,
          inventories,
          replace: true,
        });
      }
      for (const [n, uuid] of consumers.entries()) {
        const body = consumerBody({
          [world.host(n)]: { VCPU: 1 },
          [world.host(1)]: n === 0 ? { PCPU: 1 } : { VCPU: 1 },
        });
        expect((await api.put(`/allocations/${uuid}`, body)).status).toBe(204);
      }
      contents = await contentsOf(store);
    },
  };
  for (const uuid of uuids) {
    await mustCommit(store, { kind: 'put_provider', uuid, name: uuid, parentUuid: undefined, mode: 'create' });
  }
  return world;
}

function aClaim({ host }: World, on: number, units: number): ConsumerBody {
  return consumerBody({
    [host(on)]: { VCPU: units, MEMORY_MB: units },
    [host((on + 1) % PROVIDERS)]: { DISK_GB: units },
  });
}

function bad(amounts: Amounts): { readonly body: ConsumerBody } {
  return { body: consumerBody(amounts) };
}

function inventoriesAt(generation: number, totals: Readonly<Record<string, number>>) {
  const inventories = Object.fromEntries(
    Object.entries(totals).map(([name, total]) => [
      name,
      name === 'MEMORY_MB' ? { total, max_unit: MOST_AT_ONCE } : { total },
    ]),
  );
  return { resource_provider_generation: generation, inventories };
}
