import { inventory } from '../../domain/inventory';
import { storedGroupKey } from '../../domain/server-group';
import { MemoryPlacementStore } from '../../placement/memory/placement-store';
import { Mirror } from '../../placement/mirror/mirror';
import type { Change, PlacementStore } from '../../placement/port/placement-store';
import { silentLog } from '../../runtime/log';
import { systemClock, systemRandom } from '../../runtime/system';
import type { PlacementStoreWorld } from './placement';
import { aProvider, aReport, aWrite, claim, contentsOf, mustCommit, mustReport } from './placement';
import { setQuota } from './projects/placement-store-quotas';

export function describeStream(world: () => PlacementStoreWorld): void {
  describe('the stream', () => {
    let store: PlacementStore;
    const stop: (() => Promise<void>)[] = [];
    beforeEach(() => {
      store = world().store;
    });
    afterEach(async () => {
      for (const close of stop.splice(0)) await close();
    });

    /** Follows, and waits for a number of changes. */
    function following(from: number) {
      const abort = new AbortController();
      const changes: Change[] = [];
      let look = () => {};
      const done = store.follow(
        from,
        (batch) => {
          changes.push(...batch);
          look();
        },
        abort.signal,
      );
      stop.push(async () => {
        abort.abort();
        await done.catch(() => undefined);
      });
      const has = (count: number) =>
        new Promise<void>((resolve) => {
          look = () => changes.length >= count && resolve();
          look();
        });
      return { changes, has, done };
    }

    async function openMirror(source: PlacementStore): Promise<Mirror> {
      const mirror = await Mirror.open(source, { clock: systemClock(), random: systemRandom, log: silentLog });
      stop.push(() => mirror.close());
      return mirror;
    }

    it('has one change for each revision, as answered by its commit', async () => {
      const host = await aProvider(store);
      const from = await store.revision();
      const { changes, has } = following(from);
      const results = [await claim(store, aWrite({ [host]: { VCPU: 1 } }))];
      results.push(await claim(store, aWrite({ [host]: { VCPU: 1 } })));
      await has(2);
      expect(changes.map((change) => change.revision)).toEqual([from + 1, from + 2]);
      expect(results).toEqual(changes.map((change) => expect.objectContaining({ kind: 'committed', change })));
    });

    it('is followed from the start of an empty store', async () => {
      expect(await store.revision()).toBe(0);
      const { has } = following(0);
      await aProvider(store);
      await has(2);
    });

    it('makes a follower of another store start again', async () => {
      await aProvider(store);
      const ahead = (await store.revision()) + 1;
      await expect(following(ahead).done).rejects.toMatchObject({ reason: 'revision_trimmed' });
      await expect(following(1).done).rejects.toMatchObject({ reason: 'revision_trimmed' });
    });

    it('makes a mirror show what the store has, from the snapshot and from changes', async () => {
      const early = await openMirror(store);
      await mustReport(store, aReport({ traits: ['CUSTOM_FAST'] }));
      const root = await aProvider(store);
      const child = await aProvider(store, {}, root);
      const write = aWrite({ [root]: { VCPU: 2 } });
      await claim(store, write);
      const [uuid, metadata] = [child, { rack: '7' }];
      await mustCommit(store, { kind: 'create_aggregate', uuid, name: 'an aggregate', metadata });
      await mustCommit(store, { kind: 'add_aggregate_host', uuid, host: 'host-1' });
      const group = { projectId: 'a project', name: 'g', policy: 'affinity', maxPerHost: 1, metadata } as const;
      await mustCommit(store, { kind: 'create_group', ...group });
      await setQuota(store, write.projectId, { limits: { VCPU: 4 }, cohort: 'cohort' });
      await setQuota(store, 'gone', { limits: { VCPU: 4 } });
      await setQuota(store, 'gone', { unset: 'all' });
      const places = [{ rootUuid: root, allocations: { [child]: { VCPU: 1 } }, likelihood: 0.25 }];
      const lease = {
        kind: 'nomination',
        consumerUuid: uuid,
        projectId: 'p',
        priority: 1,
        untilMs: 9,
        places,
      } as const;
      await mustCommit(store, { kind: 'write_lease', lease });
      await mustCommit(store, { kind: 'write_lease', lease: { ...lease, consumerUuid: root } });
      await mustCommit(store, { kind: 'end_leases', consumerUuids: [root] });
      const late = await openMirror(await world().another());
      const contents = await contentsOf(store);
      for (const mirror of [early, late]) {
        await mirror.waitFor(await store.revision(), { timeoutMs: 5_000 });
        expect(contentsOfMirror(mirror)).toEqual(contentsAsSeen(contents));
        expect(mirror.tree(root).map((provider) => provider.uuid)).toEqual([root, child]);
        expect(mirror.consumersOn(root)).toEqual(new Set([write.uuid]));
        expect(mirror.hostsIn(uuid)).toEqual(new Set(['host-1']));
        expect(mirror.serverGroup(storedGroupKey('a project', 'g'))).toMatchObject(group);
        expect([...mirror.leasesOn(root)]).toEqual(mirror.nominations());
        expect(mirror.nominations()).toMatchObject([lease]);
        expect(mirror.hasTrait('CUSTOM_FAST')).toBe(true);
        expect(mirror.hostOfRoot(aReport().providerUuid)?.name).toBe('host-1');
        expect(mirror.readiness()).toEqual({ ready: true });
      }
    });

    it('opens another store with what it keeps', async () => {
      await mustReport(store, aReport({ traits: ['CUSTOM_FAST'] }));
      const root = await aProvider(store);
      const child = await aProvider(store, { VCPU: inventory(8) }, root);
      const group = { id: 'g', policy: 'anti-affinity', maxPerHost: 1 } as const;
      const write = { ...aWrite({ [child]: { VCPU: 2 } }), group: { group, host: 'host-1' } };
      expect(await claim(store, write)).toMatchObject({ kind: 'committed' });
      await setQuota(store, write.projectId, { limits: { VCPU: 4 }, cohort: 'cohort' });
      const image = await store.image();
      const other = new MemoryPlacementStore(undefined, image);
      expect(await contentsOf(other)).toEqual(await contentsOf(store));
      expect(await other.heardAt(['host-1'])).toEqual(await store.heardAt(['host-1']));
      expect(image.revision).toBe(await store.revision());
      // Its counters, names and tokens go on.
      const again = { ...aWrite({ [child]: { VCPU: 1 } }), group: write.group };
      expect(await claim(other, again)).toMatchObject({ kind: 'group' });
      const taken = (await store.consumers([write.uuid]))[0]?.claimToken ?? 0;
      expect(await claim(other, aWrite({ [child]: { VCPU: 1 } }))).toMatchObject({ kind: 'committed' });
      expect((await other.image()).claimToken).toBeGreaterThan(taken);
      expect(await store.revision()).toBe(image.revision);
    });

    it('lets a mirror read its own writes at once', async () => {
      const host = await aProvider(store);
      const mirror = await openMirror(store);
      const write = aWrite({ [host]: { VCPU: 2 } });
      const result = await claim(store, write);
      if (result.kind !== 'committed') throw new Error('not committed');
      mirror.apply(result.change);
      expect(mirror.usage(host)).toEqual({ VCPU: 2 });
      expect(mirror.consumer(write.uuid)?.claimToken).toBe(result.claimToken);
    });

    it('fails a wait for a revision that does not come', async () => {
      const mirror = await openMirror(store);
      const wait = mirror.waitFor((await store.revision()) + 1, { timeoutMs: 20 });
      await expect(wait).rejects.toMatchObject({ code: 'unavailable', reason: 'mirror_behind' });
    });
  });
}

type Contents = Awaited<ReturnType<typeof contentsOf>>;

/** The contents that both a mirror and a snapshot can show. */
function contentsAsSeen(contents: Contents) {
  const { providers, usages, hosts, consumers, aggregates, serverGroups, leases, quotas, projectUsages } = contents;
  return {
    providers: providers.map(withoutRevision),
    usages: usages.map(({ used }) => used),
    hosts: hosts.map(withoutRevision),
    consumers: consumers.map(withoutRevision),
    aggregates: aggregates.map(withoutRevision),
    serverGroups: serverGroups.map(withoutRevision),
    leases: leases.map(withoutRevision),
    projects: projectUsages.map(({ projectId, used }) => [
      projectId,
      quotas.find((one) => one.projectId === projectId),
      used,
    ]),
  };
}

/** The contents of a mirror. */
export function contentsOfMirror(mirror: Mirror) {
  const byKey = <T>(rows: Iterable<T>, key: (row: T) => string) =>
    [...rows].sort((a, b) => (key(a) < key(b) ? -1 : 1)).map(withoutRevision);
  const providers = byKey(mirror.providers(), (row) => row.uuid);
  return {
    providers,
    usages: providers.map((provider) => mirror.usage(provider.uuid)),
    hosts: byKey(mirror.hosts(), (row) => row.name),
    consumers: byKey(mirror.consumers(), (row) => row.uuid),
    aggregates: byKey(mirror.aggregates(), (row) => row.uuid),
    serverGroups: byKey(mirror.serverGroups(), (row) => storedGroupKey(row.projectId, row.name)),
    leases: byKey(mirror.leases(), (row) => row.consumerUuid),
    projects: mirror.quotas.projects().map((id) => [id, mirror.quotas.quota(id), mirror.quotas.usage(id)]),
  };
}

function withoutRevision<T>(row: T): T {
  return { ...row, revision: undefined };
}
