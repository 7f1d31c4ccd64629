import type { Device } from '../../../domain/devices/device';
import { inventory } from '../../../domain/inventory';
import { nestedProviderName, nestedProviderUuid } from '../../../placement/port/nested-provider';
import type { NestedReport, PlacementStore } from '../../../placement/port/placement-store';
import { aReport, aWrite, claim, commit, contentsOf, mustCommit, mustReport } from '../placement';
import { aDevice, nestedDevices } from './devices';

const { providerUuid: ROOT, host: HOST } = aReport();
const uuidOf = (name: string) => nestedProviderUuid(ROOT, name);
const [NUMA0, NUMA1, GPU] = [uuidOf('numa0'), uuidOf('numa1'), uuidOf('gpu')];

export function describeNested(open: () => PlacementStore, another: () => Promise<PlacementStore>): void {
  describe('providers nested in a host', () => {
    let store: PlacementStore;
    let sequence: number;
    beforeEach(() => {
      store = open();
      sequence = 0;
    });

    const report = (nested: readonly NestedReport[]) =>
      store.reportHost(aReport({ inventories: {}, sequence: ++sequence, nested }));
    const mustSay = (nested: readonly NestedReport[]) =>
      mustReport(store, aReport({ inventories: {}, sequence: ++sequence, nested }));
    const provider = async (uuid: string) => (await contentsOf(store)).providers.find((one) => one.uuid === uuid);
    const about = (providerUuid: string) => ({ providerUuid, generation: undefined });

    it('come with their report, and are of its tree', async () => {
      const gpu = aNested('gpu', 'numa0', { CUSTOM_GPU: inventory(4) }, ['CUSTOM_FAST']);
      const change = await mustSay([gpu, aNested('numa0')]);
      expect(change.providers).toHaveLength(3);
      expect(await provider(GPU)).toMatchObject({
        name: 'host-1:gpu',
        parentUuid: NUMA0,
        rootUuid: ROOT,
        inventories: { CUSTOM_GPU: inventory(4) },
        traits: ['CUSTOM_FAST'],
      });
      expect(await provider(NUMA0)).toMatchObject({ parentUuid: ROOT, rootUuid: ROOT });
      const inUse = { kind: 'in_use', by: 'providers' };
      const deletion = { kind: 'delete_name', catalogue: 'trait', name: 'CUSTOM_FAST' } as const;
      expect(await commit(store, deletion)).toMatchObject(inUse);
    });

    it('are devices when they are reported so, as the last report says, also while they are claimed and gone', async () => {
      const gpu = (model: string) =>
        nestedDevices(HOST, ROOT, { gpu: aDevice({ model }, { taints: { worn: 'yes' } }) });
      await mustSay(gpu('A100'));
      expect((await provider(GPU))?.device).toEqual(aDevice({ model: 'A100' }, { taints: { worn: 'yes' } }));
      await mustSay(gpu('H100'));
      expect(await provider(GPU)).toMatchObject({
        device: { attributes: { model: { kind: 'string', value: 'H100' } } },
        inventories: { CUSTOM_DEVICE: { total: 1 } },
      });
      const held = aWrite({ [GPU]: { CUSTOM_DEVICE: 1 } });
      await claim(store, held);
      await mustSay([]);
      expect((await provider(GPU))?.device?.attributes['model']?.value).toBe('H100');
      await mustSay([aNested('gpu')]);
      expect((await provider(GPU))?.device).toBeUndefined();
    });

    it('keep the taints that operators gave them over reports, and while they are gone', async () => {
      const gpu = (taints: Readonly<Record<string, string>>) =>
        nestedDevices(HOST, ROOT, { gpu: aDevice({ model: 'A100' }, { taints }) });
      const taint = (value: string) =>
        ({ kind: 'taint_device', host: HOST, device: 'gpu', key: 'worn', value, most: 2 }) as const;
      const taints = async () => (await provider(GPU))?.device?.taints;
      await mustSay(gpu({ slow: 'yes' }));
      const change = await mustCommit(store, taint('fan'));
      expect(change.providers?.[0]?.device?.taints).toEqual({ slow: 'yes', worn: 'fan' });
      expect(await commit(store, taint('fan'))).toEqual({ kind: 'unchanged' });
      await mustSay(gpu({ worn: 'agent' }));
      expect(await taints()).toEqual({ worn: 'fan' });
      await mustSay([]);
      await mustSay(gpu({}));
      expect(await taints()).toEqual({ worn: 'fan' });
      await mustCommit(store, taint(''));
      expect(await taints()).toEqual({});
      await mustSay([]);
      expect(await provider(GPU)).toBeUndefined();
      expect(await commit(store, taint('fan'))).toMatchObject({ kind: 'not_found', subject: 'provider' });
      const elsewhere = { ...taint('fan'), host: 'nobody' };
      expect(await commit(store, elsewhere)).toMatchObject({ kind: 'not_found', subject: 'host' });
    });

    it('say since when a taint moves who has a device away, of its agent and of operators', async () => {
      const worn = { taints: { worn: 'fan' }, evicts: { worn: 0 } };
      const gpu = (rest: Partial<Device>) => nestedDevices(HOST, ROOT, { gpu: aDevice({ model: 'A100' }, rest) });
      const evicts = async () => (await provider(GPU))?.device?.evicts;
      await mustSay(gpu({ taints: { worn: 'fan' } }));
      expect(await evicts()).toBeUndefined();
      await mustSay(gpu(worn));
      const first = await evicts();
      expect(first?.['worn']).toBeGreaterThan(0);
      await mustSay(gpu({ ...worn, attributes: {} }));
      expect(await evicts()).toEqual(first);
      const taint = { kind: 'taint_device', host: HOST, device: 'gpu', key: 'worn', most: 2 } as const;
      await mustCommit(store, { ...taint, value: 'known' });
      expect(await evicts()).toBeUndefined();
      await mustCommit(store, { ...taint, value: 'known', noExecute: true });
      const second = await evicts();
      expect(second?.['worn']).toBeGreaterThan(0);
      expect(await commit(store, { ...taint, value: 'known', noExecute: true })).toEqual({ kind: 'unchanged' });
      await mustSay(gpu({}));
      expect([(await provider(GPU))?.device?.taints, await evicts()]).toEqual([{ worn: 'known' }, second]);
      expect((await store.reported([GPU]))[0]?.device?.evicts).toEqual(second);
      await mustCommit(store, { ...taint, value: '' });
      expect(await evicts()).toBeUndefined();
    });

    it('take no more taints than a limit, of operators who taint at the same time either', async () => {
      await mustSay(nestedDevices(HOST, ROOT, { gpu: aDevice({ model: 'A100' }, { taints: { slow: 'yes' } }) }));
      const taint = (key: string, value = 'yes') =>
        commit(store, { kind: 'taint_device', host: HOST, device: 'gpu', key, value, most: 3 });
      const kinds = (await Promise.all(['a', 'b', 'c', 'd'].map((key) => taint(key)))).map(({ kind }) => kind);
      expect(kinds.toSorted()).toEqual(['committed', 'committed', 'full', 'full']);
      expect(await taint('e')).toEqual({ kind: 'full', subject: 'taint', most: 3 });
      expect(await taint('slow', 'very')).toMatchObject({ kind: 'committed' });
      const taints = Object.keys((await provider(GPU))?.device?.taints ?? {});
      expect(taints).toHaveLength(3);
      expect(await taint(taints.find((key) => key !== 'slow') ?? '', '')).toMatchObject({ kind: 'committed' });
      expect(await taint('e')).toMatchObject({ kind: 'committed' });
    });

    it('go with their host when nothing is allocated there, and come back with a report', async () => {
      await mustSay([aNested('gpu', 'numa0', { CUSTOM_GPU: inventory(4) }), aNested('numa0')]);
      const held = aWrite({ [GPU]: { CUSTOM_GPU: 1 } });
      const claimed = await claim(store, held);
      const deletion = { kind: 'delete_host', host: HOST } as const;
      const inUse = { kind: 'in_use', subject: 'provider', key: 'host-1:gpu', by: 'allocations' };
      expect(await commit(store, deletion)).toMatchObject(inUse);
      const claimToken = claimed.kind === 'committed' ? claimed.claimToken : 0;
      await mustCommit(store, { kind: 'release_claim', consumerUuid: held.uuid, claimToken });
      const change = await mustCommit(store, deletion);
      expect(change.deletedHosts).toEqual([HOST]);
      expect(new Set(change.deletedProviders)).toEqual(new Set([ROOT, NUMA0, GPU]));
      expect(await contentsOf(store)).toMatchObject({ hosts: [], providers: [] });
      expect(await commit(store, deletion)).toMatchObject({ kind: 'not_found', subject: 'host', key: HOST });
      await mustSay([aNested('gpu', 'numa0', { CUSTOM_GPU: inventory(4) }), aNested('numa0')]);
      expect((await contentsOf(store)).providers).toHaveLength(3);
    });

    it('commit nothing when nothing is new, through any client', async () => {
      await mustSay([aNested('numa0'), aNested('numa1')]);
      const revision = await store.revision();
      expect(await report([aNested('numa0'), aNested('numa1')])).toEqual({ kind: 'unchanged' });
      const again = aReport({ inventories: {}, sequence: 9, nested: [aNested('numa0'), aNested('numa1')] });
      expect(await (await another()).reportHost(again)).toEqual({ kind: 'unchanged' });
      expect(await store.revision()).toBe(revision);
    });

    it('are what is reported again when somebody else changed or deleted one', async () => {
      const both = [aNested('numa0', '', undefined, ['HW_NUMA_ROOT']), aNested('numa1')];
      await mustSay(both);
      await report(both);
      await mustCommit(await another(), { kind: 'write_traits', ...about(NUMA0), traits: [] });
      await mustSay(both);
      expect(await provider(NUMA0)).toMatchObject({ traits: ['HW_NUMA_ROOT'] });
      await mustCommit(await another(), { kind: 'delete_provider', uuid: NUMA1 });
      await mustSay(both);
      expect(await provider(NUMA1)).toMatchObject({ rootUuid: ROOT });
    });

    it('move below another parent, with what is below them, and keep their claims and generation', async () => {
      await mustSay([aNested('numa0'), aNested('numa1'), aNested('gpu', 'numa0', { VGPU: inventory(1) })]);
      await claim(store, aWrite({ [GPU]: { VGPU: 1 } }));
      const before = await provider(GPU);
      await mustSay([aNested('numa0'), aNested('numa1'), aNested('gpu', 'numa1', { VGPU: inventory(1) })]);
      expect(await provider(GPU)).toMatchObject({ parentUuid: NUMA1, generation: before?.generation });
      expect((await contentsOf(store)).usages).toContainEqual(
        expect.objectContaining({ providerUuid: GPU, used: { VGPU: 1 } }),
      );
    });

    it('go when they are reported no more, from the leaves on, and free their names', async () => {
      await mustSay([aNested('numa0'), aNested('gpu', 'numa0', { CUSTOM_GPU: inventory(1) })]);
      const change = await mustSay([]);
      expect([...(change.deletedProviders ?? [])].sort()).toEqual([GPU, NUMA0].sort());
      expect((await contentsOf(store)).providers).toMatchObject([{ uuid: ROOT }]);
      await mustCommit(store, { kind: 'delete_name', catalogue: 'resource_class', name: 'CUSTOM_GPU' });
      const name = nestedProviderName(HOST, 'numa0');
      await mustCommit(store, { kind: 'put_provider', mode: 'create', uuid: NUMA0, name, parentUuid: undefined });
    });

    it('stay with nothing left to claim while something is claimed on them, and go once it is released', async () => {
      const all = [aNested('numa0'), aNested('gpu', 'numa0', { VGPU: inventory(4), DISK_GB: inventory(9) })];
      await mustSay(all);
      const held = aWrite({ [GPU]: { VGPU: 1 } });
      await claim(store, held);
      await mustSay([]);
      expect(await provider(GPU)).toMatchObject({
        inventories: { VGPU: inventory(4, { reserved: 4 }), DISK_GB: inventory(9, { reserved: 9 }) },
        parentUuid: NUMA0,
      });
      expect(await claim(store, aWrite({ [GPU]: { VGPU: 1 } }))).toMatchObject({ kind: 'capacity' });
      expect(await report([])).toEqual({ kind: 'unchanged' });
      await claim(store, { ...held, allocations: {} });
      const change = await mustSay([]);
      expect([...(change.deletedProviders ?? [])].sort()).toEqual([GPU, NUMA0].sort());
    });

    it('are as before when they come back', async () => {
      await mustSay([aNested('gpu', '', { VGPU: inventory(4) })]);
      await claim(store, aWrite({ [GPU]: { VGPU: 1 } }));
      await mustSay([]);
      await mustSay([aNested('gpu', '', { VGPU: inventory(4) })]);
      expect(await provider(GPU)).toMatchObject({ inventories: { VGPU: inventory(4) } });
    });

    it('keep what operators and clients decided of them, also while they are gone', async () => {
      const all = [aNested('numa0', '', { VCPU: inventory(8) }, ['HW_NUMA_ROOT'])];
      await mustSay(all);
      const operators = { VCPU: inventory(8, { reserved: 2, allocationRatio: 4 }) };
      await mustCommit(store, { kind: 'write_inventories', ...about(NUMA0), inventories: operators, replace: false });
      await mustCommit(store, { kind: 'create_name', catalogue: 'trait', name: 'CUSTOM_MINE' });
      await mustCommit(store, { kind: 'write_traits', ...about(NUMA0), traits: ['HW_NUMA_ROOT', 'CUSTOM_MINE'] });
      await mustCommit(store, { kind: 'write_aggregates', ...about(NUMA0), aggregates: ['agg-1'] });
      await report(all);
      const before = await provider(NUMA0);
      expect(before).toMatchObject({ inventories: operators, aggregates: ['agg-1'] });
      await mustSay([]);
      expect(await provider(NUMA0)).toMatchObject({
        inventories: { VCPU: inventory(8, { reserved: 8, allocationRatio: 4 }) },
      });
      await mustSay(all);
      const { inventories, traits, aggregates } = (await provider(NUMA0)) ?? {};
      expect({ inventories, aggregates }).toEqual({ inventories: operators, aggregates: ['agg-1'] });
      expect([...(traits ?? [])].sort()).toEqual(['CUSTOM_MINE', 'HW_NUMA_ROOT']);
    });

    it('leave alone what a client nested in the host', async () => {
      await mustSay([aNested('numa0')]);
      const uuid = 'c0000000-0000-4000-8000-000000000001';
      await mustCommit(store, { kind: 'put_provider', mode: 'create', uuid, name: 'mine', parentUuid: NUMA0 });
      await mustSay([aNested('numa0', '', { VCPU: inventory(2) })]);
      await report([]);
      expect(await provider(uuid)).toMatchObject({ parentUuid: NUMA0, rootUuid: ROOT });
      expect(await provider(NUMA0)).toMatchObject({ inventories: { VCPU: inventory(2, { reserved: 2 }) } });
    });

    it('are refused under a name that another provider has, and in a tree that is not the host’s', async () => {
      const name = nestedProviderName(HOST, 'numa0');
      await mustCommit(store, { kind: 'put_provider', mode: 'create', uuid: GPU, name, parentUuid: undefined });
      expect(await report([aNested('numa0')])).toEqual({ kind: 'exists', subject: 'provider', key: name });
      expect(await report([aNested('gpu')])).toEqual({ kind: 'exists', subject: 'provider', key: GPU });
      expect((await contentsOf(store)).hosts).toEqual([]);
    });
  });
}

function aNested(
  name: string,
  parent = '',
  inventories: NestedReport['inventories'] = { VCPU: inventory(4) },
  traits: readonly string[] = [],
): NestedReport {
  const parentUuid = parent === '' ? ROOT : uuidOf(parent);
  return { uuid: uuidOf(name), name: nestedProviderName(HOST, name), parentUuid, inventories, traits };
}
