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
      const twice = await end([third.consumerUuid, third.consumerUuid]);
      expect(twice).toMatchObject({ change: { deletedLeases: [third.consumerUuid] } });
    });

    describe('that nominate', () => {
      const room = (VCPU: number) => ({ [host]: { VCPU } });
      const nominated = (VCPU: number, fields: Partial<PlaceLease> = {}) =>
        aLease({
          kind: 'nomination',
          priority: 5,
          places: [{ rootUuid: host, allocations: room(VCPU), likelihood: 1 }],
          ...fields,
        });
      const REFUSED = { kind: 'nominated', resourceClass: 'VCPU' };
      const MADE = { kind: 'committed' };

      it('keep that room from claims of the same or a lower priority, and from no others', async () => {
        const { consumerUuid } = nominated(6);
        await write(nominated(6, { consumerUuid }));
        expect(await claim(store, aWrite(room(5)))).toMatchObject({ ...REFUSED, providerUuid: host });
        expect(await claim(store, aWrite(room(5), { priority: 5 }))).toMatchObject(REFUSED);
        expect(await claim(store, aWrite(room(5), { owner: 'api' }))).toMatchObject(MADE);
        expect(await claim(store, aWrite(room(5), { priority: 6 }))).toMatchObject(MADE);
      });

      it('leave what is beside that room, and what they nominate to those whom they name', async () => {
        const lease = nominated(6);
        await write(lease);
        expect(await claim(store, aWrite(room(4)))).toMatchObject(MADE);
        expect(await claim(store, aWrite(room(1)))).toMatchObject(REFUSED);
        expect(await claim(store, aWrite(room(6), { uuid: lease.consumerUuid }))).toMatchObject(MADE);
        // Its claim replaces the lease.
        expect(await commit(store, { kind: 'write_allocations', consumers: [aWrite(room(1))] })).toMatchObject({
          kind: 'capacity',
        });
      });

      it('add up, and are of one command together', async () => {
        const [one, other] = [nominated(4), nominated(4)];
        for (const lease of [one, other]) await write(lease);
        expect(await claim(store, aWrite(room(3)))).toMatchObject(REFUSED);
        const both = [one, other].map(({ consumerUuid: uuid }) => aWrite(room(5), { uuid, priority: 5 }));
        expect(await claim(store, ...both)).toMatchObject(MADE);
      });

      it('count for nothing when they have ended, or run out, or are of other places by now', async () => {
        const lease = nominated(10);
        await write(lease);
        await write({ ...lease, places: [] });
        expect(await claim(store, aWrite(room(1)))).toMatchObject(MADE);
        await write(lease);
        expect(await claim(store, aWrite(room(1)))).toMatchObject(REFUSED);
        await end([lease.consumerUuid]);
        expect(await claim(store, aWrite(room(1)))).toMatchObject(MADE);
        await write({ ...lease, untilMs: AT_MS });
        expect(await claim(store, aWrite(room(1)))).toMatchObject(MADE);
      });

      it('are in the way of nothing that takes no more than before, and of what is taken by force', async () => {
        const held = aWrite(room(8));
        await claim(store, held);
        await write(nominated(10));
        expect(await claim(store, { ...held, allocations: room(7) })).toMatchObject(MADE);
        expect(await claim(store, { ...held, allocations: room(8) })).toMatchObject(REFUSED);
        const forced = { kind: 'write_allocations', force: true, consumers: [aWrite(room(1))] } as const;
        expect(await commit(store, forced)).toMatchObject(MADE);
      });

      it('are held in the race between those who leave, those who would come first, and whom they name', async () => {
        for (let round = 0; round < 10; round++) {
          const [victim, lease] = [aWrite(room(10)), nominated(10)];
          expect(await claim(store, victim)).toMatchObject(MADE);
          const over = new AbortController();
          const others = Array.from({ length: 4 }, async () => {
            const won: string[] = [];
            do {
              const other = aWrite(room(1));
              if ((await claim(store, other)).kind === 'committed') won.push(other.uuid);
            } while (!over.signal.aborted);
            return won;
          });
          await write(lease);
          await claim(store, { ...victim, allocations: {} });
          const preemptor = aWrite(room(10), { uuid: lease.consumerUuid, priority: 5 });
          expect(await claim(store, preemptor)).toMatchObject(MADE);
          over.abort();
          expect((await Promise.all(others)).flat()).toEqual([]);
          await claim(store, { ...preemptor, allocations: {} });
          await end([lease.consumerUuid]);
        }
      });
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
