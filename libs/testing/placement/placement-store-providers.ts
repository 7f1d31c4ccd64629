import { randomUUID } from 'node:crypto';
import { type Inventories, inventory } from '../../domain/inventory';
import type { PlacementStore } from '../../placement/port/placement-store';
import { aProvider, aWrite, claim, commit, contentsOf, mustCommit } from './placement';

export function describeProviders(open: () => PlacementStore): void {
  let store: PlacementStore;
  beforeEach(() => {
    store = open();
  });

  const providerOf = async (uuid: string) => (await contentsOf(store)).providers.find((row) => row.uuid === uuid);
  const put = (uuid: string, name: string, parentUuid?: string, mode: 'create' | 'update' = 'create') =>
    commit(store, { kind: 'put_provider', uuid, name, parentUuid, mode });
  const writeInventories = (uuid: string, inventories: Inventories, generation?: number, replace = true) =>
    commit(store, { kind: 'write_inventories', providerUuid: uuid, generation, inventories, replace });
  const committed = expect.objectContaining({ kind: 'committed' });

  describe('provider trees', () => {
    it('creates roots and children, with a name and a uuid that nobody else has', async () => {
      const [root, child, other] = [randomUUID(), randomUUID(), randomUUID()];
      expect(await put(root, 'root')).toEqual(committed);
      expect(await put(child, 'child', root)).toEqual(committed);
      expect(await providerOf(child)).toMatchObject({ parentUuid: root, rootUuid: root, generation: 0 });
      expect(await put(root, 'other')).toEqual({ kind: 'exists', subject: 'provider', key: root });
      expect(await put(other, 'root')).toEqual({ kind: 'exists', subject: 'provider', key: 'root' });
      expect(await put(other, 'other', other)).toEqual({ kind: 'not_found', subject: 'parent', key: other });
    });

    it('renames without raising the generation, and frees the old name', async () => {
      const uuid = await aProvider(store);
      expect(await put(uuid, 'new', undefined, 'update')).toEqual(committed);
      expect(await providerOf(uuid)).toMatchObject({ name: 'new', generation: 1 });
      expect(await put(randomUUID(), `provider-${uuid}`)).toEqual(committed);
      expect(await put(randomUUID(), 'x', undefined, 'update')).toMatchObject({ kind: 'not_found' });
    });

    it('moves a whole subtree to another root, and back to one of its own', async () => {
      const a = await aProvider(store, {});
      const b = await aProvider(store, {}, a);
      const c = await aProvider(store, {}, b);
      const d = await aProvider(store, {});
      expect(await put(b, 'b', d, 'update')).toEqual(committed);
      expect(await providerOf(c)).toMatchObject({ rootUuid: d, parentUuid: b });
      expect(await commit(store, { kind: 'delete_provider', uuid: a })).toEqual(committed);
      expect(await commit(store, { kind: 'delete_provider', uuid: d })).toMatchObject({ by: 'children' });
      expect(await put(b, 'b', undefined, 'update')).toEqual(committed);
      expect(await providerOf(c)).toMatchObject({ rootUuid: b });
      expect(await commit(store, { kind: 'delete_provider', uuid: d })).toEqual(committed);
    });

    it('refuses a parent that is below the provider, or the provider itself', async () => {
      const a = await aProvider(store, {});
      const b = await aProvider(store, {}, a);
      const c = await aProvider(store, {}, b);
      const cycle = (key: string) => ({ kind: 'in_use', subject: 'parent', key, by: 'children' });
      expect(await put(a, 'a', c, 'update')).toEqual(cycle(c));
      expect(await put(a, 'a', a, 'update')).toEqual(cycle(a));
    });

    it('does not delete what has children or allocations', async () => {
      const root = await aProvider(store);
      const child = await aProvider(store, { VCPU: inventory(1) }, root);
      const write = aWrite({ [child]: { VCPU: 1 } });
      await claim(store, write);
      const remove = (uuid: string) => commit(store, { kind: 'delete_provider', uuid });
      const inUse = { kind: 'in_use', subject: 'provider' };
      expect(await remove(root)).toEqual({ ...inUse, key: root, by: 'children' });
      expect(await remove(child)).toEqual({ ...inUse, key: child, by: 'allocations' });
      await claim(store, { ...write, allocations: {} });
      expect(await remove(child)).toMatchObject({ kind: 'committed', change: { deletedProviders: [child] } });
      expect(await remove(root)).toEqual(committed);
      expect(await remove(root)).toEqual({ kind: 'not_found', subject: 'provider', key: root });
      expect((await contentsOf(store)).usages).toEqual([]);
    });
  });

  describe('inventories, traits and aggregates', () => {
    it('replaces, adds and removes inventories, raising the generation each time', async () => {
      const uuid = await aProvider(store, { VCPU: inventory(4) });
      expect(await writeInventories(uuid, { DISK_GB: inventory(9, { allocationRatio: 1 / 3 }) }, 1, false)).toEqual(
        committed,
      );
      expect(await providerOf(uuid)).toMatchObject({
        generation: 2,
        inventories: { VCPU: inventory(4), DISK_GB: inventory(9, { allocationRatio: 1 / 3 }) },
      });
      expect(await writeInventories(uuid, {}, 1)).toEqual({
        kind: 'generation',
        subject: 'provider',
        uuid,
        present: 2,
      });
      const removal = { providerUuid: uuid, generation: 2, inventories: {}, replace: false } as const;
      const remove = (resourceClass: string) =>
        commit(store, { kind: 'write_inventories', ...removal, remove: [resourceClass] });
      expect(await remove('VCPU')).toEqual(committed);
      expect((await providerOf(uuid))?.inventories).toEqual({ DISK_GB: inventory(9, { allocationRatio: 1 / 3 }) });
    });

    it('keeps an inventory in use, and takes a total below what is used', async () => {
      const uuid = await aProvider(store, { VCPU: inventory(4), DISK_GB: inventory(4) });
      await claim(store, aWrite({ [uuid]: { VCPU: 3 } }));
      const inUse = { kind: 'in_use', subject: 'inventory', key: 'VCPU', by: 'allocations' };
      expect(await writeInventories(uuid, { DISK_GB: inventory(4) })).toEqual(inUse);
      expect(await writeInventories(uuid, { VCPU: inventory(1) })).toEqual(committed);
    });

    it('guards traits and aggregates by the generation, and aggregates without one not at all', async () => {
      const uuid = await aProvider(store, {});
      const traits = (generation: number | undefined) =>
        commit(store, { kind: 'write_traits', providerUuid: uuid, generation, traits: ['HW_CPU_X86_AVX'] });
      const aggregates = (generation: number | undefined) =>
        commit(store, { kind: 'write_aggregates', providerUuid: uuid, generation, aggregates: ['agg-1'] });
      expect(await traits(7)).toMatchObject({ kind: 'generation', present: 0 });
      expect(await traits(0)).toEqual(committed);
      expect(await aggregates(0)).toMatchObject({ kind: 'generation', present: 1 });
      expect(await aggregates(1)).toEqual(committed);
      expect(await aggregates(undefined)).toEqual(committed);
      expect(await providerOf(uuid)).toMatchObject({
        generation: 2,
        traits: ['HW_CPU_X86_AVX'],
        aggregates: ['agg-1'],
      });
    });
  });

  describe('the catalogue', () => {
    const name = (kind: 'create_name' | 'delete_name', catalogue: 'resource_class' | 'trait', text: string) =>
      commit(store, { kind, catalogue, name: text });

    it('refuses custom names that were not created', async () => {
      const uuid = await aProvider(store, {});
      const missing = { kind: 'not_found', subject: 'resource_class', key: 'CUSTOM_GOLD' };
      expect(await writeInventories(uuid, { CUSTOM_GOLD: inventory(1) })).toEqual(missing);
      await name('create_name', 'resource_class', 'CUSTOM_GOLD');
      expect(await writeInventories(uuid, { CUSTOM_GOLD: inventory(1) })).toEqual(committed);
      const write = { providerUuid: uuid, generation: undefined, traits: ['CUSTOM_FAST'] };
      expect(await commit(store, { kind: 'write_traits', ...write })).toMatchObject({ subject: 'trait' });
    });

    it('deletes a name when nobody uses it', async () => {
      const uuid = await aProvider(store, {});
      await name('create_name', 'resource_class', 'CUSTOM_GOLD');
      await name('create_name', 'trait', 'CUSTOM_FAST');
      expect(await name('create_name', 'trait', 'CUSTOM_FAST')).toMatchObject({ kind: 'exists' });
      await writeInventories(uuid, { CUSTOM_GOLD: inventory(1) });
      const write = { providerUuid: uuid, generation: undefined, traits: ['CUSTOM_FAST'] };
      await mustCommit(store, { kind: 'write_traits', ...write });
      expect(await name('delete_name', 'resource_class', 'CUSTOM_GOLD')).toMatchObject({ by: 'inventories' });
      expect(await name('delete_name', 'trait', 'CUSTOM_FAST')).toMatchObject({ by: 'providers' });
      await writeInventories(uuid, {});
      await commit(store, { kind: 'delete_provider', uuid });
      expect(await name('delete_name', 'resource_class', 'CUSTOM_GOLD')).toEqual(committed);
      expect(await name('delete_name', 'trait', 'CUSTOM_FAST')).toEqual(committed);
      expect(await name('delete_name', 'trait', 'CUSTOM_FAST')).toMatchObject({ kind: 'not_found' });
    });

    it('renames a class wherever it stands', async () => {
      await name('create_name', 'resource_class', 'CUSTOM_GOLD');
      const uuid = await aProvider(store, { CUSTOM_GOLD: inventory(3) });
      const write = aWrite({ [uuid]: { CUSTOM_GOLD: 2 } });
      const claimed = await claim(store, write);
      const claimToken = claimed.kind === 'committed' ? claimed.claimToken : 0;
      const rename = { kind: 'rename_class', name: 'CUSTOM_GOLD', newName: 'CUSTOM_SILVER' } as const;
      expect(await commit(store, rename)).toEqual(committed);
      expect(await contentsOf(store)).toMatchObject({
        providers: [{ inventories: { CUSTOM_SILVER: inventory(3) } }],
        usages: [{ used: { CUSTOM_SILVER: 2 } }],
        consumers: [{ allocations: { [uuid]: { CUSTOM_SILVER: 2 } }, claimToken }],
        resourceClasses: [{ name: 'CUSTOM_SILVER' }],
      });
      expect(await name('delete_name', 'resource_class', 'CUSTOM_SILVER')).toMatchObject({ kind: 'in_use' });
      const release = { kind: 'release_claim', consumerUuid: write.uuid, claimToken } as const;
      expect(await commit(store, release)).toEqual(committed);
    });

    it.each(['CUSTOM_SILVER', 'VCPU'])('gives no class the name of another: %s', async (newName) => {
      for (const custom of ['CUSTOM_GOLD', 'CUSTOM_SILVER']) await name('create_name', 'resource_class', custom);
      const rename = { kind: 'rename_class', name: 'CUSTOM_GOLD', newName } as const;
      expect(await commit(store, rename)).toEqual({ kind: 'exists', subject: 'resource_class', key: newName });
    });
  });

  describe('reshape', () => {
    it('moves inventory and what is allocated of it to a child in one step', async () => {
      const root = await aProvider(store, { VCPU: inventory(4), VGPU: inventory(2) });
      const child = await aProvider(store, {}, root);
      const write = aWrite({ [root]: { VCPU: 1, VGPU: 2 } });
      await claim(store, write);
      const inventories = [
        { providerUuid: root, generation: 2, inventories: { VCPU: inventory(4) } },
        { providerUuid: child, generation: 0, inventories: { VGPU: inventory(2) } },
      ];
      expect(await commit(store, { kind: 'reshape', inventories, consumers: [] })).toEqual({
        kind: 'in_use',
        subject: 'inventory',
        key: 'VGPU',
        by: 'allocations',
      });
      const consumers = [{ ...write, allocations: { [root]: { VCPU: 1 }, [child]: { VGPU: 2 } } }];
      const reshaped = await commit(store, { kind: 'reshape', inventories, consumers });
      const claimToken = reshaped.kind === 'committed' ? reshaped.claimToken : 0;
      expect(await providerOf(root)).toMatchObject({ generation: 5, inventories: { VCPU: inventory(4) } });
      expect(await providerOf(child)).toMatchObject({ generation: 3 });
      expect((await contentsOf(store)).consumers).toMatchObject([{ generation: 2, claimToken }]);
      expect(await commit(store, { kind: 'reshape', inventories, consumers })).toMatchObject({ kind: 'generation' });
    });

    it('finds a class in use that goes and is taken in the same step', async () => {
      const root = await aProvider(store, { VCPU: inventory(4), VGPU: inventory(2) });
      const inventories = [{ providerUuid: root, generation: 1, inventories: { VCPU: inventory(4) } }];
      const consumers = [aWrite({ [root]: { VGPU: 1 } })];
      expect(await commit(store, { kind: 'reshape', inventories, consumers })).toMatchObject({
        kind: 'in_use',
        key: 'VGPU',
      });
    });

    it('raises the generation of a provider that is to have nothing by one', async () => {
      const root = await aProvider(store, { VCPU: inventory(4) });
      const inventories = [{ providerUuid: root, generation: 1, inventories: {} }];
      await mustCommit(store, { kind: 'reshape', inventories, consumers: [] });
      expect(await providerOf(root)).toMatchObject({ generation: 2, inventories: {} });
    });
  });
}
