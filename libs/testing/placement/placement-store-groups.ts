import type { GroupPolicy } from '../../domain/server-group';
import type { PlacementStore } from '../../placement/port/placement-store';
import { aProvider, aWrite, claim, commit } from './placement';

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

    it('tells the group of a consumer', async () => {
      const write = member('affinity', 'a');
      await claim(store, write);
      expect((await store.consumers([write.uuid]))[0]).toMatchObject({ groupId: 'g1', groupHost: 'a' });
    });
  });
}
