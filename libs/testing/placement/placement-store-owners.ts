import type { ConsumerOwner } from '../../domain/consumer';
import type { ConsumerWrite, PlacementStore } from '../../placement/port/placement-store';
import { aProvider, aWrite, claim, commit, contentsOf } from './placement';

export function describeOwners(open: () => PlacementStore): void {
  describe('owners', () => {
    let store: PlacementStore;
    let provider: string;
    beforeEach(async () => {
      store = open();
      provider = await aProvider(store);
    });

    const heldBy = async (owner: ConsumerOwner): Promise<ConsumerWrite> => {
      const write = aWrite({ [provider]: { VCPU: 2 } }, { owner });
      expect(await claim(store, write)).toMatchObject({ kind: 'committed' });
      return write;
    };

    it.each([
      ['conductor', 'api'],
      ['api', 'conductor'],
    ] as const)('refuses whoever would replace, move or remove what the owner %s holds', async (owner, other) => {
      const held = await heldBy(owner);
      const { uuid } = held;
      const elsewhere = await aProvider(store);
      const before = await contentsOf(store);
      const writes = [
        { allocations: { [provider]: { VCPU: 1 } } },
        { allocations: { [elsewhere]: { VCPU: 1 } } },
        { allocations: {} },
        { allocations: {}, expect: { kind: 'generation', generation: 1 } as const },
        { allocations: { [provider]: { VCPU: 1 } }, expect: { kind: 'absent' } as const },
      ];
      for (const write of writes) {
        const foreign = aWrite(write.allocations, { ...write, uuid, owner: other });
        expect(await claim(store, foreign)).toEqual({ kind: 'owner', uuid, owner });
        const forced = { kind: 'write_allocations', consumers: [foreign], force: true } as const;
        expect(await commit(store, forced)).toEqual({ kind: 'owner', uuid, owner });
        const reshape = { kind: 'reshape', inventories: [], consumers: [foreign] } as const;
        expect(await commit(store, reshape)).toEqual({ kind: 'owner', uuid, owner });
      }
      expect(await contentsOf(store)).toEqual(before);
    });

    it('takes nothing of a command that writes somebody else among others', async () => {
      const held = await heldBy('api');
      const before = await contentsOf(store);
      const mine = aWrite({ [provider]: { VCPU: 1 } });
      const foreign = aWrite({ [provider]: { VCPU: 1 } }, { uuid: held.uuid });
      expect(await claim(store, mine, foreign)).toMatchObject({ kind: 'owner', uuid: held.uuid });
      expect(await contentsOf(store)).toEqual(before);
    });

    it('releases no claim of a client of the API, whatever token is shown', async () => {
      const { uuid } = await heldBy('api');
      const before = await contentsOf(store);
      const claimToken = before.consumers[0]?.claimToken ?? 0;
      expect(await commit(store, { kind: 'release_claim', consumerUuid: uuid, claimToken })).toEqual({
        kind: 'unchanged',
      });
      expect(await contentsOf(store)).toEqual(before);
    });

    it('gives a uuid to another owner once nothing is held under it', async () => {
      const held = await heldBy('api');
      await claim(store, { ...held, allocations: {} });
      expect(await claim(store, { ...held, owner: 'conductor' })).toMatchObject({ kind: 'committed' });
      const commits = [
        { ...held, owner: 'conductor' as const, allocations: {} },
        held,
        { ...held, owner: 'conductor' as const },
      ].map((write) => claim(store, write));
      const kinds = (await Promise.all(commits)).map(({ kind }) => kind);
      expect(kinds).toEqual(['committed', 'committed', 'owner']);
    });
  });
}
