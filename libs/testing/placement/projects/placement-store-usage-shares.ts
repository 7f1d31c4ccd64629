import type { ListUsageRequest, UsageBy } from '../../../contracts/quotas';
import type { Consumer } from '../../../domain/consumer';
import { inventory } from '../../../domain/inventory';
import { DAY_MS } from '../../../domain/quotas/utc-day';
import { listUsage } from '../../../fleet-settings/list-usage';
import type { ConsumerWrite, PlacementStore } from '../../../placement/port/placement-store';
import type { PlacementStoreWorld } from '../placement';
import { AT_MS, aProvider, aWrite, commit, contentsOf, mustCommit } from '../placement';

const HOUR_MS = 3_600_000;

export function describeUsageShares(world: () => PlacementStoreWorld): void {
  describe('usage shared out', () => {
    let store: PlacementStore;
    let provider: string;
    const noonMs = Math.floor(AT_MS / DAY_MS) * DAY_MS + DAY_MS / 2;
    beforeEach(async () => {
      store = world().store;
      provider = await aProvider(store, { VCPU: inventory(1_000_000) });
    });

    const hold = (write: ConsumerWrite, vcpu: number, atMs: number) => {
      const allocations = vcpu === 0 ? {} : { [provider]: { VCPU: vcpu } };
      return mustCommit(store, { kind: 'write_allocations', atMs, consumers: [{ ...write, allocations }] });
    };
    const fold = (keepRecords: number, atMs: number, keepDays = 400) =>
      commit(store, { kind: 'fold_usage', projectId: 'project-1', keepRecords, keepDays, forgetsOld: true, atMs });
    const ask = async (fields: Partial<ListUsageRequest>, nowMs: number) => {
      const consumers = new Map((await contentsOf(store)).consumers.map((one): [string, Consumer] => [one.uuid, one]));
      const mirror = {
        consumer: (uuid: string) => consumers.get(uuid),
        consumersOf: (id: string) =>
          new Set([...consumers.values()].flatMap((c) => (c.projectId === id ? c.uuid : []))),
      };
      const asked = { projectId: '', sinceMs: 0, untilMs: 0, marker: '', limit: 50, by: [], shareMarker: '' };
      return listUsage({ ...asked, ...fields }, { placement: store, mirror: mirror as never }, nowMs);
    };
    const sharesBy = async (by: readonly UsageBy[], nowMs: number) => {
      const { shares } = await ask({ by }, nowMs);
      return shares.map(({ userId, flavor, instanceUuid, days }) => {
        const hours = days.map(({ day, unitSeconds }) => [day.slice(8), (unitSeconds['VCPU'] ?? 0) / 3_600]);
        return [userId, flavor, instanceUuid, Object.fromEntries(hours)];
      });
    };
    /** By day and class, of all shares, and as the ledger has it. */
    const sums = async (by: readonly UsageBy[], nowMs: number) => {
      const [{ shares }, { projects }] = [await ask({ by }, nowMs), await ask({}, nowMs)];
      const sumOf = (each: readonly { days: (typeof shares)[number]['days'] }[]) => {
        const sum: Record<string, number> = {};
        for (const { day, unitSeconds } of each.flatMap(({ days }) => days)) {
          for (const [name, s] of Object.entries(unitSeconds)) sum[`${day} ${name}`] = (sum[`${day} ${name}`] ?? 0) + s;
        }
        return sum;
      };
      return [sumOf(shares), sumOf(projects)];
    };

    it('is by user, flavor and instance, of what is held and what was, and sums to what the ledger says', async () => {
      const [ann, bob] = [aWrite({}, { userId: 'ann', flavor: 'small' }), aWrite({}, { userId: 'bob' })];
      await hold(ann, 2, noonMs);
      await hold(bob, 1, noonMs + HOUR_MS);
      // A resize by another flavor, and one without: each is another holding.
      await hold({ ...ann, flavor: 'large' }, 4, noonMs + 2 * HOUR_MS);
      await hold(bob, 0, noonMs + 13 * HOUR_MS);
      const nowMs = noonMs + 14 * HOUR_MS;
      const [day, next] = [noonMs, noonMs + DAY_MS].map((ms) => new Date(ms).toISOString().slice(8, 10));
      expect(await sharesBy(['user', 'flavor'], nowMs)).toEqual([
        ['ann', 'large', '', { [day as string]: 40, [next as string]: 8 }],
        ['ann', 'small', '', { [day as string]: 4 }],
        ['bob', '', '', { [day as string]: 11, [next as string]: 1 }],
      ]);
      const byInstance = await sharesBy(['instance'], nowMs);
      expect(byInstance).toHaveLength(2);
      expect(byInstance).toContainEqual(['', '', ann.uuid, { [day as string]: 44, [next as string]: 8 }]);
      expect(byInstance).toContainEqual(['', '', bob.uuid, { [day as string]: 11, [next as string]: 1 }]);
      for (const by of [['user'], ['flavor'], ['instance'], ['user', 'instance']] as const) {
        const [shared, counted] = await sums(by, nowMs);
        expect(shared).toEqual(counted);
      }
    });

    it('counts what a consumer holds though it is written again unchanged, and passes it on with its project', async () => {
      const write = aWrite({}, { userId: 'ann', flavor: 'small' });
      await hold(write, 1, noonMs);
      await hold(write, 1, noonMs + HOUR_MS);
      expect((await store.endedUsage('project-1')).records).toEqual([]);
      await hold({ ...write, owner: 'conductor' }, 0, noonMs + 2 * HOUR_MS);
      const { records } = await store.endedUsage('project-1');
      expect(records).toMatchObject([{ consumerUuid: write.uuid, fromMs: noonMs, toMs: noonMs + 2 * HOUR_MS }]);
      expect((await store.endedUsage('project')).records).toEqual([]);
    });

    it('folds older records into sums by user and flavor, each once, and forgets old days', async () => {
      for (let n = 0; n < 5; n++) {
        const write = aWrite({}, { userId: 'ann', flavor: 'small' });
        await hold(write, 1, noonMs + n * HOUR_MS);
        await hold(write, 0, noonMs + (n + 1) * HOUR_MS);
      }
      const before = await sums(['user'], noonMs + DAY_MS);
      const folds = await Promise.all([fold(2, noonMs), fold(2, noonMs)]);
      expect(folds.filter(({ kind }) => kind === 'committed')).toHaveLength(1);
      expect(await fold(2, noonMs)).toEqual({ kind: 'unchanged' });
      const { records, parts } = await store.endedUsage('project-1');
      expect(records.map(({ fromMs }) => fromMs - noonMs)).toEqual([3 * HOUR_MS, 4 * HOUR_MS]);
      const sum = { VCPU: 3 * HOUR_MS, instances: 3 * HOUR_MS };
      expect(parts).toEqual({ [Math.floor(noonMs / DAY_MS)]: [['ann', 'small', sum]] });
      expect(await sums(['user'], noonMs + DAY_MS)).toEqual(before);
      // By instance the folded ones are nobody's.
      const [nobody, ...named] = await sharesBy(['instance'], noonMs + DAY_MS);
      expect(nobody?.slice(0, 3)).toEqual(['', '', '']);
      expect(named).toHaveLength(2);
      await fold(2, noonMs + 20 * DAY_MS, 10);
      expect(await store.endedUsage('project-1')).toEqual({ records: [], parts: {} });
    });

    it("keeps a bounded number of records of a project, and what is beyond is nobody's share", async () => {
      const consumers = Array.from({ length: 100 }, () => aWrite({ [provider]: { VCPU: 1 } }, { userId: 'ann' }));
      const rounds = 41;
      for (let n = 0; n < rounds; n++) {
        const atMs = noonMs + 2 * n;
        await mustCommit(store, { kind: 'write_allocations', atMs, consumers });
        const none = consumers.map((one) => ({ ...one, allocations: {} }));
        await mustCommit(store, { kind: 'write_allocations', atMs: atMs + 1, consumers: none });
      }
      expect((await store.endedUsage('project-1')).records).toHaveLength(4_000);
      const [shared, counted] = await sums(['user'], noonMs + HOUR_MS);
      expect(shared).toEqual(counted);
      const { shares } = await ask({ by: ['user'] }, noonMs + HOUR_MS);
      expect(shares.map(({ userId }) => userId)).toEqual(['', 'ann']);
      expect(shares[0]?.days[0]?.unitSeconds['VCPU']).toBeCloseTo(0.1, 9);
    });

    it('pages through shares, and up to a day', async () => {
      for (const user of ['ann', 'bob', 'cid']) {
        await hold(aWrite({}, { userId: user, projectId: user === 'cid' ? 'other' : 'project-1' }), 1, noonMs);
      }
      const nowMs = noonMs + DAY_MS;
      const seen: string[] = [];
      let shareMarker = '';
      do {
        const page = await ask({ by: ['user'], limit: 1, shareMarker, untilMs: noonMs }, nowMs);
        seen.push(...page.shares.map(({ projectId, userId, days }) => `${projectId} ${userId} ${days.length}`));
        shareMarker = page.nextMarker;
      } while (shareMarker !== '');
      expect(seen).toEqual(['other cid 1', 'project-1 ann 1', 'project-1 bob 1']);
      await expect(ask({ by: ['user'], shareMarker: '[1]' }, nowMs)).rejects.toMatchObject({ reason: 'bad_marker' });
      expect((await ask({ projectId: 'other', by: ['user'] }, nowMs)).shares).toHaveLength(1);
    });
  });
}
