import { randomUUID } from 'node:crypto';
import { inventory } from '../../domain/inventory';
import type { ConsumerWrite, PlacementStore } from '../../placement/port/placement-store';
import type { PlacementStoreWorld } from './placement';
import { aProvider, aWrite, claim, commit, contentsOf, mustCommit } from './placement';
import { claimWithin, setQuota } from './projects/placement-store-quotas';

export function describeContention(world: () => PlacementStoreWorld): void {
  describe('under contention', () => {
    let clients: PlacementStore[];
    beforeEach(async () => {
      const present = world();
      clients = [present.store, await present.another(), await present.another(), await present.another()];
    });

    const client = (n: number) => clients[n % clients.length] as PlacementStore;

    it.each([2, 4, 16, 64])('gives out exactly what there is to %i claimants, every time', async (claimants) => {
      for (let round = 0; round < 25; round++) {
        const host = await aProvider(client(0), { VCPU: inventory(10) });
        let claimed = 0;
        const claimant = async (n: number) => {
          for (let tries = 0; tries < Math.ceil(16 / claimants); tries++) {
            const result = await claim(client(n), aWrite({ [host]: { VCPU: 1 } }));
            if (result.kind === 'committed') claimed++;
            else expect(result).toMatchObject({ kind: 'capacity', usage: { used: { VCPU: 10 } } });
          }
        };
        await Promise.all(Array.from({ length: claimants }, (_, n) => claimant(n)));
        expect(claimed).toBe(10);
        const { usages } = await contentsOf(client(0));
        expect(usages.find((usage) => usage.providerUuid === host)?.used).toEqual({ VCPU: 10 });
      }
    });

    it('lends what a cohort has, and no more, to members that claim and give back at once', async () => {
      const projects = ['a', 'b', 'c'];
      for (const projectId of projects) await setQuota(client(0), projectId, { limits: { VCPU: 4 }, cohort: 'cohort' });
      const host = await aProvider(client(0), { VCPU: inventory(1_000) });
      const held: ConsumerWrite[] = [];
      const claimant = async (n: number) => {
        for (let tries = 0; tries < 6; tries++) {
          const write = aWrite({ [host]: { VCPU: 1 } }, { projectId: projects[n % projects.length] as string });
          const result = await claimWithin(client(n), write);
          if (result.kind === 'committed') held.push(write);
          else expect(result).toMatchObject({ kind: 'quota', excess: [{ scope: 'cohort', limit: 12 }] });
          const given = tries % 3 === 2 ? held.shift() : undefined;
          if (given)
            await mustCommit(client(n), { kind: 'write_allocations', consumers: [{ ...given, allocations: {} }] });
          // Each of them is held until its release begins.
          expect(held.length).toBeLessThanOrEqual(12);
        }
      };
      await Promise.all(Array.from({ length: 16 }, (_, n) => claimant(n)));
      // Nobody else claims any more: what is left goes to the first who asks.
      const left = 12 - held.length;
      for (let n = 0; n <= left; n++) {
        const result = await claimWithin(client(n), aWrite({ [host]: { VCPU: 1 } }, { projectId: 'a' }));
        expect(result.kind).toBe(n < left ? 'committed' : 'quota');
      }
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

    it('never removes inventory that was just claimed', async () => {
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
