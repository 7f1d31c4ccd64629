import { inventory } from '../../../domain/inventory';
import type { Membership, ServerGroup } from '../../../domain/server-group';
import type { PlacementStore } from '../../../placement/port/placement-store';
import { aProvider, aWrite, claim, commit, contentsOf, type PlacementStoreWorld } from '../placement';

const committed = expect.objectContaining({ kind: 'committed' });
const refused = { kind: 'group', groupId: 'g 1', host: 'a' };
const GROUP: ServerGroup = {
  id: 'g 1',
  policy: 'soft-affinity',
  maxPerHost: 1,
  within: { levels: ['block', 'a rack', 'shelf'], required: 2 },
};

export function describeWithin(open: () => PlacementStoreWorld): void {
  describe('groups that stay within a domain', () => {
    let store: PlacementStore;
    let provider: string;
    beforeEach(async () => {
      store = open().store;
      provider = await aProvider(store, { VCPU: inventory(10_000) });
    });

    const member = (domain: string | undefined) => {
      const place = domain === undefined ? {} : { spread: { domain, among: [] } };
      return aWrite({ [provider]: { VCPU: 1 } }, { group: { group: GROUP, host: 'a', ...place } });
    };

    it('let members in where the first is, one after the other and in one command', async () => {
      expect(await claim(store, member('b1/r1'), member('b1/r1'))).toEqual(committed);
      expect(await claim(store, member('b1/r1'))).toEqual(committed);
      expect(await claim(store, member('b1/r2'))).toEqual(refused);
      const { consumers } = await contentsOf(store);
      const counted = { by: 'block/a rack', domain: 'b1/r1' };
      expect(consumers.map(({ groupDomain }) => groupDomain)).toEqual([counted, counted, counted]);
    });

    it('let nobody in in two domains by one command, nor on a host of none', async () => {
      expect(await claim(store, member('b1/r1'), member('b1/r2'))).toEqual(refused);
      expect(await claim(store, member(undefined))).toEqual(refused);
      expect((await contentsOf(store)).consumers).toEqual([]);
    });

    it('take another domain once the last member has left', async () => {
      const [first, second] = [member('b1/r1'), member('b1/r1')];
      await claim(store, first, second);
      await claim(store, { ...first, allocations: {} });
      expect(await claim(store, member('b2/r1'))).toEqual(refused);
      await claim(store, { ...second, allocations: {} });
      expect(await claim(store, member('b2/r1'))).toEqual(committed);
    });

    it('let the only member move to another domain, and nobody follow before that is settled', async () => {
      const moved = member('b1/r1');
      await claim(store, moved);
      const place = member('b1/r1');
      const left = {
        ...place,
        consumerType: 'MIGRATION',
        group: { ...(place.group as Membership), kept: { movedTo: 'b1/r2' } },
      };
      expect(await claim(store, left, { ...member('b1/r2'), uuid: moved.uuid })).toEqual(committed);
      expect(await claim(store, member('b1/r1'))).toEqual(refused);
      expect(await claim(store, member('b1/r2'))).toEqual(refused);
      expect(await claim(store, { ...left, allocations: {} })).toEqual(committed);
      expect(await claim(store, member('b1/r2'))).toEqual(committed);
    });

    it('keep growing where forced claims put them', async () => {
      await claim(store, member('b1/r1'));
      expect(await commit(store, { kind: 'write_allocations', consumers: [member('b1/r2')], force: true })).toEqual(
        committed,
      );
      expect(await claim(store, member('b1/r2'))).toEqual(committed);
      expect(await claim(store, member('b1/r3'))).toEqual(refused);
    });

    it('are in one domain at every revision, whoever claims at once', async () => {
      const clients = [store, await open().another(), await open().another(), await open().another()];
      const answers = await Promise.all(
        clients.map((client, n) => claim(client, member(`b1/r${n}`), member(`b1/r${n}`))),
      );
      expect(answers.filter(({ kind }) => kind === 'committed').length).toBe(1);
      const { consumers } = await contentsOf(store);
      expect(new Set(consumers.map(({ groupDomain }) => groupDomain?.domain)).size).toBe(1);
    });
  });
}
