import { randomUUID } from 'node:crypto';
import type { PlaceLease } from '../../domain/queueing/place-lease';
import type { PlacementStore } from '../../placement/port/placement-store';
import { AT_MS, aProvider, aWrite, claim, commit, contentsOf, mustCommit } from './placement';

export function describeLeases(open: () => PlacementStore): void {
  describe('leases of places', () => {
    let store: PlacementStore;
    let host: string;
    beforeEach(async () => {
      store = open();
      host = await aProvider(store);
    });

    const aLease = (fields: Partial<PlaceLease> = {}): PlaceLease => ({
      kind: 'alternates',
      consumerUuid: randomUUID(),
      projectId: 'project-1',
      priority: 0,
      untilMs: AT_MS + 60_000,
      places: [{ rootUuid: host, allocations: { [host]: { VCPU: 10 } }, likelihood: 0.05 }],
      ...fields,
    });
    const write = (lease: PlaceLease) => mustCommit(store, { kind: 'write_lease', lease });
    const end = (consumerUuids: readonly string[], expiredAtMs?: number) =>
      commit(store, { kind: 'end_leases', consumerUuids, expiredAtMs });
    const leases = async () => (await contentsOf(store)).leases.map(({ revision: _revision, ...lease }) => lease);

    it('are kept, one for each instance, and shown to every reader', async () => {
      const first = aLease();
      const change = await write(first);
      expect(change.leases).toEqual([{ ...first, revision: change.revision }]);
      const next = aLease({ consumerUuid: first.consumerUuid, kind: 'nomination', priority: -5, places: [] });
      await write(next);
      expect(await leases()).toEqual([next]);
    });

    it('cost nobody any capacity', async () => {
      await write(aLease());
      await write(aLease());
      expect(await claim(store, aWrite({ [host]: { VCPU: 10 } }))).toMatchObject({ kind: 'committed' });
      expect((await contentsOf(store)).leases).toHaveLength(2);
    });

    it('end, together, and again without effect', async () => {
      const [one, other, third] = [aLease(), aLease(), aLease()];
      for (const lease of [one, other, third]) await write(lease);
      const ended = await end([one.consumerUuid, other.consumerUuid, randomUUID()]);
      expect(ended).toMatchObject({ kind: 'committed' });
      const change = ended.kind === 'committed' ? ended.change : undefined;
      expect(new Set(change?.deletedLeases)).toEqual(new Set([one.consumerUuid, other.consumerUuid]));
      expect(await end([one.consumerUuid])).toEqual({ kind: 'unchanged' });
      expect(await leases()).toEqual([third]);
    });

    it('are not swept when they were written anew since', async () => {
      const lease = aLease({ untilMs: AT_MS });
      await write(lease);
      await write({ ...lease, untilMs: AT_MS + 1 });
      expect(await end([lease.consumerUuid], AT_MS)).toEqual({ kind: 'unchanged' });
      expect(await end([lease.consumerUuid], AT_MS + 1)).toMatchObject({ kind: 'committed' });
    });
  });
}
