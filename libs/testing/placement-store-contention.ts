import { randomUUID } from 'node:crypto';
import { inventory } from '../domain/inventory';
import type { PlacementStore } from '../placement/store';
import { aProvider, aWrite, claim, commit, contentsOf } from './placement';
import type { PlacementStoreWorld } from './placement-store-contract';

export function describeContention(world: () => PlacementStoreWorld): void {
  describe('under contention', () => {
    let clients: PlacementStore[];
    beforeEach(async () => {
      const present = world();
      clients = [present.store, await present.another(), await present.another(), await present.another()];
    });

    const client = (n: number) => clients[n % clients.length] as PlacementStore;

    it('gives out exactly what there is', async () => {
      const host = await aProvider(client(0), { VCPU: inventory(10) });
      const results = await Promise.all(
        Array.from({ length: 64 }, (_, n) => claim(client(n), aWrite({ [host]: { VCPU: 1 } }))),
      );
      expect(results.filter((result) => result.kind === 'committed')).toHaveLength(10);
      expect(results.filter((result) => result.kind === 'capacity')).toHaveLength(54);
      expect((await contentsOf(client(0))).usages).toMatchObject([{ used: { VCPU: 10 } }]);
    });

    it('lets everyone through who creates something of its own in the same tree', async () => {
      const root = await aProvider(client(0), {});
      const children = await Promise.all(Array.from({ length: 12 }, (_, n) => aProvider(client(n), {}, root)));
      for (const uuid of children)
        expect(await commit(client(0), { kind: 'delete_provider', uuid })).toMatchObject({ kind: 'committed' });
      expect(await commit(client(0), { kind: 'delete_provider', uuid: root })).toMatchObject({ kind: 'committed' });
    });

    it('lets one of many have a name', async () => {
      const results = await Promise.all(
        Array.from({ length: 12 }, (_, n) =>
          commit(client(n), {
            kind: 'put_provider',
            uuid: randomUUID(),
            name: 'same',
            parentUuid: undefined,
            mode: 'create',
          }),
        ),
      );
      expect(results.filter((result) => result.kind === 'committed')).toHaveLength(1);
    });

    it('never leaves a child without its parent', async () => {
      for (let round = 0; round < 10; round++) {
        const root = await aProvider(client(0), {});
        const child = randomUUID();
        const create = { uuid: child, name: child, parentUuid: root, mode: 'create' } as const;
        await Promise.all([
          commit(client(1), { kind: 'put_provider', ...create }),
          commit(client(2), { kind: 'delete_provider', uuid: root }),
        ]);
        const { providers } = await contentsOf(client(0));
        const uuids = new Set(providers.map((provider) => provider.uuid));
        expect(uuids.has(root)).toBe(uuids.has(child));
      }
    });

    it('never lets inventory go that somebody just claimed', async () => {
      for (let round = 0; round < 10; round++) {
        const host = await aProvider(client(0), { VCPU: inventory(1) });
        const empty = { providerUuid: host, generation: undefined, inventories: {}, replace: true } as const;
        const [claimed, removed] = await Promise.all([
          claim(client(1), aWrite({ [host]: { VCPU: 1 } })),
          commit(client(2), { kind: 'write_inventories', ...empty }),
        ]);
        expect([claimed.kind, removed.kind].filter((kind) => kind === 'committed')).toHaveLength(1);
      }
    });
  });
}
