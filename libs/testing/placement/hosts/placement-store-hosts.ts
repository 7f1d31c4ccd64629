import { inventory } from '../../../domain/inventory';
import { MAX_NAMES_BY_AGENT } from '../../../placement/commands/catalogue';
import { hostProviderUuid, nestedProviderUuid } from '../../../placement/port/nested-provider';
import type { PlacementStore } from '../../../placement/port/placement-store';
import {
  AT_MS,
  aFailure,
  aProvider,
  aReport,
  aWrite,
  claim,
  commit,
  contentsOf,
  mustCommit,
  mustReport,
} from '../placement';

export function describeHosts(open: () => PlacementStore, another: () => Promise<PlacementStore>): void {
  describe('hosts', () => {
    let store: PlacementStore;
    beforeEach(() => {
      store = open();
    });

    const hosts = async () => (await contentsOf(store)).hosts;
    const { providerUuid } = aReport();

    it('come with their provider and whatever names the report has', async () => {
      const inventories = { VCPU: inventory(8), CUSTOM_GOLD: inventory(1) };
      await mustReport(store, aReport({ inventories, traits: ['CUSTOM_FAST'], aggregates: ['agg-1'] }));
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
      await mustReport(store, aReport({ sequence: 5 }));
      const revision = await store.revision();
      expect(await store.reportHost(aReport({ sequence: 5 }))).toEqual({ kind: 'stale', present: 5 });
      expect(await store.reportHost(aReport({ sequence: 7 }))).toEqual({ kind: 'unchanged' });
      expect(await store.reportHost(aReport({ sequence: 6 }))).toEqual({ kind: 'stale', present: 7 });
      expect(await store.revision()).toBe(revision);
      expect(await store.reportHost(aReport({ sequence: 1, agentRun: 'run-2' }))).toMatchObject({ kind: 'committed' });
    });

    it('commit nothing when they report nothing new, through any client', async () => {
      await mustReport(store, aReport({ sequence: 5 }));
      const revision = await store.revision();
      const other = await another();
      expect(await store.reportHost(aReport({ sequence: 7 }))).toEqual({ kind: 'unchanged' });
      expect(await other.reportHost(aReport({ sequence: 7 }))).toEqual({ kind: 'stale', present: 7 });
      expect(await other.reportHost(aReport({ sequence: 10 }))).toEqual({ kind: 'unchanged' });
      expect(await other.reportHost(aReport({ sequence: 12 }))).toEqual({ kind: 'unchanged' });
      expect(await store.reportHost(aReport({ sequence: 11 }))).toEqual({ kind: 'stale', present: 12 });
      expect(await store.revision()).toBe(revision);
    });

    it('report together, each answered by itself', async () => {
      await mustReport(store, aReport());
      const other = aReport({ host: 'host-2', providerUuid: 'a0000000-0000-4000-8000-000000000002' });
      const answers = await Promise.all(
        [aReport({ sequence: 2 }), aReport({ sequence: 2 }), other].map((one) => store.reportHost(one)),
      );
      expect(answers).toMatchObject([{ kind: 'unchanged' }, { kind: 'stale', present: 2 }, { kind: 'committed' }]);
    });

    it('are what they report again when somebody else changed their provider', async () => {
      const traits = ['HW_CPU_X86_AVX2'];
      await mustReport(store, aReport({ traits }));
      await store.reportHost(aReport({ traits, sequence: 2 }));
      await mustCommit(await another(), { kind: 'write_traits', providerUuid, generation: undefined, traits: [] });
      await mustReport(store, aReport({ traits, sequence: 3 }));
      expect((await contentsOf(store)).providers).toMatchObject([{ traits }]);
    });

    it('drop a class that was in use when they left it out, once it is free', async () => {
      await mustReport(store, aReport());
      const write = aWrite({ [providerUuid]: { VCPU: 1 } });
      await claim(store, write);
      const inventories = { DISK_GB: inventory(1) };
      await mustReport(store, aReport({ sequence: 2, inventories }));
      await claim(store, { ...write, allocations: {} });
      await mustReport(store, aReport({ sequence: 3, inventories }));
      expect((await contentsOf(store)).providers[0]?.inventories).toEqual(inventories);
    });

    it('move to another service host when a report says so', async () => {
      await mustReport(store, aReport({ serviceHost: 'rack-1' }));
      await mustReport(store, aReport({ sequence: 2, serviceHost: 'rack-2' }));
      expect(await hosts()).toMatchObject([{ name: 'host-1', serviceHost: 'rack-2' }]);
    });

    it('keep a class in use that the report leaves out, with nothing left to claim, and drop one that is not', async () => {
      await mustReport(store, aReport());
      await claim(store, aWrite({ [providerUuid]: { VCPU: 1 } }));
      await mustReport(store, aReport({ sequence: 2, inventories: { DISK_GB: inventory(1) } }));
      const [provider] = (await contentsOf(store)).providers;
      expect(provider).toMatchObject({ generation: 2 });
      expect(provider?.inventories).toEqual({ DISK_GB: inventory(1), VCPU: inventory(8, { reserved: 8 }) });
    });

    const root = async () => (await contentsOf(store)).providers[0];
    const about = { providerUuid, generation: undefined };

    it('keep what operators reserve and which ratio they set, and take totals and what others use from reports', async () => {
      const reportVcpu = (total: number, sequence: number, VCPU: number) =>
        store.reportHost(
          aReport({ sequence, inventories: { VCPU: inventory(total, { reserved: VCPU }) }, externalUsage: { VCPU } }),
        );
      await reportVcpu(8, 1, 1);
      const operators = { VCPU: inventory(8, { reserved: 3, allocationRatio: 4 }) };
      await mustCommit(store, { kind: 'write_inventories', ...about, inventories: operators, replace: true });
      expect(await root()).toMatchObject({ inventories: operators });
      await reportVcpu(8, 2, 1);
      expect(await root()).toMatchObject({ inventories: operators });
      await reportVcpu(16, 3, 4);
      expect(await root()).toMatchObject({ inventories: { VCPU: inventory(16, { reserved: 6, allocationRatio: 4 }) } });
      await reportVcpu(16, 4, 16);
      await reportVcpu(16, 5, 0);
      expect(await root()).toMatchObject({ inventories: { VCPU: inventory(16, { reserved: 2, allocationRatio: 4 }) } });
    });

    it('bring names up to the share of their agent, which a name that is deleted gives back', async () => {
      const traits = Array.from({ length: MAX_NAMES_BY_AGENT }, (_, n) => `CUSTOM_${n}`);
      await mustReport(store, aReport({ reporter: 'rack', traits }));
      const more = aReport({ reporter: 'rack', sequence: 2, traits: [...traits.slice(1), 'CUSTOM_MORE'] });
      expect(await store.reportHost(more)).toEqual({ kind: 'full', subject: 'trait', most: MAX_NAMES_BY_AGENT });
      await mustReport(store, aReport({ reporter: 'rack', sequence: 3, traits: traits.slice(1) }));
      await mustCommit(store, { kind: 'delete_name', catalogue: 'trait', name: 'CUSTOM_0' });
      expect(await store.reportHost({ ...more, sequence: 4 })).toMatchObject({ kind: 'committed' });
    });

    it('leave what a client wrote of a provider that an operator lets their host take', async () => {
      await mustCommit(store, {
        kind: 'put_provider',
        mode: 'create',
        uuid: providerUuid,
        name: 'host-1',
        parentUuid: undefined,
      });
      const written = {
        VCPU: inventory(4, { reserved: 2, allocationRatio: 3 }),
        DISK_GB: inventory(5, { reserved: 1 }),
      };
      await mustCommit(store, { kind: 'write_inventories', ...about, inventories: written, replace: true });
      await mustCommit(store, { kind: 'create_name', catalogue: 'trait', name: 'CUSTOM_FAST' });
      await mustCommit(store, { kind: 'write_traits', ...about, traits: ['CUSTOM_FAST'] });
      await mustCommit(store, { kind: 'write_aggregates', ...about, aggregates: ['agg-1'] });
      const reported = (sequence: number, external: number) => {
        const VCPU = inventory(8, { reserved: 1 + external, allocationRatio: 16 });
        const measured = { VCPU, MEMORY_MB: inventory(64, { reserved: 5 }) };
        return aReport({
          sequence,
          mayTake: true,
          inventories: measured,
          externalUsage: { VCPU: external },
          traits: ['HW_CPU_X86_AVX'],
        });
      };
      for (const [n, external] of [0, 3, 0].entries()) {
        await mustReport(store, reported(n + 1, external));
        const { inventories, traits, aggregates } = (await root()) ?? {};
        expect(inventories).toEqual({
          VCPU: inventory(8, { reserved: 2 + external, allocationRatio: 3 }),
          MEMORY_MB: inventory(64, { reserved: 5 }),
          DISK_GB: inventory(5, { reserved: 1 }),
        });
        expect([[...(traits ?? [])].sort(), aggregates]).toEqual([['CUSTOM_FAST', 'HW_CPU_X86_AVX'], ['agg-1']]);
        const externalUsage = external > 0 ? { VCPU: external } : {};
        const agents = [{ uuid: providerUuid, traits: ['HW_CPU_X86_AVX'], externalUsage }];
        expect(await store.reported([providerUuid, 'no-such-provider'])).toEqual(agents);
      }
      const wanted = { VCPU: inventory(8, { reserved: 1, allocationRatio: 16 }) };
      await mustCommit(store, { kind: 'write_inventories', ...about, inventories: wanted, replace: false });
      await mustReport(store, reported(9, 1));
      expect((await root())?.inventories['VCPU']).toEqual(inventory(8, { reserved: 2, allocationRatio: 16 }));
    });

    it('keep classes and traits that somebody else gave their provider, and take back only their own', async () => {
      const own = { VCPU: inventory(8), CUSTOM_GOLD: inventory(1) };
      await mustReport(store, aReport({ inventories: own, traits: ['CUSTOM_FAST', 'HW_CPU_X86_AVX2'] }));
      const more = { CUSTOM_GOLD: inventory(1), DISK_GB: inventory(5) };
      await mustCommit(store, { kind: 'write_inventories', ...about, inventories: more, replace: false });
      const traits = ['HW_CPU_X86_AVX', 'CUSTOM_FAST', 'HW_CPU_X86_AVX2'];
      await mustCommit(store, { kind: 'write_traits', ...about, traits });
      await store.reportHost(aReport({ sequence: 2, inventories: own, traits: ['CUSTOM_FAST', 'HW_CPU_X86_AVX2'] }));
      expect((await root())?.traits).toEqual(traits);
      await mustReport(store, aReport({ sequence: 3, inventories: { VCPU: inventory(8) }, traits: ['CUSTOM_FAST'] }));
      const { inventories, traits: left } = (await root()) ?? {};
      expect(inventories).toEqual({ VCPU: inventory(8), DISK_GB: inventory(5) });
      expect([...(left ?? [])].sort()).toEqual(['CUSTOM_FAST', 'HW_CPU_X86_AVX']);
    });

    it('leave a generation as it is when they report again what operators changed', async () => {
      await mustReport(store, aReport());
      const operators = { VCPU: inventory(8, { reserved: 3 }) };
      await mustCommit(store, { kind: 'write_inventories', ...about, inventories: operators, replace: false });
      const before = await contentsOf(store);
      expect(await store.reportHost(aReport({ sequence: 2 }))).toEqual({ kind: 'unchanged' });
      expect(await contentsOf(store)).toEqual(before);
    });

    it('bring no aggregate back that an operator took away, unless they report others', async () => {
      await mustReport(store, aReport({ aggregates: ['agg-1'] }));
      await mustCommit(store, { kind: 'write_aggregates', ...about, aggregates: ['agg-2'] });
      await store.reportHost(aReport({ sequence: 2, aggregates: ['agg-1'] }));
      expect((await root())?.aggregates).toEqual(['agg-2']);
      await mustReport(store, aReport({ sequence: 3, aggregates: ['agg-3'] }));
      expect([...((await root())?.aggregates ?? [])].sort()).toEqual(['agg-2', 'agg-3']);
    });

    it('leave aggregates alone when the report does not name them', async () => {
      await mustReport(store, aReport());
      const write = { providerUuid, generation: undefined, aggregates: ['agg-1'] };
      await mustCommit(store, { kind: 'write_aggregates', ...write });
      await mustReport(store, aReport({ sequence: 2, ioOps: 3 }));
      expect(await contentsOf(store)).toMatchObject({ providers: [{ aggregates: ['agg-1'] }], hosts: [{ ioOps: 3 }] });
    });

    it('refuse the name of another provider and the provider of another host', async () => {
      const other = await aProvider(store, {});
      expect(await store.reportHost(aReport({ host: `provider-${other}` }))).toMatchObject({ kind: 'exists' });
      await mustReport(store, aReport());
      expect(await store.reportHost(aReport({ host: 'host-2' }))).toMatchObject({ kind: 'exists', key: providerUuid });
    });

    it('refuse a provider that is there and no host’s, whatever it is called, and leave it as it is', async () => {
      const nova = await aProvider(store, { VCPU: inventory(8) });
      const before = await contentsOf(store);
      const take = aReport({ providerUuid: nova, inventories: { VCPU: inventory(1_000) } });
      for (const host of ['host-1', `provider-${nova}`]) {
        expect(await store.reportHost({ ...take, host })).toMatchObject({ kind: 'exists', key: nova });
      }
      expect(await contentsOf(store)).toEqual(before);
      expect(await store.reportHost({ ...take, mayTake: true })).toMatchObject({ kind: 'committed' });
      expect(await store.reportHost({ ...take, sequence: 2, ioOps: 1 })).toMatchObject({ kind: 'committed' });
    });

    it('create no provider by a uuid that is made of another host’s name, or of a device of one', async () => {
      for (const uuid of [hostProviderUuid('cell1', 'host-2'), nestedProviderUuid(providerUuid, 'gpu0')]) {
        expect(await store.reportHost(aReport({ providerUuid: uuid }))).toMatchObject({ kind: 'exists', key: uuid });
      }
      await mustReport(store, aReport({ providerUuid: hostProviderUuid('cell1', 'host-1') }));
    });

    it('are enabled and disabled by operators, which reports leave alone', async () => {
      await mustReport(store, aReport());
      const disable = { kind: 'set_host_enabled', host: 'host-1', enabled: false, reason: 'broken fan' } as const;
      await mustCommit(store, disable);
      expect(await commit(store, disable)).toEqual({ kind: 'unchanged' });
      await mustReport(store, aReport({ sequence: 2, ioOps: 1 }));
      expect(await hosts()).toMatchObject([{ enabled: false, disabledReason: 'broken fan' }]);
      expect(await commit(store, { ...disable, host: 'nobody' })).toMatchObject({ kind: 'not_found' });
    });

    it('say by a trait of their root provider that they are disabled, as Nova does', async () => {
      const provider = async () => (await contentsOf(store)).providers[0];
      await mustReport(store, aReport({ traits: ['HW_CPU_X86_AVX2'] }));
      const before = await provider();
      await mustCommit(store, { kind: 'set_host_enabled', host: 'host-1', enabled: false, reason: 'broken fan' });
      expect(await provider()).toMatchObject({
        traits: ['HW_CPU_X86_AVX2', 'COMPUTE_STATUS_DISABLED'],
        generation: (before?.generation ?? 0) + 1,
      });
      await mustReport(store, aReport({ sequence: 2, traits: ['HW_CPU_X86_AVX'] }));
      expect(new Set((await provider())?.traits)).toEqual(new Set(['HW_CPU_X86_AVX', 'COMPUTE_STATUS_DISABLED']));
      await mustCommit(store, { kind: 'set_host_enabled', host: 'host-1', enabled: true, reason: '' });
      expect(await provider()).toMatchObject({ traits: ['HW_CPU_X86_AVX'] });
    });

    it('are disabled in a store that does not know them, if their agent remembers that', async () => {
      const disabled = { reason: 'broken fan' };
      await mustReport(store, aReport({ disabled }));
      expect(await hosts()).toMatchObject([{ enabled: false, disabledReason: 'broken fan' }]);
      await mustCommit(store, { kind: 'set_host_enabled', host: 'host-1', enabled: true, reason: '' });
      expect(await store.reportHost(aReport({ sequence: 2, disabled }))).toEqual({ kind: 'unchanged' });
      expect(await hosts()).toMatchObject([{ enabled: true }]);
    });

    it('count failures that fade', async () => {
      await mustReport(store, aReport());
      const fail = (atMs: number) => mustCommit(store, aFailure({ atMs }));
      await fail(AT_MS);
      await fail(AT_MS);
      await fail(AT_MS + 1_000);
      expect(await hosts()).toMatchObject([{ failures: 2, lastFailureAtMs: AT_MS + 1_000 }]);
    });

    it('count failures in a row, each begun after the one before, until one builds', async () => {
      await mustReport(store, aReport());
      await mustCommit(store, aFailure({ atMs: AT_MS + 10, startedAtMs: AT_MS }));
      await mustCommit(store, aFailure({ atMs: AT_MS + 11, startedAtMs: AT_MS + 9 }));
      await mustCommit(store, aFailure({ atMs: AT_MS + 11, startedAtMs: undefined }));
      await mustCommit(store, aFailure({ atMs: AT_MS + 20, startedAtMs: AT_MS + 11, reason: 'x'.repeat(1_000) }));
      expect(await hosts()).toMatchObject([{ failuresInARow: 2, lastFailure: 'x'.repeat(200) }]);
      await mustReport(store, aReport({ sequence: 2, ioOps: 3 }));
      expect(await hosts()).toMatchObject([{ failuresInARow: 2 }]);
      await mustCommit(store, { kind: 'clear_failures', host: 'host-1' });
      expect(await hosts()).toMatchObject([{ failuresInARow: 0, failures: expect.closeTo(4, 1) }]);
      expect(await store.commit({ kind: 'clear_failures', host: 'host-1', atMs: AT_MS })).toEqual({
        kind: 'unchanged',
      });
      expect(await store.commit(aFailure({ host: 'nobody' }))).toMatchObject({ kind: 'not_found' });
    });

    it('are taken as down when they are silent, and up again when they report', async () => {
      for (const n of [1, 2, 3]) {
        const uuid = `a0000000-0000-4000-8000-00000000000${n}`;
        await mustReport(store, aReport({ host: `host-${n}`, providerUuid: uuid }));
      }
      const host2 = { host: 'host-2', providerUuid: 'a0000000-0000-4000-8000-000000000002' };
      await store.reportHost(aReport({ ...host2, sequence: 2, atMs: AT_MS + 2_000 }));
      await store.reportHost(aReport({ ...host2, sequence: 3, atMs: AT_MS + 1_000 }));
      const sweep = { kind: 'sweep_hosts', silentSinceMs: AT_MS + 1_500, limit: 1 } as const;
      const names = ['host-1', 'host-2', 'host-9'];
      const heard: readonly [string, number][] = [
        ['host-1', AT_MS],
        ['host-2', AT_MS + 2_000],
      ];
      expect(await store.heardAt(names)).toEqual(new Map(heard));
      const change = await mustCommit(store, sweep);
      expect(change.hosts).toMatchObject([{ name: 'host-1', up: false }]);
      expect(await store.heardAt(names)).toEqual(new Map(heard.slice(1)));
      await mustCommit(store, sweep);
      expect(await commit(store, sweep)).toEqual({ kind: 'unchanged' });
      expect((await hosts()).map((host) => host.up)).toEqual([false, true, false]);
      await mustReport(store, aReport({ sequence: 2, atMs: AT_MS + 3_000 }));
      expect((await hosts()).map((host) => host.up)).toEqual([true, true, false]);
    });

    it('are unheard until they say what runs there, or are declared dead while they are down', async () => {
      await mustReport(store, aReport());
      const host2 = { host: 'host-2', providerUuid: 'a0000000-0000-4000-8000-000000000002' };
      await mustReport(store, aReport(host2));
      const unheard = async (sinceMs: number) => {
        const names = (await store.unheardHosts(sinceMs)).map(({ name, up }) => `${name} ${up ? 'up' : 'down'}`);
        return names.toSorted();
      };
      expect(await unheard(AT_MS)).toEqual(['host-1 up', 'host-2 up']);
      await mustCommit(store, { kind: 'note_heard', host: 'host-1', saidAfterMs: AT_MS + 1 });
      expect(await commit(store, { kind: 'note_dead', host: 'host-2' })).toEqual({ kind: 'unchanged' });
      expect(await unheard(AT_MS)).toEqual(['host-2 up']);
      await mustCommit(store, { kind: 'sweep_hosts', silentSinceMs: AT_MS, limit: 10 });
      expect(await unheard(AT_MS - 1)).toEqual(['host-2 down']);
      await mustCommit(store, { kind: 'note_dead', host: 'host-2' });
      expect(await unheard(AT_MS - 1)).toEqual([]);
      expect(await unheard(AT_MS + 1)).toEqual(['host-1 down', 'host-2 down']);
      await mustReport(store, aReport({ ...host2, sequence: 2 }));
      expect(await unheard(AT_MS - 1)).toEqual(['host-2 up']);
    });

    it('go with their provider', async () => {
      await mustReport(store, aReport());
      const change = await mustCommit(store, { kind: 'delete_provider', uuid: providerUuid });
      expect(change).toMatchObject({ deletedHosts: ['host-1'], deletedProviders: [providerUuid] });
      const sweep = { kind: 'sweep_hosts', silentSinceMs: AT_MS + 1, limit: 10 } as const;
      expect(await commit(store, sweep)).toEqual({ kind: 'unchanged' });
    });
  });
}
