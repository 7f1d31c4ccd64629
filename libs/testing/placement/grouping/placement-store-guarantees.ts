import { type Guarantee, MAX_GUARANTEES } from '../../../domain/grouping/guarantee';
import type { PlacementStore } from '../../../placement/port/placement-store';
import { commit, contentsOf, mustCommit } from '../placement';

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

    it('are so many at most, whatever is written again', async () => {
      for (let n = 0; n < MAX_GUARANTEES; n++) await write({ ...aRack, name: `g${n}` });
      expect(await write({ ...aRack, name: 'more' })).toMatchObject({ kind: 'full', most: MAX_GUARANTEES });
      expect(await write({ ...aRack, name: 'g0', count: 3 })).toMatchObject({ kind: 'committed' });
      await mustCommit(store, { kind: 'delete_guarantee', name: 'g1' });
      expect(await write({ ...aRack, name: 'more' })).toMatchObject({ kind: 'committed' });
    });
  });
}
