import type { ConsumerOwner } from '../../domain/consumer';
import type { GroupPolicy } from '../../domain/server-group';
import type { ConsumerWrite, PlacementStore } from '../../placement/port/placement-store';
import { aProvider, aWrite, claim, commit, contentsOf } from './placement';

export function describeGroups(open: () => PlacementStore): void {
  describe('server groups', () => {
    let store: PlacementStore;
    let provider: string;
    beforeEach(async () => {
      store = open();
      provider = await aProvider(store);
    });

    const member = (policy: GroupPolicy, host: string, maxPerHost = 1) =>
      aWrite({ [provider]: { VCPU: 1 } }, { group: { group: { id: 'g1', policy, maxPerHost }, host } });
    const refused = (host: string) => ({ kind: 'group', groupId: 'g1', host });
    const committed = expect.objectContaining({ kind: 'committed' });

    it('keeps an affinity group on one host', async () => {
      expect(await claim(store, member('affinity', 'a'))).toEqual(committed);
      expect(await claim(store, member('affinity', 'b'))).toEqual(refused('b'));
      expect(await claim(store, member('affinity', 'a'))).toEqual(committed);
    });

    it('keeps members of an anti-affinity group apart, up to a number on one host', async () => {
      expect(await claim(store, member('anti-affinity', 'a', 2))).toEqual(committed);
      expect(await claim(store, member('anti-affinity', 'a', 2))).toEqual(committed);
      expect(await claim(store, member('anti-affinity', 'a', 2))).toEqual(refused('a'));
      expect(await claim(store, member('anti-affinity', 'b', 2))).toEqual(committed);
    });

    it('counts members of the same command', async () => {
      expect(await claim(store, member('anti-affinity', 'a'), member('anti-affinity', 'a'))).toEqual(refused('a'));
      expect(await claim(store, member('affinity', 'a'), member('affinity', 'b'))).toEqual(refused('b'));
      expect(await claim(store, member('anti-affinity', 'a'), member('anti-affinity', 'b'))).toEqual(committed);
    });

    it('lets an affinity group that is on two hosts grow on either, and nowhere else', async () => {
      const consumers = [member('affinity', 'a'), member('affinity', 'b')];
      await commit(store, { kind: 'write_allocations', consumers, force: true });
      expect(await claim(store, member('affinity', 'c'))).toEqual(refused('c'));
      expect(await claim(store, member('affinity', 'a'))).toEqual(committed);
      expect(await claim(store, member('affinity', 'b'))).toEqual(committed);
    });

    it('takes no number on one host as 1', async () => {
      expect(await claim(store, member('anti-affinity', 'a', 0))).toEqual(committed);
      expect(await claim(store, member('anti-affinity', 'a', 0))).toEqual(refused('a'));
    });

    it.each([
      ['another project', 'g1', 'project-2', 'g1'],
      ['a project whose id goes on in the id of its group', 'g1', 'project-', '1g1'],
      ['a group whose id looks like a host of it', 'g1\na', 'project-1', 'g1'],
      ['an id with odd letters', 'gü', 'project-ü', 'gü'],
    ])('counts no member of %s', async (_, id, otherProject, otherId) => {
      const inGroup = (groupId: string, projectId: string) => {
        const group = { group: { id: groupId, policy: 'anti-affinity', maxPerHost: 1 } as const, host: 'a' };
        return claim(store, aWrite({ [provider]: { VCPU: 1 } }, { projectId, group }));
      };
      expect(await inGroup(id, 'project-1')).toEqual(committed);
      expect(await inGroup(otherId, otherProject)).toEqual(committed);
      expect(await inGroup(id, 'project-1')).toEqual({ kind: 'group', groupId: id, host: 'a' });
    });

    it('lets a member move, and counts it where it is then', async () => {
      const write = member('affinity', 'a');
      await claim(store, write);
      const moved = { ...write, group: { group: { id: 'g1', policy: 'affinity', maxPerHost: 1 } as const, host: 'b' } };
      expect(await claim(store, moved)).toEqual(committed);
      expect(await claim(store, member('affinity', 'a'))).toEqual(refused('a'));
    });

    it('forgets a member with its allocations', async () => {
      const write = member('anti-affinity', 'a');
      const result = await claim(store, write);
      const claimToken = result.kind === 'committed' ? result.claimToken : 0;
      await commit(store, { kind: 'release_claim', consumerUuid: write.uuid, claimToken });
      expect(await claim(store, member('anti-affinity', 'a'))).toEqual(committed);
    });

    it('refuses nobody for a soft policy, nor when forced', async () => {
      expect(await claim(store, member('soft-affinity', 'a'))).toEqual(committed);
      expect(await claim(store, member('soft-affinity', 'b'))).toEqual(committed);
      const consumers = [member('anti-affinity', 'a')];
      expect(await commit(store, { kind: 'write_allocations', consumers })).toEqual(refused('a'));
      expect(await commit(store, { kind: 'write_allocations', consumers, force: true })).toEqual(committed);
    });

    describe('with a member on a move, which may come back', () => {
      /** Moves a member from host a to another; a migration keeps its place. */
      const move = (write: ConsumerWrite, to: string) => {
        const group = write.group as NonNullable<ConsumerWrite['group']>;
        const { uuid: _, ...place } = write;
        const kept = { ...aWrite({}), ...place, consumerType: 'MIGRATION', group: { ...group, kept: { movedTo: '' } } };
        return [kept, { ...write, group: { ...group, host: to } }] as const;
      };

      it('let nobody beside the place that it left, until that is given up', async () => {
        const first = member('anti-affinity', 'a');
        await claim(store, first);
        const [kept, moved] = move(first, 'b');
        expect(await claim(store, kept, moved)).toEqual(committed);
        expect(await claim(store, member('anti-affinity', 'a'))).toEqual(refused('a'));
        expect(await claim(store, member('anti-affinity', 'b'))).toEqual(refused('b'));
        expect((await store.consumers([kept.uuid]))[0]).toMatchObject({ groupHost: 'a', groupKept: { movedTo: '' } });
        await claim(store, { ...kept, allocations: {} });
        expect(await claim(store, member('anti-affinity', 'a'))).toEqual(committed);
      });

      it('let no member take the place that another leaves in the same command', async () => {
        const [first, second] = [member('anti-affinity', 'a'), member('anti-affinity', 'b')];
        await claim(store, first, second);
        expect(await claim(store, ...move(second, 'c'), ...move(first, 'b'))).toEqual(refused('b'));
        expect(await claim(store, ...move(first, 'd'), ...move(second, 'c'))).toEqual(committed);
        // One goes back, whatever happens to the other.
        expect(await claim(store, member('anti-affinity', 'a'))).toEqual(refused('a'));
      });

      it('move an affinity group as one, and let nobody join it before that is settled', async () => {
        const [first, second] = [member('affinity', 'a'), member('affinity', 'a')];
        await claim(store, first, second);
        expect(await claim(store, ...move(first, 'b'))).toEqual(refused('b'));
        const [keptFirst, movedFirst] = move(first, 'b');
        const [keptSecond, movedSecond] = move(second, 'b');
        expect(await claim(store, keptFirst, movedFirst, keptSecond, movedSecond)).toEqual(committed);
        for (const host of ['a', 'b']) expect(await claim(store, member('affinity', host))).toEqual(refused(host));
        await claim(store, { ...keptFirst, allocations: {} }, { ...keptSecond, allocations: {} });
        expect(await claim(store, member('affinity', 'a'))).toEqual(refused('a'));
        expect(await claim(store, member('affinity', 'b'))).toEqual(committed);
      });

      it('let it back with force, which counts it once', async () => {
        const first = member('anti-affinity', 'a');
        await claim(store, first);
        const [kept, moved] = move(first, 'b');
        await claim(store, kept, moved);
        const consumers = [{ ...kept, allocations: {} }, first];
        expect(await commit(store, { kind: 'write_allocations', consumers, force: true })).toEqual(committed);
        expect(await claim(store, member('anti-affinity', 'b'))).toEqual(committed);
        await claim(store, { ...first, allocations: {} });
        expect(await claim(store, member('anti-affinity', 'a'))).toEqual(committed);
      });
    });

    it('tells the group of a consumer', async () => {
      const write = member('affinity', 'a');
      await claim(store, write);
      expect((await store.consumers([write.uuid]))[0]).toMatchObject({ groupId: 'g1', groupHost: 'a' });
    });
  });
}

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
