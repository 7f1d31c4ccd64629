import { inventory } from '../../../domain/inventory';
import type { Membership, ServerGroup } from '../../../domain/server-group';
import type { PlacementStore } from '../../../placement/port/placement-store';
import type { PlacementStoreWorld } from '../placement';
import { aProvider, aWrite, claim, commit, contentsOf } from '../placement';

const RACKS = ['r1', 'r2', 'r 3'];
const committed = expect.objectContaining({ kind: 'committed' });

export function describeSpread(open: () => PlacementStoreWorld): void {
  describe('groups that spread', () => {
    let store: PlacementStore;
    let provider: string;
    beforeEach(async () => {
      store = open().store;
      provider = await aProvider(store, { VCPU: inventory(10_000) });
    });

    const group = (maxSkew: number): ServerGroup => ({
      id: 'g 1',
      policy: 'soft-anti-affinity',
      maxPerHost: 1,
      spread: { by: 'a rack', maxSkew },
    });
    const member = (domain: string | undefined, maxSkew = 1, among: readonly string[] = RACKS) =>
      aWrite(
        { [provider]: { VCPU: 1 } },
        { group: { group: group(maxSkew), host: 'a', ...(domain === undefined ? {} : { spread: { domain, among } }) } },
      );
    const refused = { kind: 'group', groupId: 'g 1', host: 'a' };

    it('put in no domain more than the maximum skew above the one with fewest, which may be empty', async () => {
      expect(await claim(store, member('r1'))).toEqual(committed);
      expect(await claim(store, member('r1'))).toEqual(refused);
      expect(await claim(store, member('r2'))).toEqual(committed);
      expect(await claim(store, member('r1'))).toEqual(refused);
      expect(await claim(store, member('r 3'))).toEqual(committed);
      expect(await claim(store, member('r1'))).toEqual(committed);
      expect(await claim(store, member('r1', 2))).toEqual(committed);
      expect(await claim(store, member('r1', 2))).toEqual(refused);
      expect(await claim(store, member('r1', 1, ['r1']))).toEqual(committed);
    });

    it('count members of one command, one after the other', async () => {
      expect(await claim(store, member('r1'), member('r1'))).toEqual(refused);
      expect((await contentsOf(store)).consumers).toEqual([]);
      expect(await claim(store, member('r1'), member('r2'), member('r 3'), member('r1'))).toEqual(committed);
    });

    it('take members that move or leave where they were', async () => {
      const first = member('r1');
      await claim(store, first);
      expect((await store.consumers([first.uuid]))[0]).toMatchObject({ groupDomain: { by: 'a rack', domain: 'r1' } });
      expect(await claim(store, { ...member('r2'), uuid: first.uuid })).toEqual(committed);
      expect(await claim(store, member('r2'))).toEqual(refused);
      expect(await claim(store, member('r1'))).toEqual(committed);
      await claim(store, { ...first, allocations: {} });
      expect(await claim(store, member('r2'))).toEqual(committed);
    });

    it('let nobody in on a host of no domain, unless forced, and count it nowhere then', async () => {
      const lost = member(undefined);
      expect(await claim(store, lost)).toEqual(refused);
      expect(await commit(store, { kind: 'write_allocations', consumers: [lost], force: true })).toEqual(committed);
      for (const rack of RACKS) expect(await claim(store, member(rack))).toEqual(committed);
      expect(await claim(store, { ...lost, allocations: {} })).toEqual(committed);
    });

    it('keep to their policy on hosts besides', async () => {
      const strict = (domain: string) => {
        const write = member(domain, 5);
        return {
          ...write,
          group: { ...write.group, group: { ...group(5), policy: 'anti-affinity' }, host: 'b' } as const,
        };
      };
      expect(await claim(store, strict('r1'))).toEqual(committed);
      expect(await claim(store, strict('r2'))).toEqual({ ...refused, host: 'b' });
    });

    it('count a member on a move at both ends until the place to go back to is given up', async () => {
      const moved = member('r1');
      await claim(store, moved);
      const place = member('r1');
      const left = {
        ...place,
        consumerType: 'MIGRATION',
        group: { ...(place.group as Membership), kept: { movedTo: 'r2' } },
      };
      expect(await claim(store, left, { ...member('r2'), uuid: moved.uuid })).toEqual(committed);
      expect(await claim(store, member('r1'))).toEqual(refused);
      expect(await claim(store, member('r2'))).toEqual(refused);
      expect(await claim(store, member('r 3'))).toEqual(committed);
      // In either outcome one of the two racks becomes empty.
      expect(await claim(store, member('r 3'))).toEqual(refused);
      expect(await claim(store, { ...left, allocations: {} })).toEqual(committed);
      expect(await claim(store, member('r2'))).toEqual(refused);
      expect(await claim(store, member('r1'))).toEqual(committed);
    });

    it('are told from groups and names that look alike', async () => {
      await claim(store, member('r1'));
      const other = (fields: object) => {
        const write = member('r1');
        return claim(store, { ...write, ...fields });
      };
      expect(await other({ projectId: 'project-2' })).toEqual(committed);
      const renamed = { group: { ...group(1), spread: { by: 'a rac', maxSkew: 1 } }, host: 'a' };
      expect(await other({ group: { ...renamed, spread: { domain: 'kr1', among: ['kr1', 'x'] } } })).toEqual(committed);
    });

    it('are even at every revision, whoever claims at once', async () => {
      const clients = [store, await open().another(), await open().another(), await open().another()];
      const perRack = 20;
      const claimant = async (n: number) => {
        let joined = 0;
        // Each continues with the racks that accept it, in its own order.
        for (let turn = n; joined < (RACKS.length * perRack) / clients.length; turn += 1 + (n % 2)) {
          const result = await claim(clients[n] as PlacementStore, member(RACKS[turn % RACKS.length]));
          if (result.kind === 'committed') joined += 1;
          else expect(result).toEqual(refused);
        }
      };
      await Promise.all(clients.map((_, n) => claimant(n)));
      const { consumers } = await contentsOf(store);
      const inOrder = [...consumers].sort((a, b) => a.claimToken - b.claimToken);
      const counts = new Map(RACKS.map((rack) => [rack, 0]));
      for (const { groupDomain } of inOrder) {
        const rack = groupDomain?.domain ?? '';
        counts.set(rack, (counts.get(rack) ?? 0) + 1);
        expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(1);
      }
      expect([...counts.values()]).toEqual(RACKS.map(() => perRack));
    });
  });
}
