import { randomUUID } from 'node:crypto';
import { MAX_RESERVATIONS, type Reservation } from '../../../domain/queueing/reservation';
import type { ConsumerWrite, PlacementStore } from '../../../placement/port/placement-store';
import { AT_MS, aProvider, aWrite, commit, contentsOf, mustCommit } from '../placement';

const HOUR_MS = 3_600_000;
const FROM_MS = AT_MS + HOUR_MS;
const UNTIL_MS = AT_MS + 3 * HOUR_MS;
const REFUSED = { kind: 'reserved', resourceClass: 'VCPU' };
const MADE = { kind: 'committed' };

export function describeReservations(open: () => PlacementStore): void {
  describe('reservations', () => {
    let store: PlacementStore;
    let host: string;
    beforeEach(async () => {
      store = open();
      // 10 VCPU.
      host = await aProvider(store);
    });

    type Terms = Omit<Reservation, 'updatedAtMs'>;
    const unit = (VCPU: number) => ({ host: 'host-1', rootUuid: host, allocations: { [host]: { VCPU } } });
    const night = (fields: Partial<Terms> = {}): Terms => ({
      name: 'night',
      projectId: 'project-1',
      fromMs: FROM_MS,
      untilMs: UNTIL_MS,
      requestSpec: '',
      units: [unit(3), unit(3)],
      reason: '',
      ...fields,
    });
    const write = (reservation: Terms, more: { replaces?: number; besides?: readonly string[]; atMs?: number } = {}) =>
      commit(store, { kind: 'write_reservation', reservation, replaces: undefined, ...more });
    const take = (
      VCPU: number,
      { atMs = AT_MS, besides = [], ...fields }: Partial<ConsumerWrite> & { atMs?: number; besides?: string[] } = {},
    ) => {
      const own = aWrite({ [host]: { VCPU } }, { projectId: 'project-2', owner: 'conductor', ...fields });
      return store.commit({ kind: 'write_allocations', consumers: [own], atMs, besides });
    };
    const inNight = { projectId: 'project-1', reservation: 'night' };

    it('are kept by name, and shown to every reader until they are deleted', async () => {
      const change = await mustCommit(store, {
        kind: 'write_reservation',
        reservation: night(),
        replaces: undefined,
      });
      expect(change.reservations).toMatchObject([{ ...night(), revision: change.revision }]);
      expect((await contentsOf(store)).reservations).toMatchObject([night()]);
      const gone = await mustCommit(store, { kind: 'delete_reservation', name: 'night' });
      expect(gone.deletedReservations).toEqual(['night']);
      expect((await contentsOf(store)).reservations).toEqual([]);
      expect(await commit(store, { kind: 'delete_reservation', name: 'night' })).toMatchObject({ kind: 'not_found' });
    });

    it('are replaced only as they were read, and end by themselves only when they are over', async () => {
      const { revision } = await mustCommit(store, {
        kind: 'write_reservation',
        reservation: night(),
        replaces: undefined,
      });
      expect(await write(night())).toMatchObject({ kind: 'exists', subject: 'reservation' });
      expect(await write(night({ reason: 'x' }), { replaces: revision })).toMatchObject(MADE);
      expect(await write(night(), { replaces: revision })).toMatchObject({ kind: 'exists' });
      expect(await write(night({ name: 'other' }), { replaces: revision })).toMatchObject({ kind: 'not_found' });
      const end = (endedAtMs: number) => commit(store, { kind: 'delete_reservation', name: 'night', endedAtMs });
      expect(await end(UNTIL_MS - 1)).toEqual({ kind: 'unchanged' });
      expect(await end(UNTIL_MS)).toMatchObject(MADE);
    });

    it('are so many at most', async () => {
      for (let n = 0; n < MAX_RESERVATIONS; n++) await write(night({ name: `r${n}`, units: [] }));
      expect(await write(night({ units: [] }))).toMatchObject({ kind: 'full', most: MAX_RESERVATIONS });
      await mustCommit(store, { kind: 'delete_reservation', name: 'r1' });
      expect(await write(night({ units: [] }))).toMatchObject(MADE);
    });

    it('keep their room from claims that last into the window, and from no others', async () => {
      await write(night());
      expect(await take(5)).toMatchObject({ ...REFUSED, providerUuid: host });
      expect(await take(5, { endsAtMs: FROM_MS + 1 })).toMatchObject(REFUSED);
      // A priority does not help.
      expect(await take(5, { priority: 100 })).toMatchObject(REFUSED);
      expect(await take(4)).toMatchObject(MADE);
      expect(await take(1)).toMatchObject(REFUSED);
      expect(await take(6, { endsAtMs: FROM_MS })).toMatchObject(MADE);
    });

    it('keep their room from a claim that is made after its end, as of a build that is tried again much later', async () => {
      await write(night());
      const uuid = randomUUID();
      expect(await take(5, { uuid, endsAtMs: AT_MS })).toMatchObject(REFUSED);
      expect(await take(4, { uuid, endsAtMs: AT_MS })).toMatchObject(MADE);
      const [claimed] = await store.consumers([uuid]);
      expect(claimed?.endsAtMs).toBeUndefined();
    });

    it('are over when their window is, or when they are deleted', async () => {
      await write(night());
      expect(await take(5, { atMs: UNTIL_MS - 1 })).toMatchObject(REFUSED);
      expect(await take(5, { atMs: UNTIL_MS })).toMatchObject(MADE);
      await mustCommit(store, { kind: 'delete_reservation', name: 'night' });
      expect(await take(5)).toMatchObject(MADE);
    });

    it('take what ends in time as free at their start, if it is named and still as it was', async () => {
      await write(night());
      const uuid = randomUUID();
      await take(4, { uuid, endsAtMs: FROM_MS });
      expect(await take(4)).toMatchObject(REFUSED);
      expect(await take(4, { besides: [uuid] })).toMatchObject(MADE);
      expect(await take(1, { besides: [uuid] })).toMatchObject(REFUSED);
      // Once its end is past and it is still there, nobody knows when it ends.
      await mustCommit(store, { kind: 'delete_reservation', name: 'night' });
      await write(night({ units: [unit(2)] }));
      expect(await take(1, { besides: [uuid], atMs: FROM_MS })).toMatchObject(REFUSED);
    });

    it('are their instances’ own, and keep what these do not use', async () => {
      await write(night());
      const uuid = randomUUID();
      const within = { atMs: FROM_MS };
      expect(await take(3, { uuid, ...inNight, ...within })).toMatchObject(MADE);
      expect(await take(5, { ...within, besides: [uuid] })).toMatchObject(REFUSED);
      expect(await take(4, { ...within, besides: [uuid] })).toMatchObject(MADE);
      // Another project that says the name gets nothing by it.
      expect(await take(1, { ...inNight, projectId: 'project-2', ...within, besides: [uuid] })).toMatchObject(REFUSED);
      expect(await take(3, { ...inNight, ...within })).toMatchObject(MADE);
    });

    it('have no more instances than units, however many ask at once and whatever is named', async () => {
      await write(night());
      const within = { ...inNight, atMs: FROM_MS };
      const uuids = Array.from({ length: 4 }, () => randomUUID());
      const made = await Promise.all(uuids.map((uuid) => take(3, { uuid, ...within })));
      expect(made.filter(({ kind }) => kind === 'committed')).toHaveLength(2);
      // The host has 4 more.
      expect(await take(1, within)).toMatchObject({ ...REFUSED, providerUuid: host });
      const first = uuids[made.findIndex(({ kind }) => kind === 'committed')] as string;
      await commit(store, {
        kind: 'write_allocations',
        consumers: [{ ...aWrite({}, { ...inNight, uuid: first, owner: 'conductor' }), expect: { kind: 'any' } }],
      });
      expect(await take(3, within)).toMatchObject(MADE);
      expect(await take(1, within)).toMatchObject(REFUSED);
    });

    it('count those who use them already where a unit comes, and after their rows are written anew', async () => {
      const { revision } = await mustCommit(store, {
        kind: 'write_reservation',
        reservation: night(),
        replaces: undefined,
      });
      const uuid = randomUUID();
      const within = { ...inNight, atMs: FROM_MS };
      expect(await take(3, { uuid, ...within })).toMatchObject(MADE);
      const away = await commit(store, {
        kind: 'write_reservation',
        reservation: night({ units: [], reason: 'gone' }),
        replaces: revision,
      });
      if (away.kind !== 'committed') throw new Error(away.kind);
      const { revision: replaces } = away.change;
      expect(await write(night({ units: [unit(3)] }), { replaces, besides: [uuid], atMs: FROM_MS })).toMatchObject(
        MADE,
      );
      expect(await take(1, within)).toMatchObject(REFUSED);
    });

    it('do not take an instance of an earlier one of their name for their own', async () => {
      const uuid = randomUUID();
      await take(3, { uuid, ...inNight });
      expect(await write(night({ units: [unit(7)] }))).toMatchObject(MADE);
      expect(await take(1, { atMs: FROM_MS, besides: [uuid] })).toMatchObject(REFUSED);
    });

    it('are refused where their units do not fit at the start of a window', async () => {
      const uuid = randomUUID();
      await take(5, { uuid, endsAtMs: FROM_MS });
      expect(await write(night())).toMatchObject(REFUSED);
      expect(await write(night(), { besides: [uuid] })).toMatchObject(MADE);
      const next = { name: 'next', units: [unit(5)] };
      expect(await write(night(next), { besides: [uuid] })).toMatchObject(REFUSED);
      // It reaches into the window of the other.
      expect(await write(night({ ...next, fromMs: AT_MS, untilMs: FROM_MS + 1 }))).toMatchObject(REFUSED);
      expect(await write(night({ ...next, fromMs: AT_MS, untilMs: FROM_MS }))).toMatchObject(MADE);
      const later = night({ name: 'later', units: [unit(6)], fromMs: UNTIL_MS, untilMs: UNTIL_MS + 1 });
      expect(await write(later)).toMatchObject(REFUSED);
      expect(await write(later, { besides: [uuid] })).toMatchObject(MADE);
    });

    it('let one of two claims at once have the last room beside them', async () => {
      await write(night());
      const answers = await Promise.all([take(3), take(3), write(night({ name: 'more', units: [unit(3)] }))]);
      expect(answers.filter(({ kind }) => kind === 'committed')).toHaveLength(1);
    });
  });
}
