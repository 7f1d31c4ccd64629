import { randomUUID } from 'node:crypto';
import { inventory, type Resources } from '../../domain/inventory';
import type { CommitResult, PlacementStore } from '../../placement/port/placement-store';
import { AT_MS, aProvider, aWrite, claim, commit, contentsOf, mustCommit } from './placement';

function claimTokenOf(result: CommitResult): number {
  if (result.kind !== 'committed') throw new Error(`not committed: ${JSON.stringify(result)}`);
  return result.claimToken;
}

export function describeClaims(open: () => PlacementStore): void {
  describe('claims', () => {
    let store: PlacementStore;
    beforeEach(() => {
      store = open();
    });

    const usedOf = async (uuid: string) =>
      (await contentsOf(store)).usages.find((usage) => usage.providerUuid === uuid)?.used;

    it.each([{}, { group: 'web' }])(
      'keeps the priority of a consumer, with a group and without',
      async ({ group: id }) => {
        const host = await aProvider(store);
        const member = { group: { id: id ?? '', policy: 'soft-affinity', maxPerHost: 1 }, host: 'h1' } as const;
        const rank = { priority: -7, isProtected: true };
        const ranked = aWrite({ [host]: { VCPU: 1 } }, { ...rank, ...(id ? { group: member } : {}) });
        const plain = aWrite({ [host]: { VCPU: 1 } });
        await claim(store, ranked, plain);
        const [one, other] = await store.consumers([ranked.uuid, plain.uuid]);
        expect(one).toMatchObject({ ...rank, groupId: id });
        expect(one?.groupHost).toBe(id && 'h1');
        expect(other).not.toHaveProperty('priority');
        const rows = await contentsOf(store);
        expect(rows.consumers.find(({ uuid }) => uuid === ranked.uuid)).toMatchObject(rank);
        // Writing it again, like a repeated claim, changes nothing; released, it leaves nothing.
        await claim(store, { ...ranked, expect: { kind: 'any' } });
        expect((await store.consumers([ranked.uuid]))[0]).toMatchObject({ ...rank, groupId: id });
        await claim(store, { ...ranked, allocations: {} });
        expect(await store.consumers([ranked.uuid])).toEqual([]);
      },
    );

    it('takes what fits and answers with the changed rows', async () => {
      const host = await aProvider(store);
      const write = aWrite({ [host]: { VCPU: 4, MEMORY_MB: 512 } }, { mappings: { '': [host] } });
      const result = await claim(store, write);
      const claimToken = claimTokenOf(result);
      const revision = await store.revision();
      const { expect: _, ...who } = write;
      expect(result).toEqual({
        kind: 'committed',
        change: {
          revision,
          usages: [{ providerUuid: host, generation: 2, used: { VCPU: 4, MEMORY_MB: 512 }, revision }],
          consumers: [
            {
              ...who,
              generation: 1,
              groupId: undefined,
              claimToken,
              createdAtMs: AT_MS,
              updatedAtMs: AT_MS,
              revision,
            },
          ],
        },
        claimToken,
      });
      expect(await store.consumers([write.uuid, randomUUID()])).toMatchObject([{ uuid: write.uuid, generation: 1 }]);
    });

    it('raises generations, never lowers them, and leaves what Berth places alone', async () => {
      const host = await aProvider(store);
      const own = aWrite({ [host]: { VCPU: 1 } }, { owner: 'api' });
      const placed = aWrite({ [host]: { VCPU: 1 } }, { owner: 'conductor' });
      await claim(store, own, placed);
      const raise = (generation: number) => {
        const consumers = { [own.uuid]: generation, [placed.uuid]: generation, [randomUUID()]: generation };
        const providers = { [host]: generation, [randomUUID()]: generation };
        return commit(store, { kind: 'raise_generations', providers, consumers });
      };
      const seen = async () => {
        const rows = await contentsOf(store);
        const of = (uuid: string) => rows.consumers.find((row) => row.uuid === uuid)?.generation;
        return [rows.providers.find(({ uuid }) => uuid === host)?.generation, of(own.uuid), of(placed.uuid)];
      };
      expect(await raise(41)).toMatchObject({ kind: 'committed' });
      expect(await seen()).toEqual([41, 41, 1]);
      expect(await raise(40)).toEqual({ kind: 'unchanged' });
      await claim(store, {
        ...own,
        allocations: { [host]: { VCPU: 2 } },
        expect: { kind: 'generation', generation: 41 },
      });
      expect(await seen()).toEqual([42, 42, 1]);
      expect(await usedOf(host)).toEqual({ VCPU: 3 });
    });

    it('finishes commits under way before it closes', async () => {
      const host = await aProvider(store);
      const claiming = claim(store, aWrite({ [host]: { VCPU: 4 } }));
      await store.close();
      expect((await claiming).kind).toBe('committed');
    });

    it.each([
      ['more than is left', { VCPU: 11 }, 'VCPU', 'capacity'],
      ['less than the smallest unit', { SMALL: 1 }, 'SMALL', 'min_unit'],
      ['more than the largest unit', { SMALL: 10 }, 'SMALL', 'max_unit'],
      ['what is not a multiple of the step', { SMALL: 3 }, 'SMALL', 'step_size'],
    ] as const)('refuses %s and changes nothing', async (_, resources, resourceClass, refusal) => {
      const small = inventory(100, { minUnit: 2, maxUnit: 8, stepSize: 2 });
      const host = await aProvider(store, { VCPU: inventory(10), SMALL: small });
      const before = await contentsOf(store);
      expect(await claim(store, aWrite({ [host]: resources }))).toEqual({
        kind: 'capacity',
        providerUuid: host,
        resourceClass,
        refusal,
        usage: { providerUuid: host, generation: 1, used: {}, revision: await store.revision() },
      });
      expect(await contentsOf(store)).toEqual(before);
    });

    it('refuses providers, inventories and custom classes that are not there', async () => {
      const host = await aProvider(store);
      const unknown = randomUUID();
      expect(await claim(store, aWrite({ [unknown]: { VCPU: 1 } }))).toEqual({
        kind: 'not_found',
        subject: 'provider',
        key: unknown,
      });
      expect(await claim(store, aWrite({ [host]: { DISK_GB: 1 } }))).toEqual({
        kind: 'not_found',
        subject: 'inventory',
        key: `${host} DISK_GB`,
      });
      expect(await claim(store, aWrite({ [host]: { CUSTOM_GOLD: 1 } }))).toEqual({
        kind: 'not_found',
        subject: 'resource_class',
        key: 'CUSTOM_GOLD',
      });
    });

    it('takes nothing of several consumers when one of them does not fit', async () => {
      const host = await aProvider(store);
      const before = await contentsOf(store);
      const [a, b] = [aWrite({ [host]: { VCPU: 6 } }), aWrite({ [host]: { VCPU: 5 } })];
      expect(await claim(store, a, b)).toMatchObject({ kind: 'capacity', refusal: 'capacity' });
      expect(await contentsOf(store)).toEqual(before);
    });

    it('swaps two consumers that could not move one after the other', async () => {
      const [one, two] = [await aProvider(store), await aProvider(store)];
      const [a, b] = [aWrite({ [one]: { VCPU: 10 } }), aWrite({ [two]: { VCPU: 10 } })];
      await claim(store, a, b);
      const swapped = [
        { ...a, allocations: b.allocations },
        { ...b, allocations: a.allocations },
      ];
      expect(await claim(store, ...swapped)).toMatchObject({ kind: 'committed' });
      expect(await usedOf(one)).toEqual({ VCPU: 10 });
    });

    it('releases what a consumer held before it checks its new amounts', async () => {
      const host = await aProvider(store);
      const write = aWrite({ [host]: { VCPU: 10 } });
      await claim(store, write);
      await claim(store, { ...write, allocations: { [host]: { MEMORY_MB: 10 } } });
      expect(await usedOf(host)).toEqual({ MEMORY_MB: 10 });
      expect(await store.consumers([write.uuid])).toMatchObject([{ generation: 2 }]);
    });

    it('lets an over-committed provider take what does not make it worse', async () => {
      const host = await aProvider(store);
      const [a, b] = [aWrite({ [host]: { VCPU: 6 } }), aWrite({ [host]: { VCPU: 4 } })];
      await claim(store, a, b);
      const shrink = { providerUuid: host, generation: undefined, inventories: { VCPU: inventory(3) }, replace: false };
      await mustCommit(store, { kind: 'write_inventories', ...shrink });
      const take = (write: typeof a, VCPU: number) => ({ ...write, allocations: { [host]: { VCPU } } });
      expect(await claim(store, take(a, 7))).toMatchObject({ kind: 'capacity' });
      expect(await claim(store, take(a, 6))).toMatchObject({ kind: 'committed' });
      expect(await claim(store, take(a, 5))).toMatchObject({ kind: 'committed' });
      expect(await claim(store, take(a, 4), take(b, 5))).toMatchObject({ kind: 'committed' });
      expect(await claim(store, take(a, 4), take(b, 6))).toMatchObject({ kind: 'capacity' });
    });

    it('takes what does not fit when it is forced', async () => {
      const host = await aProvider(store);
      const consumers = [aWrite({ [host]: { VCPU: 25 } })];
      expect(await commit(store, { kind: 'write_allocations', consumers, force: true })).toMatchObject({
        kind: 'committed',
      });
      expect(await usedOf(host)).toEqual({ VCPU: 25 });
    });

    it('takes by force within the total all that is reserved, and nothing above it', async () => {
      const host = await aProvider(store);
      const about = { providerUuid: host, generation: undefined, replace: false };
      await mustCommit(store, {
        kind: 'write_inventories',
        ...about,
        inventories: { VCPU: inventory(4, { reserved: 4 }) },
      });
      const healed = (VCPU: number) =>
        commit(store, {
          kind: 'write_allocations',
          consumers: [aWrite({ [host]: { VCPU } })],
          force: true,
          withinTotal: true,
        });
      expect(await healed(3)).toMatchObject({ kind: 'committed' });
      expect(await healed(2)).toMatchObject({ kind: 'capacity', providerUuid: host, refusal: 'capacity' });
      expect(await healed(1)).toMatchObject({ kind: 'committed' });
      expect(await usedOf(host)).toEqual({ VCPU: 4 });
    });

    it('takes what is forced within its total by what was sealed, where that is less', async () => {
      const host = await aProvider(store, { VCPU: inventory(100) });
      const healed = (VCPU: number, capacities: Resources) =>
        commit(store, {
          kind: 'write_allocations',
          consumers: [{ ...aWrite({ [host]: { VCPU } }), capacities }],
          force: true,
          withinTotal: true,
        });
      expect(await healed(3, { VCPU: 4 })).toMatchObject({ kind: 'committed' });
      expect(await healed(2, { VCPU: 4 })).toMatchObject({ kind: 'capacity', providerUuid: host });
      expect(await healed(2, { VCPU: 5 })).toMatchObject({ kind: 'committed' });
      expect(await healed(2, {})).toMatchObject({ kind: 'committed' });
    });

    it('guards by absence, generation and claim token', async () => {
      const host = await aProvider(store);
      const write = aWrite({ [host]: { VCPU: 1 } }, { expect: { kind: 'absent' } });
      const { uuid } = write;
      const claimToken = claimTokenOf(await claim(store, write));
      const refused = { kind: 'generation', subject: 'consumer', uuid };
      expect(await claim(store, write)).toEqual({ ...refused, present: 1 });
      const claimWith = (guard: typeof write.expect) => claim(store, { ...write, expect: guard });
      expect(await claimWith({ kind: 'generation', generation: 5 })).toEqual({ ...refused, present: 1 });
      expect(await claimWith({ kind: 'claim', claimToken: claimToken - 1 })).toEqual({
        ...refused,
        present: claimToken,
      });
      expect(await claimWith({ kind: 'claim', claimToken })).toMatchObject({ kind: 'committed' });
      expect(await claimWith({ kind: 'generation', generation: 2 })).toMatchObject({ kind: 'committed' });
      const other = aWrite({ [host]: { VCPU: 1 } }, { expect: { kind: 'generation', generation: 1 } });
      expect(await claim(store, other)).toEqual({ ...refused, uuid: other.uuid, present: undefined });
    });

    it('releases a claim once, and never a newer one', async () => {
      const host = await aProvider(store);
      const write = aWrite({ [host]: { VCPU: 3 } });
      const old = claimTokenOf(await claim(store, write));
      const present = claimTokenOf(await claim(store, write));
      const release = (claimToken: number) =>
        commit(store, { kind: 'release_claim', consumerUuid: write.uuid, claimToken });
      expect(await release(old)).toEqual({ kind: 'unchanged' });
      expect(await usedOf(host)).toEqual({ VCPU: 3 });
      const released = await release(present);
      expect(released).toMatchObject({ kind: 'committed', change: { deletedConsumers: [write.uuid] } });
      expect(await release(present)).toEqual({ kind: 'unchanged' });
      expect(await usedOf(host)).toEqual({});
      expect(await store.consumers([write.uuid])).toEqual([]);
    });

    it("neither replaces nor releases what is another project's, or another kind of consumer, by whatever guard", async () => {
      const host = await aProvider(store);
      const write = aWrite({ [host]: { VCPU: 3 } });
      const claimToken = claimTokenOf(await claim(store, write));
      const { uuid: consumerUuid, projectId } = write;
      const refused = { kind: 'owner', uuid: write.uuid, owner: 'conductor' };
      for (const wrong of [{ projectId: 'another' }, { consumerType: 'MIGRATION' }, { consumerType: undefined }]) {
        for (const guard of [{ kind: 'any' }, { kind: 'claim', claimToken }] as const) {
          const allocations = { [host]: { VCPU: 1 } };
          expect(await claim(store, { ...write, ...wrong, allocations, expect: guard })).toEqual(refused);
          expect(await claim(store, { ...write, ...wrong, allocations: {}, expect: guard })).toEqual(refused);
        }
      }
      const release = { kind: 'release_claim', consumerUuid, claimToken } as const;
      expect(await commit(store, { ...release, projectId: 'another' })).toEqual({ kind: 'unchanged' });
      expect(await commit(store, { ...release, consumerType: 'MIGRATION' })).toEqual({ kind: 'unchanged' });
      expect(await usedOf(host)).toEqual({ VCPU: 3 });
      await mustCommit(store, { ...release, projectId, consumerType: 'INSTANCE' });
      expect(await usedOf(host)).toEqual({});
    });

    it('gives each commit of a tick a claim token of its own, also to one consumer that is claimed twice', async () => {
      const host = await aProvider(store);
      const write = aWrite({ [host]: { VCPU: 3 } }, { expect: { kind: 'absent' } });
      const nothing = { ...write, allocations: {}, expect: { kind: 'any' } as const };
      const other = aWrite({ [host]: { VCPU: 1 } });
      const commits = [claim(store, write), claim(store, nothing), claim(store, write), claim(store, other)];
      const [first, released, second, last] = (await Promise.all(commits)).map(claimTokenOf);
      expect(new Set([first, released, second, last]).size).toBe(4);
      expect(await store.consumers([write.uuid])).toMatchObject([{ claimToken: second, generation: 1 }]);
      const release = { kind: 'release_claim', consumerUuid: write.uuid, claimToken: first ?? 0 } as const;
      expect(await commit(store, release)).toEqual({ kind: 'unchanged' });
      expect(await usedOf(host)).toEqual({ VCPU: 4 });
      await mustCommit(store, { ...release, claimToken: second ?? 0 });
      expect(await usedOf(host)).toEqual({ VCPU: 1 });
    });

    it('removes a consumer whose allocations are empty, without raising the generation of what it held', async () => {
      const host = await aProvider(store);
      const write = aWrite({ [host]: { VCPU: 3 } });
      await claim(store, write);
      expect(await claim(store, { ...write, allocations: {} })).toMatchObject({
        kind: 'committed',
        change: { usages: [{ generation: 2, used: {} }], deletedConsumers: [write.uuid] },
      });
      expect(await claim(store, { ...write, allocations: {} })).toEqual({ kind: 'unchanged' });
    });

    it('raises the generation of what a consumer gives back where the command says so', async () => {
      const host = await aProvider(store);
      const write = aWrite({ [host]: { VCPU: 3 } });
      await claim(store, write);
      expect(await claim(store, { ...write, allocations: {}, raisesReleased: true })).toMatchObject({
        kind: 'committed',
        change: { usages: [{ generation: 3, used: {} }], deletedConsumers: [write.uuid] },
      });
    });

    it('keeps every field of a consumer as it was', async () => {
      const host = await aProvider(store);
      const odd = { projectId: 'Ünï "x"\n{}', userId: '', consumerType: undefined, owner: 'api' as const };
      const write = aWrite({ [host]: { VCPU: 1 } }, { ...odd, mappings: { _a: [host], '': [] } });
      await claim(store, write);
      expect(await store.consumers([write.uuid])).toMatchObject([{ ...odd, mappings: write.mappings }]);
    });

    it.each([
      ['a consumer twice', (host: string) => [1, 1].map((VCPU) => aWrite({ [host]: { VCPU } }, { uuid: host }))],
      ['a broken amount', (host: string) => [aWrite({ [host]: { VCPU: 1.5 } })]],
      ['nothing as an amount', (host: string) => [aWrite({ [host]: { VCPU: 0 } })]],
    ])('throws at %s', async (_, writes) => {
      const host = await aProvider(store);
      await expect(claim(store, ...writes(host))).rejects.toMatchObject({ code: 'invalid_argument' });
    });

    it('scans every consumer', async () => {
      const host = await aProvider(store, { VCPU: inventory(100_000) });
      const writes = Array.from({ length: 1_500 }, () => aWrite({ [host]: { VCPU: 1 } }));
      await claim(store, ...writes);
      const found = new Set<string>();
      await store.scanConsumers(async (rows) => rows.forEach((row) => found.add(row.uuid)));
      expect(found).toEqual(new Set(writes.map((write) => write.uuid)));
    });
  });
}
