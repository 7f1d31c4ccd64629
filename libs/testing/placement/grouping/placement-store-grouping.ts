import { randomUUID } from 'node:crypto';
import { MAX_GROUPS_PER_PROJECT } from '../../../domain/server-group';
import type { PlacementStore } from '../../../placement/port/placement-store';
import type { PlacementStoreWorld } from '../placement';
import { AT_MS, aProvider, aReport, aWrite, claim, commit, contentsOf, mustCommit, mustReport } from '../placement';

const { providerUuid } = aReport();
const exists = (key: string) => ({ kind: 'exists', subject: 'aggregate', key });

export function describeGrouping(open: () => PlacementStoreWorld): void {
  let store: PlacementStore;
  const create = async (name: string, metadata: Record<string, string> = {}) => {
    const uuid = randomUUID();
    await mustCommit(store, { kind: 'create_aggregate', uuid, name, metadata });
    return uuid;
  };
  const add = (uuid: string, host = 'host-1') => commit(store, { kind: 'add_aggregate_host', uuid, host });
  const remove = (uuid: string, host = 'host-1') => commit(store, { kind: 'remove_aggregate_host', uuid, host });
  const update = (
    uuid: string,
    change: { readonly name?: string; readonly set?: Record<string, string>; readonly unset?: readonly string[] },
  ) =>
    commit(store, {
      kind: 'update_aggregate',
      uuid,
      name: change.name,
      set: change.set ?? {},
      unset: change.unset ?? [],
    });
  const rootAggregates = async () =>
    (await contentsOf(store)).providers.find(({ uuid }) => uuid === providerUuid)?.aggregates;

  describe('host aggregates', () => {
    beforeEach(async () => {
      store = open().store;
      await mustReport(store, aReport());
    });

    it('are created, changed and deleted, as every reader sees', async () => {
      const uuid = await create('east', { availability_zone: 'east', rack: '7' });
      const row = { uuid, name: 'east', metadata: { availability_zone: 'east', rack: '7' }, createdAtMs: AT_MS };
      expect((await contentsOf(store)).aggregates).toMatchObject([row]);
      await update(uuid, { name: 'far east', set: { ssd: 'true' }, unset: ['rack', 'nothing'] });
      expect((await contentsOf(store)).aggregates).toMatchObject([
        { ...row, name: 'far east', metadata: { availability_zone: 'east', ssd: 'true' } },
      ]);
      await mustCommit(store, { kind: 'delete_aggregate', uuid });
      expect((await contentsOf(store)).aggregates).toEqual([]);
      expect(await commit(store, { kind: 'delete_aggregate', uuid })).toMatchObject({ kind: 'not_found', key: uuid });
    });

    it('have a name of their own, and change nothing when a command comes twice', async () => {
      const uuid = await create('east', { rack: '7' });
      const again = { kind: 'create_aggregate', uuid, name: 'east', metadata: { rack: '7' } } as const;
      expect(await commit(store, again)).toEqual({ kind: 'unchanged' });
      expect(await commit(store, { ...again, metadata: {} })).toEqual(exists(uuid));
      expect(await commit(store, { ...again, uuid: randomUUID() })).toEqual(exists('east'));
      const west = await create('west');
      expect(await update(west, { name: 'east' })).toEqual(exists('east'));
      expect(await update(west, { name: 'west' })).toEqual({ kind: 'unchanged' });
    });

    it('are placement aggregates of the root providers of their hosts', async () => {
      const uuid = await create('east');
      const generation = async () => (await contentsOf(store)).usages[0]?.generation;
      const before = await generation();
      expect(await add(uuid)).toMatchObject({ kind: 'committed' });
      expect(await generation()).toBe((before ?? 0) + 1);
      expect(await add(uuid)).toEqual({ kind: 'unchanged' });
      expect((await contentsOf(store)).hosts).toMatchObject([{ name: 'host-1', aggregates: [uuid] }]);
      expect(await rootAggregates()).toEqual([uuid]);
      expect(await commit(store, { kind: 'delete_aggregate', uuid })).toMatchObject({ kind: 'in_use', by: 'hosts' });
      expect(await remove(uuid)).toMatchObject({ kind: 'committed' });
      expect(await remove(uuid)).toEqual({ kind: 'unchanged' });
      expect(await rootAggregates()).toEqual([]);
      expect(await add(uuid, 'nobody')).toEqual({ kind: 'not_found', subject: 'host', key: 'nobody' });
      expect(await add(randomUUID())).toMatchObject({ kind: 'not_found', subject: 'aggregate' });
    });

    it('leave the aggregates of API clients and agents as they are, and those leave them', async () => {
      const uuid = await create('east');
      const write = { kind: 'write_aggregates', providerUuid, generation: undefined } as const;
      await mustCommit(store, { ...write, aggregates: ['clients-1'] });
      await add(uuid);
      expect(await rootAggregates()).toEqual(['clients-1', uuid]);
      await mustCommit(store, { ...write, aggregates: ['clients-2'] });
      expect(await rootAggregates()).toEqual(['clients-2', uuid]);
      await mustReport(store, aReport({ sequence: 2, aggregates: ['agents', uuid] }));
      await mustReport(store, aReport({ sequence: 3, aggregates: ['agents'] }));
      expect(new Set(await rootAggregates())).toEqual(new Set(['agents', 'clients-2', uuid]));
      await mustReport(store, aReport({ sequence: 4, aggregates: ['agents', uuid] }));
      await remove(uuid);
      expect(new Set(await rootAggregates())).toEqual(new Set(['agents', 'clients-2', uuid]));
    });

    it('stay those of a host that comes with another root provider', async () => {
      const uuid = await create('east');
      await add(uuid);
      await mustCommit(store, {
        kind: 'put_provider',
        uuid: providerUuid,
        name: 'what it was',
        parentUuid: undefined,
        mode: 'update',
      });
      const next = randomUUID();
      await mustReport(store, aReport({ sequence: 2, providerUuid: next }));
      const { providers } = await contentsOf(store);
      expect(providers.find((one) => one.uuid === next)?.aggregates).toEqual([uuid]);
    });

    it('put a host into one zone at most, whichever changes', async () => {
      const east = await create('east', { availability_zone: 'east' });
      const west = await create('west', { availability_zone: 'west' });
      const plain = await create('plain');
      await add(east);
      await add(plain);
      const refusal = { kind: 'zone', host: 'host-1', zone: 'east' };
      expect(await add(west)).toEqual(refusal);
      expect(await update(plain, { set: { availability_zone: 'west' } })).toEqual(refusal);
      expect(await update(plain, { set: { availability_zone: 'east' } })).toMatchObject({ kind: 'committed' });
      await remove(east);
      await update(plain, { unset: ['availability_zone'] });
      expect(await add(west)).toMatchObject({ kind: 'committed' });
    });

    it('move no host with allocations to another zone', async () => {
      const east = await create('east', { availability_zone: 'east' });
      const plain = await create('plain');
      const child = await aProvider(store, undefined, providerUuid);
      const write = aWrite({ [child]: { VCPU: 1 } });
      await claim(store, write);
      const refusal = { kind: 'in_use', subject: 'host', key: 'host-1', by: 'allocations' };
      expect(await add(east)).toEqual(refusal);
      expect(await add(plain)).toMatchObject({ kind: 'committed' });
      expect(await update(plain, { set: { availability_zone: 'far' } })).toEqual(refusal);
      expect(await update(plain, { set: { rack: '7' } })).toMatchObject({ kind: 'committed' });
      await claim(store, { ...write, allocations: {} });
      expect(await update(plain, { set: { availability_zone: 'far' } })).toMatchObject({ kind: 'committed' });
    });

    it('put a host into one of two zones when two clients add it at once', async () => {
      const zones = await Promise.all(
        Array.from({ length: 6 }, (_, n) => create(`zone-${n}`, { availability_zone: `zone-${n}` })),
      );
      const other = await open().another();
      const results = await Promise.all(
        zones.map((uuid, n) =>
          commit(n % 2 === 0 ? store : other, { kind: 'add_aggregate_host', uuid, host: 'host-1' }),
        ),
      );
      expect(results.filter(({ kind }) => kind === 'committed')).toHaveLength(1);
      expect(results.filter(({ kind }) => kind === 'zone')).toHaveLength(5);
    });

    it('go with a host that is deleted', async () => {
      const uuid = await create('east');
      await add(uuid);
      await mustCommit(store, { kind: 'delete_provider', uuid: providerUuid });
      expect(await commit(store, { kind: 'delete_aggregate', uuid })).toMatchObject({ kind: 'committed' });
    });
  });

  describe('stored groups', () => {
    const group = { name: 'web', policy: 'anti-affinity', maxPerHost: 2, metadata: { tier: '1' } } as const;
    const make = (projectId: string, fields: object = {}) =>
      commit(store, { kind: 'create_group', projectId, ...group, ...fields });
    beforeEach(() => {
      store = open().store;
    });

    it('are their project’s, whatever its name, and change nothing when a command comes twice', async () => {
      for (const projectId of ['project-1', 'a project: ü %20\n']) {
        expect(await make(projectId)).toMatchObject({ kind: 'committed' });
        expect(await make(projectId)).toEqual({ kind: 'unchanged' });
        expect(await make(projectId, { maxPerHost: 1 })).toMatchObject({ kind: 'exists', key: 'web' });
      }
      const { serverGroups } = await contentsOf(store);
      expect(serverGroups.map(({ projectId }) => projectId).sort()).toEqual(['a project: ü %20\n', 'project-1']);
      expect(serverGroups[0]).toMatchObject({ ...group, createdAtMs: AT_MS });
      await mustCommit(store, { kind: 'delete_group', projectId: 'project-1', name: 'web' });
      expect((await contentsOf(store)).serverGroups).toHaveLength(1);
      const again = await commit(store, { kind: 'delete_group', projectId: 'project-1', name: 'web' });
      expect(again).toEqual({ kind: 'not_found', subject: 'server_group', key: 'web' });
    });

    it('are bounded in number for each project', async () => {
      const names = Array.from({ length: MAX_GROUPS_PER_PROJECT }, (_, n) => `g-${n}`);
      for (const name of names) await make('project-1', { name });
      expect(await make('project-1', { name: 'one more' })).toMatchObject({
        kind: 'full',
        most: MAX_GROUPS_PER_PROJECT,
      });
      expect(await make('project-2')).toMatchObject({ kind: 'committed' });
      await mustCommit(store, { kind: 'delete_group', projectId: 'project-1', name: 'g-7' });
      expect(await make('project-1', { name: 'one more' })).toMatchObject({ kind: 'committed' });
    });
  });
}
