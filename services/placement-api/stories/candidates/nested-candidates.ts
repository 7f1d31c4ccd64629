import type { Api } from '../../testing/api';
import { type CandidatesBody, candidatesBody, written } from '../../testing/candidates';
import { aProvider, errorOf } from '../../testing/state';
import type { Story } from '../../testing/story';

/** A host with CPUs and memory, two NUMA nodes below it with a network card each. */
async function aTree(api: Api) {
  const host = await aProvider(api, { inventories: { MEMORY_MB: 1024 }, traits: ['CUSTOM_HOST'] });
  const numa0 = await aProvider(api, { parent: host, inventories: { VCPU: 4 } });
  const numa1 = await aProvider(api, { parent: host, inventories: { VCPU: 4 }, traits: ['CUSTOM_FAST'] });
  const nic0 = await aProvider(api, { parent: numa0, inventories: { SRIOV_NET_VF: 2 } });
  const nic1 = await aProvider(api, { parent: numa1, inventories: { SRIOV_NET_VF: 2 }, traits: ['CUSTOM_PHYSNET'] });
  return { host, numa0, numa1, nic0, nic1 };
}

/** A host with this many devices of 8 virtual functions. */
async function aTreeOfDevices(api: Api, count: number): Promise<void> {
  const host = await aProvider(api, { inventories: { VCPU: 4 } });
  for (let i = 0; i < count; i++) await aProvider(api, { parent: host, inventories: { SRIOV_NET_VF: 8 } });
}

function groupsOf(count: number): string {
  return Array.from({ length: count }, (_, i) => `resources_${i}=SRIOV_NET_VF:1`).join('&');
}

/** Candidates from trees, in groups, and with sharing providers. */
export function nestedCandidateStories(story: Story): void {
  story('takes from all providers of a tree together since 1.29, and from one alone before', async (api) => {
    const tree = await aTree(api);
    const query = '/allocation_candidates?resources=VCPU:1,MEMORY_MB:512';
    expect(written(await api.get(query, { version: 28 }), tree)).toEqual([]);
    expect(written(await api.get(query, { version: 29 }), tree)).toEqual([
      'host MEMORY_MB:512 + numa0 VCPU:1',
      'host MEMORY_MB:512 + numa1 VCPU:1',
    ]);
  });

  story(
    'answers no more than a request may cost, however many groups it has',
    async (api) => {
      for (let tree = 0; tree < 2; tree++) await aTreeOfDevices(api, 20);
      const { text, body, status } = await api.get(`/allocation_candidates?group_policy=none&${groupsOf(40)}`);
      expect(status).toBe(200);
      expect((body as CandidatesBody).allocation_requests.length).toBeGreaterThan(1);
      expect(text.length).toBeLessThan(2 * 65_536);
    },
    { BERTH_PLACEMENT_MAX_CANDIDATES_BYTES: '65536' },
  );

  story(
    'refuses what it could not search for, in place of an answer that there is none',
    async (api) => {
      await aTreeOfDevices(api, 60);
      const refused = await api.get(`/allocation_candidates?group_policy=none&${groupsOf(60)}`);
      expect(errorOf(refused)).toMatchObject({ status: 400, code: 'berth.too_costly' });
      expect(refused.text).toContain('60 request groups');
    },
    { BERTH_PLACEMENT_MAX_SEARCH_STEPS: '1000' },
  );

  story('summarizes the whole tree of each candidate', async (api) => {
    const tree = await aTree(api);
    await aProvider(api, { inventories: { DISK_GB: 10 } });
    const { provider_summaries: summaries } = candidatesBody(await api.get('/allocation_candidates?resources=VCPU:1'));
    expect(Object.keys(summaries).toSorted()).toEqual(Object.values(tree).toSorted());
    expect(summaries[tree.nic1]).toMatchObject({
      parent_provider_uuid: tree.numa1,
      root_provider_uuid: tree.host,
      traits: ['CUSTOM_PHYSNET'],
    });
  });

  story('takes each group that has a suffix from one provider', async (api) => {
    const tree = await aTree(api);
    expect(await ask(api, 'resources1=VCPU:1,MEMORY_MB:512', tree)).toEqual([]);
    expect(await ask(api, 'resources1=VCPU:3&required1=CUSTOM_FAST', tree)).toEqual(['numa1 VCPU:3']);
    expect(await ask(api, 'resources1=VCPU:3&resources2=VCPU:3&group_policy=none', tree)).toEqual([
      'numa0 VCPU:3 + numa1 VCPU:3',
      'numa0 VCPU:3 + numa1 VCPU:3',
    ]);
  });

  story('lets groups meet on one provider, unless they are to be isolated', async (api) => {
    const tree = await aTree(api);
    const query = 'resources_a=SRIOV_NET_VF:1&resources_b=SRIOV_NET_VF:1&group_policy=';
    const both = 'nic0 SRIOV_NET_VF:1 + nic1 SRIOV_NET_VF:1';
    expect(await ask(api, `${query}isolate`, tree)).toEqual([both, both]);
    expect(await ask(api, `${query}none`, tree)).toEqual([both, both, 'nic0 SRIOV_NET_VF:2', 'nic1 SRIOV_NET_VF:2']);
  });

  story('says by mappings which provider serves which group', async (api) => {
    const { host, numa1, nic1 } = await aTree(api);
    const query =
      'resources=MEMORY_MB:512&resources_cpu=VCPU:1&required_cpu=CUSTOM_FAST&resources_net=SRIOV_NET_VF:1' +
      '&required_net=CUSTOM_PHYSNET&group_policy=none';
    const { allocation_requests: requests } = candidatesBody(await api.get(`/allocation_candidates?${query}`));
    expect(requests.map(({ mappings }) => mappings)).toEqual([{ '': [host], _cpu: [numa1], _net: [nic1] }]);
  });

  story('keeps groups below one provider when they are of the same subtree', async (api) => {
    const tree = await aTree(api);
    const query = 'resources_cpu=VCPU:1&resources_net=SRIOV_NET_VF:1&group_policy=none';
    expect(await ask(api, query, tree)).toHaveLength(4);
    expect(await ask(api, `${query}&same_subtree=_cpu,_net`, tree)).toEqual([
      'nic0 SRIOV_NET_VF:1 + numa0 VCPU:1',
      'nic1 SRIOV_NET_VF:1 + numa1 VCPU:1',
    ]);
  });

  story('lets a group without resources say below which provider others are to be', async (api) => {
    const tree = await aTree(api);
    const query = 'resources_net=SRIOV_NET_VF:1&required_numa=CUSTOM_FAST&same_subtree=_net,_numa&group_policy=none';
    expect(await ask(api, query, tree)).toEqual(['nic1 SRIOV_NET_VF:1']);
    const { allocation_requests: requests } = candidatesBody(await api.get(`/allocation_candidates?${query}`));
    expect(requests[0]?.mappings).toEqual({ _net: [tree.nic1], _numa: [tree.numa1] });
  });

  story('looks at the root alone for root_required', async (api) => {
    const tree = await aTree(api);
    expect(await ask(api, 'resources=VCPU:1&root_required=CUSTOM_HOST', tree)).toHaveLength(2);
    expect(await ask(api, 'resources=VCPU:1&root_required=CUSTOM_FAST', tree)).toEqual([]);
    expect(await ask(api, 'resources=VCPU:1&root_required=!CUSTOM_FAST', tree)).toHaveLength(2);
    expect(await ask(api, 'resources=VCPU:1&root_required=!CUSTOM_HOST', tree)).toEqual([]);
  });

  story('stays in the tree that is asked for', async (api) => {
    const tree = await aTree(api);
    const other = await aTree(api);
    const names = { ...tree, other: other.numa0 };
    expect(await ask(api, `resources=VCPU:1&in_tree=${tree.nic0}`, names)).toEqual(['numa0 VCPU:1', 'numa1 VCPU:1']);
    expect(await ask(api, `resources1=VCPU:1&in_tree1=${tree.host}`, names)).toHaveLength(2);
    expect(await ask(api, `resources=VCPU:1&in_tree=${api.uuid()}`, names)).toEqual([]);
  });

  story('takes what a host lacks from a provider that shares with its aggregate', async (api) => {
    const [here, elsewhere] = [api.uuid(), api.uuid()];
    const host = await aProvider(api, { inventories: { VCPU: 4 }, aggregates: [here] });
    const alone = await aProvider(api, { inventories: { VCPU: 4 }, aggregates: [elsewhere] });
    const traits = ['MISC_SHARES_VIA_AGGREGATE'];
    const storage = await aProvider(api, { inventories: { DISK_GB: 100 }, aggregates: [here], traits });
    const unshared = await aProvider(api, { inventories: { DISK_GB: 100 }, aggregates: [elsewhere] });
    const names = { host, alone, storage, unshared };
    expect(await ask(api, 'resources=VCPU:1,DISK_GB:10', names)).toEqual(['host VCPU:1 + storage DISK_GB:10']);
    const answered = await api.get('/allocation_candidates?resources=VCPU:1,DISK_GB:10');
    expect(Object.keys(candidatesBody(answered).provider_summaries).toSorted()).toEqual([host, storage].toSorted());
  });
}

async function ask(api: Api, query: string, names: Readonly<Record<string, string>>): Promise<string[]> {
  return written(await api.get(`/allocation_candidates?${query}`), names);
}
