import type { Flavor } from '../../domain/flavor';
import type { FlavorStore } from '../../instances/flavor-store';

/** An unstored flavor; `fields` override the defaults. */
export function aFlavor(fields: Partial<Flavor> = {}): Omit<Flavor, 'version'> {
  const { version: _, ...flavor } = { version: 0, ...fields };
  return {
    name: 'm1.small',
    description: 'for "people" – übersichtlich',
    resources: { VCPU: 2, MEMORY_MB: 4_096 },
    extraSpecs: { 'hw:cpu_policy': 'dedicated', rack: '<or> r1 <or> r2' },
    createdAtMs: 1_700_000_000_000,
    updatedAtMs: 1_700_000_000_000,
    ...flavor,
  };
}

/** The contract suite of FlavorStore. `open` gives an empty store for each test, with a limit of flavors. */
export function describeFlavorStore(name: string, open: (maxFlavors?: number) => Promise<FlavorStore>): void {
  describe(`${name} flavor store`, () => {
    it('gives back what was written, under a version', async () => {
      const store = await open();
      const written = await store.writeFlavor(aFlavor(), undefined);
      const flavor = written.kind === 'written' ? written.flavor : undefined;
      expect(flavor).toEqual({ ...aFlavor(), version: expect.any(Number) });
      expect(flavor?.version).toBeGreaterThan(0);
      expect(await store.getFlavor('m1.small')).toEqual(flavor);
      expect(await store.getFlavor('other')).toBeUndefined();
    });

    it('lists all by name', async () => {
      const store = await open();
      for (const one of ['b', 'a.2', 'a']) await store.writeFlavor(aFlavor({ name: one }), undefined);
      expect((await store.listFlavors()).map((flavor) => flavor.name)).toEqual(['a', 'a.2', 'b']);
    });

    it('writes only over the version that the writer has read', async () => {
      const store = await open();
      const first = await versionOf(store.writeFlavor(aFlavor(), undefined));
      const present = await store.getFlavor('m1.small');
      expect(await store.writeFlavor(aFlavor(), undefined)).toEqual({ kind: 'other', flavor: present });
      const second = await versionOf(store.writeFlavor(aFlavor({ description: 'new' }), first));
      expect(second).toBeGreaterThan(first);
      expect(await store.writeFlavor(aFlavor(), first)).toMatchObject({
        kind: 'other',
        flavor: { description: 'new' },
      });
      expect(await store.writeFlavor(aFlavor({ name: 'none' }), first)).toEqual({ kind: 'other', flavor: undefined });
    });

    it('lets one of many who write over the same version', async () => {
      const store = await open();
      const first = await versionOf(store.writeFlavor(aFlavor(), undefined));
      const writes = await Promise.all(
        Array.from({ length: 10 }, (_, n) => store.writeFlavor(aFlavor({ description: `${n}` }), first)),
      );
      expect(writes.filter(({ kind }) => kind === 'written')).toHaveLength(1);
    });

    it('never gives a version twice, not even to a later flavor of the same name', async () => {
      const store = await open();
      const versions = [await versionOf(store.writeFlavor(aFlavor(), undefined))];
      versions.push(await versionOf(store.writeFlavor(aFlavor({ name: 'other' }), undefined)));
      expect(await store.deleteFlavor('m1.small')).toEqual({ ...aFlavor(), version: versions[0] });
      expect(await store.deleteFlavor('m1.small')).toBeUndefined();
      versions.push(await versionOf(store.writeFlavor(aFlavor(), undefined)));
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
    });

    it('takes no more flavors than its limit, and changes those that it has', async () => {
      const store = await open(2);
      const first = await versionOf(store.writeFlavor(aFlavor(), undefined));
      await store.writeFlavor(aFlavor({ name: 'b' }), undefined);
      expect(await store.writeFlavor(aFlavor({ name: 'c' }), undefined)).toEqual({ kind: 'full' });
      await versionOf(store.writeFlavor(aFlavor(), first));
    });
  });
}

async function versionOf(write: ReturnType<FlavorStore['writeFlavor']>): Promise<number> {
  const written = await write;
  if (written.kind !== 'written') throw new Error(`not written: ${JSON.stringify(written)}`);
  return written.flavor.version;
}
