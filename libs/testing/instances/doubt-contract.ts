import { randomUUID } from 'node:crypto';
import { DOUBT_BOUNDS, type FoundDoubt } from '../../instances/doubts';
import type { InstanceStore } from '../../instances/store';

/** The contract suite of DoubtStore. `open` gives an empty store for each test. */
export function describeDoubtStore(name: string, open: () => Promise<InstanceStore>): void {
  describe(`${name} doubt store`, () => {
    let store: InstanceStore;

    beforeEach(async () => {
      store = await open();
    });

    afterEach(() => store.close());

    const aDoubt = (fields: Partial<FoundDoubt> = {}): FoundDoubt => ({
      instanceUuid: randomUUID(),
      host: 'h1',
      finding: 'stray',
      message: 'Ünïcode "quoted"\nline 1 2',
      evidence: Uint8Array.of(0, 10, 32, 255),
      seenAtMs: 1_700_000_000_000,
      ...fields,
    });

    it('keeps a doubt as it was, and since when it is there', async () => {
      const doubt = aDoubt();
      await store.noteDoubt(doubt);
      await store.noteDoubt({ ...doubt, seenAtMs: 1_700_000_005_000, message: 'again' });
      expect(await store.listDoubts()).toEqual([
        { ...doubt, sinceMs: 1_700_000_000_000, seenAtMs: 1_700_000_005_000, message: 'again' },
      ]);
    });

    it('tells hosts, instances and findings apart, longest first', async () => {
      const first = aDoubt({ instanceUuid: '', finding: 'host_refused', evidence: new Uint8Array() });
      const others = [{ ...first, host: 'h2' }, { ...first, finding: 'stray' }, aDoubt()];
      for (const [n, doubt] of [first, ...others].entries()) await store.noteDoubt({ ...doubt, seenAtMs: 10 - n });
      expect((await store.listDoubts()).map(({ sinceMs }) => sinceMs)).toEqual([7, 8, 9, 10]);
    });

    it('gives those that are named', async () => {
      const [first, other] = [aDoubt(), aDoubt({ host: 'h2' })];
      for (const doubt of [first, other, aDoubt()]) await store.noteDoubt(doubt);
      const names = [other, { ...first, host: 'h2' }, first];
      const since = { sinceMs: first.seenAtMs };
      expect(await store.getDoubts(names)).toEqual([
        { ...other, ...since },
        { ...first, ...since },
      ]);
      expect(await store.getDoubts([])).toEqual([]);
    });

    it('removes what is settled, unless it was seen later', async () => {
      const doubt = aDoubt();
      await store.noteDoubt(doubt);
      const [listed] = await store.listDoubts();
      if (!listed) throw new Error('no doubt');
      await store.noteDoubt({ ...doubt, seenAtMs: doubt.seenAtMs + 1 });
      await store.settleDoubt(listed);
      expect(await store.listDoubts()).toHaveLength(1);
      await store.settleDoubt({ ...listed, seenAtMs: doubt.seenAtMs + 1 });
      expect(await store.listDoubts()).toEqual([]);
    });

    const { said, recorded } = DOUBT_BOUNDS;
    const note = (doubts: readonly FoundDoubt[]) => Promise.all(doubts.map((doubt) => store.noteDoubt(doubt)));
    const several = (count: number, fields: (n: number) => Partial<FoundDoubt>) =>
      Array.from({ length: count }, (_, n) => aDoubt(fields(n)));

    it('keeps so many of one source and no more, and goes on with those', async () => {
      const noted = await note(several(said.maxOfSource + 1, (n) => ({ source: 'h1', host: `h1-${n}` })));
      expect(noted.filter(Boolean)).toHaveLength(said.maxOfSource);
      const [first] = await store.listDoubts();
      if (!first) throw new Error('no doubt');
      expect(await store.noteDoubt({ ...first, seenAtMs: first.seenAtMs + 1 })).toBe(true);
      expect((await store.listDoubts()).filter(({ seenAtMs }) => seenAtMs > first.seenAtMs)).toHaveLength(1);
      expect(await store.noteDoubt(aDoubt({ host: 'h1', source: 'h1' }))).toBe(false);
      expect(await store.noteDoubt(aDoubt({ host: 'h2' }))).toBe(true);
    });

    it('keeps so many of a kind and no more, and what records show apart from what agents say', async () => {
      await note(several(said.max + 1, (n) => ({ host: `h${n}` })));
      expect(await store.listDoubts()).toHaveLength(said.max);
      expect(await store.noteDoubt(aDoubt({ host: 'h1', finding: 'destroy_owed' }))).toBe(true);
      await note(several(recorded.maxOfSource, () => ({ host: 'h1', finding: 'destroy_owed' })));
      expect(await store.noteDoubt(aDoubt({ host: 'h1', finding: 'destroy_owed' }))).toBe(false);
      expect(await store.noteDoubt(aDoubt({ host: 'h2', finding: 'destroy_owed' }))).toBe(true);
    });

    it('has room again for what is noted once as much is settled, whoever says it then', async () => {
      const doubts = several(said.maxOfSource, () => ({ source: 'agent' }));
      await note(doubts);
      await note(doubts.map((doubt) => ({ ...doubt, source: 'another' })));
      for (const doubt of await store.listDoubts()) await store.settleDoubt(doubt);
      expect((await note(several(said.maxOfSource + 1, () => ({ source: 'agent' })))).filter(Boolean)).toHaveLength(
        said.maxOfSource,
      );
    });
  });
}
