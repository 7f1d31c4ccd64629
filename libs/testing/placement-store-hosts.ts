import { inventory } from '../domain/inventory';
import type { PlacementStore } from '../placement/store';
import { AT_MS, aProvider, aReport, aWrite, claim, commit, contentsOf, mustCommit } from './placement';

export function describeHosts(open: () => PlacementStore): void {
  describe('hosts', () => {
    let store: PlacementStore;
    beforeEach(() => {
      store = open();
    });

    const hosts = async () => (await contentsOf(store)).hosts;
    const { providerUuid } = aReport();

    /** A report that says nothing new, on the rows as they are. */
    const beat = async (sequence: number, atMs = AT_MS, name = 'host-1') =>
      store.heartbeat(await beatOf(sequence, atMs, name));
    const beatOf = async (sequence: number, atMs = AT_MS, name = 'host-1') => {
      const contents = await contentsOf(store);
      const host = contents.hosts.find((one) => one.name === name);
      const provider = contents.providers.find(({ uuid }) => uuid === host?.providerUuid);
      if (!host || !provider) throw new Error(`there is no ${name}`);
      const rows = { hostRevision: host.revision, providerUuid: provider.uuid, providerRevision: provider.revision };
      return { host: name, agentRun: host.agentRun, sequence, atMs, ...rows };
    };

    it('come with their provider and whatever names the report has', async () => {
      const inventories = { VCPU: inventory(8), CUSTOM_GOLD: inventory(1) };
      await mustCommit(store, aReport({ inventories, traits: ['CUSTOM_FAST'], aggregates: ['agg-1'] }));
      expect(await contentsOf(store)).toMatchObject({
        providers: [
          { uuid: providerUuid, name: 'host-1', inventories, traits: ['CUSTOM_FAST'], aggregates: ['agg-1'] },
        ],
        hosts: [{ name: 'host-1', providerUuid, up: true, enabled: true, sequence: 1 }],
        resourceClasses: [{ name: 'CUSTOM_GOLD' }],
        traits: [{ name: 'CUSTOM_FAST' }],
      });
    });

    it('refuse a report that was overtaken, and commit nothing when nothing changed', async () => {
      await mustCommit(store, aReport({ sequence: 5 }));
      const revision = await store.revision();
      expect(await commit(store, aReport({ sequence: 5 }))).toEqual({ kind: 'stale', present: 5 });
      expect(await commit(store, aReport({ sequence: 7 }))).toEqual({ kind: 'unchanged' });
      expect(await commit(store, aReport({ sequence: 6 }))).toEqual({ kind: 'stale', present: 7 });
      expect(await store.revision()).toBe(revision);
      expect(await commit(store, aReport({ sequence: 1, agentRun: 'run-2' }))).toMatchObject({ kind: 'committed' });
    });

    it('beat when they have nothing new to say: no commit, but the sequence counts', async () => {
      await mustCommit(store, aReport({ sequence: 5 }));
      const revision = await store.revision();
      expect(await beat(7)).toEqual({ kind: 'unchanged' });
      expect(await beat(7)).toEqual({ kind: 'stale', present: 7 });
      expect(await beat(10)).toEqual({ kind: 'unchanged' });
      expect(await commit(store, aReport({ sequence: 9 }))).toEqual({ kind: 'stale', present: 10 });
      expect(await store.revision()).toBe(revision);
    });

    it('beat together, each answered by itself', async () => {
      await mustCommit(store, aReport());
      const [first, second] = [await beatOf(2), await beatOf(2)];
      const unknown = { ...second, host: 'host-2', sequence: 3 };
      const answers = await Promise.all([first, second, unknown].map((one) => store.heartbeat(one)));
      expect(answers).toEqual([{ kind: 'unchanged' }, { kind: 'stale', present: 2 }, { kind: 'changed' }]);
    });

    it.each([
      ['its host is', () => ({ kind: 'set_host_enabled', host: 'host-1', enabled: false, reason: 'fan' }) as const],
      ['its provider is', () => ({ kind: 'write_traits', providerUuid, generation: undefined, traits: [] }) as const],
    ])('do not beat for rows that are others by now: %s', async (_, change) => {
      await mustCommit(store, aReport({ traits: ['HW_CPU_X86_AVX2'] }));
      const before = await beatOf(2);
      await mustCommit(store, change());
      expect(await store.heartbeat(before)).toEqual({ kind: 'changed' });
      expect(await commit(store, aReport({ sequence: 2, ioOps: 1 }))).toMatchObject({ kind: 'committed' });
    });

    it('move to another service host when a report says so', async () => {
      await mustCommit(store, aReport({ serviceHost: 'rack-1' }));
      await mustCommit(store, aReport({ sequence: 2, serviceHost: 'rack-2' }));
      expect(await hosts()).toMatchObject([{ name: 'host-1', serviceHost: 'rack-2' }]);
    });

    it('keep a class in use that the report leaves out, and drop one that is not', async () => {
      await mustCommit(store, aReport());
      await claim(store, aWrite({ [providerUuid]: { VCPU: 1 } }));
      await mustCommit(store, aReport({ sequence: 2, inventories: { DISK_GB: inventory(1) } }));
      const [provider] = (await contentsOf(store)).providers;
      expect(provider).toMatchObject({ generation: 2 });
      expect(provider?.inventories).toEqual({ DISK_GB: inventory(1), VCPU: inventory(8) });
    });

    it('leave aggregates alone when the report does not name them', async () => {
      await mustCommit(store, aReport());
      const write = { providerUuid, generation: undefined, aggregates: ['agg-1'] };
      await mustCommit(store, { kind: 'write_aggregates', ...write });
      await mustCommit(store, aReport({ sequence: 2, ioOps: 3 }));
      expect(await contentsOf(store)).toMatchObject({ providers: [{ aggregates: ['agg-1'] }], hosts: [{ ioOps: 3 }] });
    });

    it('refuse the name of another provider and the provider of another host', async () => {
      const other = await aProvider(store, {});
      expect(await commit(store, aReport({ host: `provider-${other}` }))).toMatchObject({ kind: 'exists' });
      await mustCommit(store, aReport());
      expect(await commit(store, aReport({ host: 'host-2' }))).toMatchObject({ kind: 'exists', key: providerUuid });
    });

    it('are enabled and disabled by operators, which reports leave alone', async () => {
      await mustCommit(store, aReport());
      const disable = { kind: 'set_host_enabled', host: 'host-1', enabled: false, reason: 'broken fan' } as const;
      await mustCommit(store, disable);
      expect(await commit(store, disable)).toEqual({ kind: 'unchanged' });
      await mustCommit(store, aReport({ sequence: 2, ioOps: 1 }));
      expect(await hosts()).toMatchObject([{ enabled: false, disabledReason: 'broken fan' }]);
      expect(await commit(store, { ...disable, host: 'nobody' })).toMatchObject({ kind: 'not_found' });
    });

    it('count failures that fade', async () => {
      await mustCommit(store, aReport());
      const fail = (atMs: number) =>
        mustCommit(store, { kind: 'record_failure', host: 'host-1', halfLifeMs: 1_000, atMs });
      await fail(AT_MS);
      await fail(AT_MS);
      await fail(AT_MS + 1_000);
      expect(await hosts()).toMatchObject([{ failures: 2, lastFailureAtMs: AT_MS + 1_000 }]);
    });

    it('are taken as down when they are silent, and up again when they report', async () => {
      for (const n of [1, 2, 3]) {
        const uuid = `a0000000-0000-4000-8000-00000000000${n}`;
        await mustCommit(store, aReport({ host: `host-${n}`, providerUuid: uuid }));
      }
      await beat(2, AT_MS + 2_000, 'host-2');
      await beat(3, AT_MS + 1_000, 'host-2');
      const sweep = { kind: 'sweep_hosts', silentSinceMs: AT_MS + 1_500, limit: 1 } as const;
      const change = await mustCommit(store, sweep);
      expect(change.hosts).toMatchObject([{ name: 'host-1', up: false }]);
      await mustCommit(store, sweep);
      expect(await commit(store, sweep)).toEqual({ kind: 'unchanged' });
      expect((await hosts()).map((host) => host.up)).toEqual([false, true, false]);
      await mustCommit(store, { ...aReport({ sequence: 2 }), atMs: AT_MS + 3_000 });
      expect((await hosts()).map((host) => host.up)).toEqual([true, true, false]);
    });

    it('go with their provider', async () => {
      await mustCommit(store, aReport());
      const change = await mustCommit(store, { kind: 'delete_provider', uuid: providerUuid });
      expect(change).toMatchObject({ deletedHosts: ['host-1'], deletedProviders: [providerUuid] });
      const sweep = { kind: 'sweep_hosts', silentSinceMs: AT_MS + 1, limit: 10 } as const;
      expect(await commit(store, sweep)).toEqual({ kind: 'unchanged' });
    });
  });
}
