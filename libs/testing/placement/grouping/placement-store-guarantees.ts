import { type Guarantee, MAX_GUARANTEES } from '../../../domain/grouping/guarantee';
import type { PlacementStore } from '../../../placement/port/placement-store';
import { aProvider, aWrite, commit, contentsOf, mustCommit } from '../placement';

export function describeGuarantees(open: () => PlacementStore): void {
  describe('guarantees', () => {
    let store: PlacementStore;
    beforeEach(() => {
      store = open();
    });

    const aRack: Omit<Guarantee, 'updatedAtMs'> = {
      name: '1-rack',
      lose: 'rack',
      count: 1,
      aggregate: '',
      minPriority: 0,
      policy: 'refuse',
    };
    const write = (guarantee: Omit<Guarantee, 'updatedAtMs'>) => commit(store, { kind: 'write_guarantee', guarantee });
    const shown = async () => (await contentsOf(store)).guarantees.map(({ revision: _revision, ...one }) => one);

    it('are kept by name, and shown to every reader', async () => {
      const change = await mustCommit(store, { kind: 'write_guarantee', guarantee: aRack });
      expect(change.guarantees).toMatchObject([{ ...aRack, revision: change.revision }]);
      await write({ ...aRack, name: 'gold', aggregate: 'gold hosts', minPriority: 5, policy: 'flag' });
      await write({ ...aRack, count: 2 });
      expect(await shown()).toMatchObject([
        { ...aRack, count: 2 },
        { name: 'gold', minPriority: 5 },
      ]);
    });

    it('end by name', async () => {
      await write(aRack);
      const change = await mustCommit(store, { kind: 'delete_guarantee', name: '1-rack' });
      expect(change.deletedGuarantees).toEqual(['1-rack']);
      expect(await shown()).toEqual([]);
      expect(await commit(store, { kind: 'delete_guarantee', name: '1-rack' })).toMatchObject({ kind: 'not_found' });
    });

    it('are admitted under by one at a time: a claim of a turn that is over is refused, and so is a turn that another has just taken', async () => {
      const provider = await aProvider(store);
      const take = (by: string, atMs: number) => commit(store, { kind: 'take_admission_turn', by, holdMs: 50, atMs });
      const claim = (admissionTurn: number) => {
        const consumers = [aWrite({ [provider]: { VCPU: 1 } })];
        return commit(store, { kind: 'write_allocations', consumers, admissionTurn });
      };
      const first = await mustCommit(store, { kind: 'take_admission_turn', by: 'one', holdMs: 50, atMs: 1_000 });
      expect(first.admissionTurns).toEqual([{ by: 'one', takenAtMs: 1_000, holdMs: 50, revision: first.revision }]);
      expect(await take('one', 1_010)).toEqual({ kind: 'unchanged' });
      expect(await take('other', 1_049)).toMatchObject({ kind: 'exists', subject: 'admission_turn' });
      expect(await Promise.all([claim(first.revision), claim(first.revision)])).toMatchObject([
        { kind: 'committed' },
        { kind: 'committed' },
      ]);
      const second = await mustCommit(store, { kind: 'take_admission_turn', by: 'other', holdMs: 50, atMs: 1_050 });
      expect(await Promise.all([claim(first.revision), claim(second.revision)])).toMatchObject([
        { kind: 'stale', present: second.revision },
        { kind: 'committed' },
      ]);
      expect(await claim(first.revision)).toEqual({ kind: 'stale', present: second.revision });
      expect((await contentsOf(store)).admissionTurns).toEqual(second.admissionTurns);
    });

    it('may be admitted under by another at once when clocks do not agree', async () => {
      await mustCommit(store, { kind: 'take_admission_turn', by: 'ahead', holdMs: 50, atMs: 3_600_000 });
      await mustCommit(store, { kind: 'take_admission_turn', by: 'other', holdMs: 50, atMs: 1_000 });
    });

    it('refuse a claim of a turn that the store has forgotten', async () => {
      const consumers = [aWrite({ [await aProvider(store)]: { VCPU: 1 } })];
      expect(await commit(store, { kind: 'write_allocations', consumers, admissionTurn: 7 })).toEqual({
        kind: 'stale',
        present: 0,
      });
    });

    it('are so many at most, whatever is written again', async () => {
      for (let n = 0; n < MAX_GUARANTEES; n++) await write({ ...aRack, name: `g${n}` });
      expect(await write({ ...aRack, name: 'more' })).toMatchObject({ kind: 'full', most: MAX_GUARANTEES });
      expect(await write({ ...aRack, name: 'g0', count: 3 })).toMatchObject({ kind: 'committed' });
      await mustCommit(store, { kind: 'delete_guarantee', name: 'g1' });
      expect(await write({ ...aRack, name: 'more' })).toMatchObject({ kind: 'committed' });
    });
  });
}
