import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import type { Allocations } from '../../../domain/consumer';
import { inventory, type Resources } from '../../../domain/inventory';
import { keptForMove } from '../../../domain/moves/kept-for-move';
import { migrationUuidOf } from '../../../domain/moves/migration';
import { DEFAULT_PROJECT, MAX_COHORT_MEMBERS, UNLIMITED } from '../../../domain/quotas/quota';
import type { RecentUse } from '../../../domain/quotas/recent-use';
import { DAY_MS } from '../../../domain/quotas/utc-day';
import type { CommitResult, ConsumerWrite, PlacementStore, WriteQuota } from '../../../placement/port/placement-store';
import type { PlacementStoreWorld } from '../placement';
import { AT_MS, aProvider, aWrite, commit, contentsOf, mustCommit } from '../placement';
import { heldByProject, violationsOf } from '../placement-invariants';

/** Sets a quota of a project. */
export function setQuota(
  store: PlacementStore,
  projectId: string,
  fields: Partial<Omit<WriteQuota, 'kind' | 'projectId'>>,
): Promise<CommitResult> {
  const nothing = { version: 0, limits: {}, borrowLimits: {}, cohort: undefined, unset: [] };
  return commit(store, { kind: 'write_quota', projectId, ...nothing, ...fields });
}

/** Claims within the quota, like schedulers and conductors. */
export function claimWithin(store: PlacementStore, ...consumers: readonly ConsumerWrite[]): Promise<CommitResult> {
  return commit(store, { kind: 'write_allocations', withinQuota: true, consumers });
}

interface Amounts extends Resources {
  readonly VCPU: number;
  readonly DISK_GB: number;
}

interface AskedMove {
  readonly next: Amounts;
  readonly isInPlace: boolean;
  readonly isConfirmed: boolean;
}

export function describeQuotas(world: () => PlacementStoreWorld): void {
  describe('quotas', () => {
    let store: PlacementStore;
    let provider: string;
    beforeEach(async () => {
      store = world().store;
      provider = await aProvider(store, { VCPU: inventory(1_000), DISK_GB: inventory(1_000) });
    });
    afterEach(async () => expect(violationsOf(await contentsOf(store))).toEqual([]));

    const taking = (vcpu: number, fields: Partial<ConsumerWrite> = {}) =>
      aWrite({ [provider]: { VCPU: vcpu } }, fields);
    const committed = expect.objectContaining({ kind: 'committed' });
    const beyond = (name: string, resourceClass: string, used: number, asked: number, limit: number) => ({
      kind: 'quota',
      excess: [{ scope: name.startsWith('cohort') ? 'cohort' : 'project', name, resourceClass, used, asked, limit }],
    });
    const usedBy = async (projectId: string) => heldByProject((await contentsOf(store)).consumers).get(projectId) ?? {};

    it('refuses what would exceed a limit, with what is used and asked, and takes the rest', async () => {
      await setQuota(store, 'project-1', { limits: { VCPU: 10 } });
      expect(await claimWithin(store, taking(8))).toEqual(committed);
      expect(await claimWithin(store, taking(4))).toEqual(beyond('project-1', 'VCPU', 8, 4, 10));
      expect(await claimWithin(store, taking(4, { projectId: 'project-2' }))).toEqual(committed);
      expect(await claimWithin(store, taking(2))).toEqual(committed);
    });

    it('names every limit that would be exceeded', async () => {
      await setQuota(store, 'project-1', { limits: { VCPU: 3, DISK_GB: 5, instances: 1 } });
      await claimWithin(store, taking(1));
      const result = await claimWithin(store, aWrite({ [provider]: { VCPU: 3, DISK_GB: 6 } }));
      expect(result).toMatchObject({
        excess: [
          { resourceClass: 'DISK_GB', used: 0, asked: 6, limit: 5 },
          { resourceClass: 'VCPU', used: 1, asked: 3, limit: 3 },
          { resourceClass: 'instances', used: 1, asked: 1, limit: 1 },
        ],
      });
    });

    it('counts instances, and no other consumers', async () => {
      await setQuota(store, 'project-1', { limits: { instances: 1 } });
      expect(await claimWithin(store, taking(1, { consumerType: 'MIGRATION' }))).toEqual(committed);
      expect(await claimWithin(store, taking(1))).toEqual(committed);
      expect(await claimWithin(store, taking(1))).toEqual(beyond('project-1', 'instances', 1, 1, 1));
      expect(await claimWithin(store, taking(1, { consumerType: undefined }))).toEqual(committed);
    });

    it('counts what a move keeps for what it says, while it is kept', async () => {
      await setQuota(store, 'project-1', { limits: { VCPU: 8 } });
      const instance = taking(8);
      await claimWithin(store, instance);
      const kept = taking(8, { consumerType: 'MIGRATION', counted: { VCPU: 5 } });
      const elsewhere = await aProvider(store);
      const arrived = { ...instance, allocations: { [elsewhere]: { VCPU: 3 } } };
      expect(await claimWithin(store, arrived, kept)).toEqual(committed);
      expect(await usedBy('project-1')).toEqual({ VCPU: 8, instances: 1 });
      expect(await claimWithin(store, taking(1))).toEqual(beyond('project-1', 'VCPU', 8, 1, 8));
      await mustCommit(store, { kind: 'write_allocations', consumers: [{ ...kept, allocations: {} }] });
      expect(await usedBy('project-1')).toEqual({ VCPU: 3, instances: 1 });
      expect(await claimWithin(store, taking(5))).toEqual(committed);
    });

    it('lets what a move keeps be of any size, within the capacity', async () => {
      const units = await aProvider(store, { VCPU: inventory(8, { minUnit: 4, stepSize: 4, maxUnit: 4 }) });
      const part = (vcpu: number) =>
        aWrite({ [units]: { VCPU: vcpu } }, { consumerType: 'MIGRATION', counted: { VCPU: vcpu } });
      expect(await claimWithin(store, part(3))).toEqual(committed);
      expect(await claimWithin(store, part(6))).toMatchObject({ kind: 'capacity', refusal: 'capacity' });
      expect(await claimWithin(store, part(5))).toEqual(committed);
    });

    it('never lets a move of any sizes be refused what it gives up, nor exceed a quota or a host by more', async () => {
      await setQuota(store, 'project-1', { limits: { VCPU: 4, DISK_GB: 4 } });
      await setQuota(store, 'project-2', { limits: { VCPU: 4 }, cohort: 'cohort c' });
      await setQuota(store, 'project-3', { limits: { VCPU: 4 }, cohort: 'cohort c', lendLimits: { VCPU: 1 } });
      const amounts = fc.record({ VCPU: fc.integer({ min: 1, max: 6 }), DISK_GB: fc.integer({ min: 1, max: 6 }) });
      const moves = fc.array(fc.record({ next: amounts, isInPlace: fc.boolean(), isConfirmed: fc.boolean() }), {
        maxLength: 4,
      });
      await fc.assert(fc.asyncProperty(fc.constantFrom('project-1', 'project-2'), amounts, moves, moveEach), {
        numRuns: 15,
      });

      async function moveEach(projectId: string, first: Amounts, all: readonly AskedMove[]): Promise<void> {
        const inventories = { VCPU: inventory(6), DISK_GB: inventory(6) };
        const hosts = [await aProvider(store, inventories), await aProvider(store, inventories)] as const;
        const uuid = randomUUID();
        const write = (allocations: Allocations, fields: Partial<ConsumerWrite> = {}) =>
          aWrite(allocations, { uuid, projectId, ...fields });
        // It exists above its quota: the limit was lowered.
        let at: 0 | 1 = 0;
        let size = first;
        await mustCommit(store, { kind: 'write_allocations', consumers: [write({ [hosts[at]]: size })] });
        for (const { next, isInPlace, isConfirmed } of all) {
          const to: 0 | 1 = isInPlace ? at : ((1 - at) as 0 | 1);
          const [left, wanted] = [{ [hosts[at]]: size }, { [hosts[to]]: next }];
          const migration = { uuid: migrationUuidOf(uuid), consumerType: 'MIGRATION' };
          const kept = write({}, { ...migration, ...keptForMove(left, wanted, isInPlace) });
          const result = await claimWithin(store, kept, write(wanted));
          const isSmaller = next.VCPU <= size.VCPU && next.DISK_GB <= size.DISK_GB;
          if (isSmaller || result.kind !== 'quota') expect(result).toEqual(committed);
          if (result.kind !== 'committed') continue;
          const larger = { VCPU: Math.max(size.VCPU, next.VCPU), DISK_GB: Math.max(size.DISK_GB, next.DISK_GB) };
          expect(await usedBy(projectId)).toEqual({ ...larger, instances: 1 });
          const gone = write({}, migration);
          const end = isConfirmed ? [gone] : [gone, write(left)];
          const ended = await claimWithin(store, ...end);
          if (Object.keys(kept.allocations).length > 0 || !isConfirmed) expect(ended).toEqual(committed);
          if (isConfirmed) [at, size] = [to, next];
          expect(await usedBy(projectId)).toEqual({ ...size, instances: 1 });
        }
        await mustCommit(store, { kind: 'write_allocations', consumers: [write({})] });
      }
    });

    it('counts all that one command takes and gives back', async () => {
      await setQuota(store, 'project-1', { limits: { VCPU: 10 } });
      expect(await claimWithin(store, taking(6), taking(6))).toEqual(beyond('project-1', 'VCPU', 0, 12, 10));
      const held = taking(10);
      expect(await claimWithin(store, held)).toEqual(committed);
      expect(await claimWithin(store, { ...held, allocations: {} }, taking(9))).toEqual(committed);
      expect(await usedBy('project-1')).toEqual({ VCPU: 9, instances: 1 });
    });

    it('gives room back with what is released', async () => {
      await setQuota(store, 'project-1', { limits: { VCPU: 10 } });
      const held = taking(10);
      const result = await claimWithin(store, held);
      const claimToken = result.kind === 'committed' ? result.claimToken : 0;
      await mustCommit(store, { kind: 'release_claim', consumerUuid: held.uuid, claimToken });
      expect(await claimWithin(store, taking(10))).toEqual(committed);
    });

    it('refuses nobody who does not want to be held to it, and counts them; forced ones where they want it', async () => {
      await setQuota(store, 'project-1', { limits: { VCPU: 1 } });
      expect(await commit(store, { kind: 'write_allocations', consumers: [taking(2)] })).toEqual(committed);
      const forced = { kind: 'write_allocations', consumers: [taking(3)], force: true } as const;
      expect(await commit(store, { ...forced, withinQuota: true })).toEqual(beyond('project-1', 'VCPU', 2, 3, 1));
      expect(await commit(store, forced)).toEqual(committed);
      expect(await claimWithin(store, taking(1))).toEqual(beyond('project-1', 'VCPU', 5, 1, 1));
    });

    it('lets limits below the use refuse only what is new', async () => {
      const held = taking(8);
      await claimWithin(store, held);
      await setQuota(store, 'project-1', { limits: { VCPU: 4 } });
      const elsewhere = await aProvider(store);
      expect(await claimWithin(store, { ...held, allocations: { [elsewhere]: { VCPU: 8 } } })).toEqual(committed);
      expect(await claimWithin(store, { ...held, allocations: { [elsewhere]: { VCPU: 6 } } })).toEqual(committed);
      expect(await claimWithin(store, { ...held, allocations: { [elsewhere]: { VCPU: 7 } } })).toEqual(
        beyond('project-1', 'VCPU', 6, 1, 4),
      );
    });

    it('holds the default for all that have no limit of their own', async () => {
      await setQuota(store, DEFAULT_PROJECT, { limits: { VCPU: 2 } });
      await setQuota(store, 'rich', { limits: { VCPU: UNLIMITED } });
      await setQuota(store, 'disk', { limits: { DISK_GB: 1 } });
      expect(await claimWithin(store, taking(3, { projectId: 'rich' }))).toEqual(committed);
      expect(await claimWithin(store, taking(3, { projectId: 'disk' }))).toEqual(beyond('disk', 'VCPU', 0, 3, 2));
      expect(await claimWithin(store, taking(3, { projectId: 'any b' }))).toEqual(beyond('any b', 'VCPU', 0, 3, 2));
      await setQuota(store, DEFAULT_PROJECT, { unset: 'all' });
      expect(await claimWithin(store, taking(3, { projectId: 'any b' }))).toEqual(committed);
    });

    it('changes what is named, and leaves the rest', async () => {
      await setQuota(store, 'project ü', { limits: { VCPU: 2, DISK_GB: 3 } });
      await setQuota(store, 'project ü', { limits: { VCPU: 4 } });
      const quotas = async () => (await contentsOf(store)).quotas.map(({ projectId, limits }) => [projectId, limits]);
      expect(await quotas()).toEqual([['project ü', { VCPU: 4, DISK_GB: 3 }]]);
      await setQuota(store, 'project ü', { unset: ['VCPU'] });
      expect(await quotas()).toEqual([['project ü', { DISK_GB: 3 }]]);
      expect(await setQuota(store, 'project ü', { limits: { DISK_GB: 3 } })).toEqual({ kind: 'unchanged' });
      await setQuota(store, 'project ü', { unset: ['DISK_GB'] });
      expect(await quotas()).toEqual([]);
    });

    it('refuses to change another version than the one that is meant', async () => {
      await setQuota(store, 'project-1', { limits: { VCPU: 2 } });
      const [quota] = (await contentsOf(store)).quotas;
      const version = quota?.version ?? 0;
      expect(await setQuota(store, 'project-1', { version, limits: { VCPU: 3 } })).toEqual(committed);
      const late = await setQuota(store, 'project-1', { version, limits: { VCPU: 4 } });
      expect(late).toMatchObject({ kind: 'generation', subject: 'quota', uuid: 'project-1' });
    });

    it('lends within a cohort: up to the borrow limit, and in all the sum of the limits', async () => {
      const cohort = 'cohort c';
      await setQuota(store, 'a', { limits: { VCPU: 10 }, cohort, borrowLimits: { VCPU: 5 } });
      await setQuota(store, 'b', { limits: { VCPU: 10 }, cohort });
      await setQuota(store, 'c', { cohort });
      const claims = (projectId: string, vcpu: number) => claimWithin(store, taking(vcpu, { projectId }));
      expect(await claims('a', 16)).toEqual(beyond('a', 'VCPU', 0, 16, 15));
      expect(await claims('a', 15)).toEqual(committed);
      // Without a limit of its own a member neither lends nor counts.
      expect(await claims('c', 100)).toEqual(committed);
      expect(await claims('b', 6)).toEqual(beyond(cohort, 'VCPU', 15, 6, 20));
      expect(await claims('b', 5)).toEqual(committed);
    });

    it('keeps for a project what it does not lend, whatever others have borrowed', async () => {
      const cohort = 'cohort c';
      await setQuota(store, 'a', { limits: { VCPU: 10 }, cohort });
      await setQuota(store, 'b', { limits: { VCPU: 10 }, cohort, lendLimits: { VCPU: 4 } });
      const claims = (projectId: string, vcpu: number) => claimWithin(store, taking(vcpu, { projectId }));
      expect(await claims('a', 15)).toEqual(beyond(cohort, 'VCPU', 0, 15, 14));
      expect(await claims('a', 14)).toEqual(committed);
      expect(await claims('b', 6)).toEqual(committed);
      expect(await claims('b', 1)).toEqual(beyond(cohort, 'VCPU', 14, 1, 14));
      // A lend limit above the limit lends all of it.
      await setQuota(store, 'b', { lendLimits: { VCPU: 99 } });
      expect(await claims('b', 1)).toEqual(beyond(cohort, 'VCPU', 20, 1, 20));
      await setQuota(store, 'b', { unset: ['VCPU'], limits: { VCPU: 10 } });
      expect(await claims('b', 1)).toEqual(beyond(cohort, 'VCPU', 20, 1, 20));
      await expect(setQuota(store, 'd', { lendLimits: { VCPU: 1 } })).rejects.toMatchObject({
        reason: 'not_in_cohort',
      });
    });

    it('lends without a bound where there is no borrow limit, and nothing once a project has left', async () => {
      await setQuota(store, 'a', { limits: { VCPU: 1 }, cohort: 'cohort' });
      await setQuota(store, 'b', { limits: { VCPU: 9 }, cohort: 'cohort', borrowLimits: { VCPU: 0 } });
      expect(await claimWithin(store, taking(10, { projectId: 'b' }))).toEqual(beyond('b', 'VCPU', 0, 10, 9));
      expect(await claimWithin(store, taking(10, { projectId: 'a' }))).toEqual(committed);
      await setQuota(store, 'b', { cohort: '' });
      expect(await claimWithin(store, taking(9, { projectId: 'b' }))).toEqual(committed);
      expect(await claimWithin(store, taking(1, { projectId: 'a' }))).toEqual({
        kind: 'quota',
        excess: [{ scope: 'cohort', name: 'cohort', resourceClass: 'VCPU', used: 10, asked: 1, limit: 1 }],
      });
    });

    it('refuses a borrow limit without a cohort, and more members of one than claims can look at', async () => {
      await expect(setQuota(store, 'a', { borrowLimits: { VCPU: 1 } })).rejects.toMatchObject({
        code: 'failed_precondition',
        reason: 'not_in_cohort',
      });
      for (let n = 0; n < MAX_COHORT_MEMBERS; n++) await setQuota(store, `p${n}`, { cohort: 'cohort' });
      expect(await setQuota(store, 'one more', { cohort: 'cohort' })).toEqual({
        kind: 'full',
        subject: 'cohort',
        most: MAX_COHORT_MEMBERS,
      });
    });

    it('lets many clients at once never exceed a limit', async () => {
      const clients = [store, await world().another(), await world().another(), await world().another()];
      for (let round = 0; round < 10; round++) {
        const projectId = `round-${round}`;
        await setQuota(store, projectId, { limits: { VCPU: 10 } });
        const claims = Array.from({ length: 32 }, (_, n) =>
          claimWithin(clients[n % clients.length] as PlacementStore, taking(1, { projectId })),
        );
        const kinds = (await Promise.all(claims)).map(({ kind }) => kind);
        expect(kinds.filter((kind) => kind === 'committed')).toHaveLength(10);
        expect(kinds.filter((kind) => kind === 'quota')).toHaveLength(22);
        expect(await usedBy(projectId)).toMatchObject({ VCPU: 10 });
      }
    });
  });

  describe('decisions', () => {
    const content = Uint8Array.of(0, 1, 255);
    const keep = (store: PlacementStore, id: string, ...foundBy: string[]) =>
      store.keepDecisions([{ id, foundBy, content: Uint8Array.of(...content, Number(id)) }], 2);
    const lastByte = async (store: PlacementStore, uuid: string) => (await store.decision(uuid))?.at(-1);

    it('are kept, the last of each instance and of all the last few', async () => {
      const { store } = world();
      const before = await store.revision();
      expect(await store.decision('a')).toBeUndefined();
      await keep(store, '1', 'a', 'b');
      await keep(store, '2', 'b');
      expect([...((await store.decision('a')) ?? [])]).toEqual([...content, 1]);
      expect(await lastByte(store, 'b')).toBe(2);
      await keep(store, '3', 'c');
      expect(await lastByte(store, 'a')).toBeUndefined();
      expect(await lastByte(store, 'b')).toBe(2);
      expect(await lastByte(store, 'c')).toBe(3);
      expect((await store.recentDecisions(9)).map((recent) => recent.at(-1))).toEqual([3, 2]);
      expect((await store.recentDecisions(1)).map((recent) => recent.at(-1))).toEqual([3]);
      expect(await store.revision()).toBe(before);
    });
  });

  describe('allocation requests', () => {
    const terms = (atMs: number) => ({ atMs, ttlMs: 1_000, most: 3 });
    const bytes = (n: number) => Uint8Array.of(0, 255, n);
    const lastBytes = async (ids: readonly string[], atMs: number) => {
      return (await world().store.allocationRequests(ids, atMs)).map((sealed) => sealed?.at(-1));
    };

    it('are kept for their time, by every client, and are no commit', async () => {
      const { store } = world();
      const before = await store.revision();
      await store.keepAllocationRequests(
        [
          { id: 'a', sealed: bytes(1) },
          { id: 'b', sealed: bytes(2) },
        ],
        terms(5_000),
      );
      const another = await world().another();
      expect((await another.allocationRequests(['b', 'x', 'a'], 5_999)).map((sealed) => sealed && [...sealed])).toEqual(
        [[0, 255, 2], undefined, [0, 255, 1]],
      );
      expect(await lastBytes(['a', 'b'], 6_000)).toEqual([undefined, undefined]);
      expect(await store.revision()).toBe(before);
      expect(await store.allocationRequests([], 5_000)).toEqual([]);
    });

    it('go when there are too many, those first that expire first', async () => {
      const { store } = world();
      for (const [n, id] of ['a', 'b', 'c', 'd'].entries()) {
        await store.keepAllocationRequests([{ id, sealed: bytes(n) }], terms(5_000 + n));
      }
      expect(await lastBytes(['a', 'b', 'c', 'd'], 5_500)).toEqual([undefined, 1, 2, 3]);
      await store.keepAllocationRequests([{ id: 'e', sealed: bytes(9) }], terms(6_002));
      expect(await lastBytes(['b', 'c', 'd', 'e'], 5_500)).toEqual([undefined, undefined, 3, 9]);
    });
  });

  describe('candidates', () => {
    const keepAs = (owner: string, atMs: number, ...ids: string[]) =>
      world().store.keepCandidates(
        ids.map((id) => ({ id, content: `{"é":"${id}"}` })),
        { atMs, ttlMs: 1_000, most: 2, owner },
      );
    const keep = (atMs: number, ...ids: string[]) => keepAs('one', atMs, ...ids);
    const kept = async (...ids: string[]) => {
      const found = await Promise.all(ids.map((id) => world().store.takeCandidate(id, 5_500)));
      return ids.filter((_, n) => found[n] !== undefined);
    };

    it('are taken by one of those who ask, until they expire', async () => {
      await keep(5_000, 'a', 'b');
      const another = await world().another();
      const taken = await Promise.all(
        [world().store, another, world().store].map((one) => one.takeCandidate('a', 5_500)),
      );
      expect(taken.filter(Boolean)).toEqual([{ content: '{"é":"a"}', expiresAtMs: 6_000 }]);
      expect(await another.takeCandidate('b', 6_000)).toBeUndefined();
      expect(await another.takeCandidate('x', 5_000)).toBeUndefined();
      expect(await world().store.allocationRequests(['a', 'b'], 5_000)).toEqual([undefined, undefined]);
    });

    it('go when there are too many, those first that expire first', async () => {
      await keep(5_000, 'a');
      await keep(5_001, 'b', 'c');
      const taken = [];
      for (const id of ['a', 'b', 'c']) taken.push((await world().store.takeCandidate(id, 5_500))?.expiresAtMs);
      expect(taken).toEqual([undefined, 6_001, 6_001]);
    });

    it('of one who keeps many push out none of others', async () => {
      await keepAs('modest', 5_000, 'm');
      for (let n = 0; n < 5; n++) await keepAs('greedy \n\u0000', 5_001 + n, `g${n}`, `h${n}`);
      expect(await kept('m', 'g3', 'h3', 'g4', 'h4')).toEqual(['m', expect.stringMatching('4')]);
    });

    it('are shared out anew when another comes, and one that is kept again counts once', async () => {
      await keepAs('first', 5_000, 'a', 'b');
      await keepAs('second', 5_001, 'c');
      await keepAs('third', 5_002, 'b');
      await keepAs('third', 5_003, 'b');
      expect(await kept('a', 'b', 'c')).toEqual(['b', 'c']);
    });
  });

  describe('use over time', () => {
    let store: PlacementStore;
    let provider: string;
    const noonMs = Math.floor(AT_MS / DAY_MS) * DAY_MS + DAY_MS / 2;
    const today = noonMs / DAY_MS - 0.5;
    beforeEach(async () => {
      store = world().store;
      provider = await aProvider(store);
    });

    const hold = (write: ConsumerWrite, vcpu: number, atMs: number) => {
      const allocations = vcpu === 0 ? {} : { [provider]: { VCPU: vcpu } };
      return mustCommit(store, { kind: 'write_allocations', atMs, consumers: [{ ...write, allocations }] });
    };
    const settle = (atMs: number, keepDays = 10) =>
      commit(store, { kind: 'settle_project', projectId: 'project-1', keepDays, atMs });
    const daysOf = async () => (await store.projectDays(['project-1', 'nobody'])).get('project-1');

    it('is counted by the commits that change it, day by day', async () => {
      const write = aWrite({});
      await hold(write, 2, noonMs);
      await hold(write, 3, noonMs + 1_000);
      // A clock that lags counts nothing twice.
      await hold(write, 4, noonMs);
      await hold(write, 0, noonMs + DAY_MS);
      const [usage] = await store.projectUsages();
      expect(usage).toMatchObject({ projectId: 'project-1', used: {}, atMs: noonMs + DAY_MS });
      const half = DAY_MS / 2;
      expect(usage?.days).toEqual({
        [today]: { VCPU: 2_000 + 4 * (half - 1_000), instances: half },
        [today + 1]: { VCPU: 4 * half, instances: half },
      });
    });

    it('moves days that are over to the history, once, and forgets old ones', async () => {
      const write = aWrite({});
      await hold(write, 1, noonMs);
      await settle(noonMs + DAY_MS);
      const first = { VCPU: DAY_MS / 2, instances: DAY_MS / 2 };
      expect(await daysOf()).toEqual({ [today]: first });
      expect((await store.projectUsages())[0]?.days).toEqual({ [today + 1]: first });
      expect(await settle(noonMs + DAY_MS)).toEqual({ kind: 'unchanged' });
      await hold(write, 0, noonMs + DAY_MS + 1);
      await settle(noonMs + 2 * DAY_MS);
      const second = { VCPU: DAY_MS / 2 + 1, instances: DAY_MS / 2 + 1 };
      expect(await daysOf()).toEqual({ [today]: first, [today + 1]: second });
      await settle(noonMs + 3 * DAY_MS, 2);
      expect(await daysOf()).toEqual({ [today + 1]: second });
      await settle(noonMs + 9 * DAY_MS, 2);
      expect(await daysOf()).toBeUndefined();
      expect(await store.projectUsages()).toEqual([]);
    });

    it('keeps the last sample of what a project held lately, without a commit', async () => {
      await hold(aWrite({}), 2, noonMs);
      const before = await store.revision();
      const sample = (projectId: string, VCPU: number) => {
        return { projectId, atMs: noonMs, averages: { VCPU }, counted: {}, held: { VCPU: 2 }, gainedAtMs: 1 };
      };
      const note = (samples: readonly RecentUse[], forgotten: readonly string[] = []) =>
        commit(store, { kind: 'note_recent_use', samples, forgotten, atMs: noonMs });
      await note([sample('project-1', 1.25), sample('näme / 2', 0.5)]);
      await note([sample('project-1', 1.5)]);
      const kept = await store.recentUses();
      expect(kept).toHaveLength(2);
      expect(kept).toEqual(expect.arrayContaining([sample('näme / 2', 0.5), sample('project-1', 1.5)]));
      await note([], ['näme / 2', 'nobody']);
      expect(await store.recentUses()).toEqual([sample('project-1', 1.5)]);
      expect(await store.revision()).toBe(before);
    });

    it('corrects what is counted as held, unless it was changed meanwhile', async () => {
      await hold(aWrite({}), 2, noonMs);
      const [usage] = await store.projectUsages();
      const correction = { used: { VCPU: 5 }, revision: usage?.revision ?? 0 };
      const correct = () =>
        commit(store, { kind: 'settle_project', projectId: 'project-1', keepDays: 1, atMs: noonMs, correction });
      expect(await correct()).toMatchObject({ kind: 'committed' });
      expect((await store.projectUsages())[0]?.used).toEqual({ VCPU: 5 });
      expect(await correct()).toEqual({ kind: 'unchanged' });
      const unknown = { used: { VCPU: 1 }, revision: 0 };
      const never = { kind: 'settle_project', projectId: 'project-2', keepDays: 1, correction: unknown } as const;
      expect(await commit(store, never)).toMatchObject({ kind: 'committed' });
    });
  });
}
