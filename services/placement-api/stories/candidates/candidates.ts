import type { Api } from '../../testing/api';
import { candidatesBody, written } from '../../testing/candidates';
import { aConsumer, aProvider, consumerBody, errorOf } from '../../testing/state';
import type { Story } from '../../testing/story';

const NOWHERE = '00000000-0000-4000-8000-000000000000';

/** Allocation candidates on flat providers: queries and answers. */
export function candidateStories(story: Story): void {
  story('offers each provider that has room for all that is asked', async (api) => {
    const big = await aProvider(api, { inventories: { VCPU: 8, MEMORY_MB: 1024 } });
    const small = await aProvider(api, { inventories: { VCPU: 2, MEMORY_MB: 1024 } });
    await aProvider(api, { inventories: { VCPU: 8 } });
    const find = (resources: string) => ask(api, `resources=${resources}`, { big, small });
    expect(await find('VCPU:2,MEMORY_MB:512')).toEqual(['big MEMORY_MB:512 VCPU:2', 'small MEMORY_MB:512 VCPU:2']);
    expect(await find('VCPU:4,MEMORY_MB:512')).toEqual(['big MEMORY_MB:512 VCPU:4']);
    await aConsumer(api, { [big]: { VCPU: 5 } });
    expect(await find('VCPU:4,MEMORY_MB:512')).toEqual([]);
  });

  story('heeds the sizes that an inventory is given in', async (api) => {
    const sizes = { total: 100, reserved: 10, min_unit: 2, max_unit: 40, step_size: 2, allocation_ratio: 0.5 };
    const host = await aProvider(api, { inventories: { VCPU: sizes } });
    for (const [amount, found] of [
      [1, 0],
      [2, 1],
      [3, 0],
      [40, 1],
      [42, 0],
    ]) {
      expect(await ask(api, `resources=VCPU:${amount}`, { host })).toHaveLength(found ?? 0);
    }
    await aConsumer(api, { [host]: { VCPU: 10 } });
    expect(await ask(api, 'resources=VCPU:36', { host })).toEqual([]);
  });

  story('answers with a list of allocations before 1.12, and by provider since', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8 } });
    const requests = async (version: number) => {
      const { body } = await api.get('/allocation_candidates?resources=VCPU:1', { version });
      return (body as { allocation_requests: unknown }).allocation_requests;
    };
    expect(await requests(11)).toEqual([{ allocations: [{ resource_provider: { uuid }, resources: { VCPU: 1 } }] }]);
    for (const version of [12, 33]) {
      expect(await requests(version)).toEqual([{ allocations: { [uuid]: { resources: { VCPU: 1 } } } }]);
    }
    expect(await requests(34)).toEqual([
      { allocations: { [uuid]: { resources: { VCPU: 1 } } }, mappings: { '': [uuid] } },
    ]);
  });

  story('tells of the providers what each microversion knows', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8, DISK_GB: 10 }, traits: ['HW_CPU_X86_VMX'] });
    await aConsumer(api, { [uuid]: { VCPU: 3 } });
    const summary = async (version: number) => {
      const answered = await api.get('/allocation_candidates?resources=VCPU:1', { version });
      return candidatesBody(answered).provider_summaries[uuid];
    };
    const asked = { VCPU: { capacity: 8, used: 3 } };
    const all = { ...asked, DISK_GB: { capacity: 10, used: 0 } };
    const traits = ['HW_CPU_X86_VMX'];
    expect(await summary(16)).toEqual({ resources: asked });
    for (const version of [17, 26]) expect(await summary(version)).toEqual({ resources: asked, traits });
    for (const version of [27, 28]) expect(await summary(version)).toEqual({ resources: all, traits });
    expect(await summary(29)).toEqual({ resources: all, traits, parent_provider_uuid: null, root_provider_uuid: uuid });
  });

  for (const [since, query] of [
    [16, 'resources=VCPU:1&limit=1'],
    [17, 'resources=VCPU:1&required=HW_CPU_X86_VMX'],
    [21, `resources=VCPU:1&member_of=${NOWHERE}`],
    [22, 'resources=VCPU:1&required=!HW_CPU_X86_VMX'],
    [24, `resources=VCPU:1&member_of=${NOWHERE}&member_of=${NOWHERE}`],
    [25, 'resources1=VCPU:1'],
    [25, 'resources=VCPU:1&group_policy=none'],
    [31, `resources=VCPU:1&in_tree=${NOWHERE}`],
    [31, `resources1=VCPU:1&in_tree1=${NOWHERE}`],
    [32, `resources=VCPU:1&member_of=!${NOWHERE}`],
    [33, 'resources_net-1=VCPU:1'],
    [35, 'resources=VCPU:1&root_required=HW_CPU_X86_VMX'],
    [36, 'resources1=VCPU:1&same_subtree=1'],
    [36, 'resources1=VCPU:1&required_a=HW_CPU_X86_VMX&same_subtree=1,_a&group_policy=none'],
    [39, 'resources=VCPU:1&required=in:HW_CPU_X86_VMX,HW_CPU_X86_SVM'],
  ] as const) {
    story(`takes ?${query.replaceAll(NOWHERE, '…')} since 1.${since}, and refuses it before`, async (api) => {
      expect((await api.get(`/allocation_candidates?${query}`, { version: since - 1 })).status).toBe(400);
      expect((await api.get(`/allocation_candidates?${query}`, { version: since })).status).toBe(200);
    });
  }

  for (const query of [
    '',
    'resources=',
    'resources=VCPU',
    'resources=VCPU:0',
    'resources=VCPU:x',
    'resources=CUSTOM_UNHEARD_OF:1',
    'resources=VCPU:1&limit=0',
    'resources=VCPU:1&limit=-1',
    'resources=VCPU:1&limit=many',
    'resources=VCPU:1&required=',
    'resources=VCPU:1&required=CUSTOM_UNHEARD_OF',
    'resources=VCPU:1&required=HW_CPU_X86_VMX,!HW_CPU_X86_VMX',
    'resources=VCPU:1&member_of=rack-1',
    'resources=VCPU:1&in_tree=host-1',
    'resources1=VCPU:1&resources2=VCPU:1',
    'resources1=VCPU:1&group_policy=perhaps',
    'required1=HW_CPU_X86_VMX',
    'resources=VCPU:1&required1=HW_CPU_X86_VMX',
    'resources1=VCPU:1&same_subtree=1,2',
    'resources1=VCPU:1&same_subtree=1,',
    'resources=VCPU:1&root_required=HW_CPU_X86_VMX&root_required=HW_CPU_X86_SVM',
    'resources=VCPU:1&root_required=HW_CPU_X86_VMX,!HW_CPU_X86_VMX',
    'resources=VCPU:1&root_required=in:HW_CPU_X86_VMX',
    `resources${'a'.repeat(65)}=VCPU:1`,
    'resources$=VCPU:1',
    'resources=VCPU:1&colour=red',
  ]) {
    story(`refuses ?${query.slice(0, 70)}`, async (api) => {
      const answered = await api.get(`/allocation_candidates?${query}`);
      expect(errorOf(answered)).toMatchObject({ status: 400, title: 'Bad Request' });
    });
  }

  story('gives no more candidates than the limit, and summaries of these only', async (api) => {
    for (let i = 0; i < 4; i++) await aProvider(api, { inventories: { VCPU: 8 } });
    for (const [limit, found] of [
      [1, 1],
      [3, 3],
      [9, 4],
    ]) {
      const { allocation_requests: requests, provider_summaries: summaries } = candidatesBody(
        await api.get(`/allocation_candidates?resources=VCPU:1&limit=${limit}`),
      );
      expect(requests).toHaveLength(found ?? 0);
      const uuids = requests.flatMap(({ allocations }) => Object.keys(allocations));
      expect(Object.keys(summaries).toSorted()).toEqual(uuids.toSorted());
    }
  });

  story(
    'has at most as many request groups as it is set to',
    async (api) => {
      const groups = (count: number) => Array.from({ length: count }, (_, i) => `resources${i + 1}=VCPU:1`).join('&');
      expect((await api.get(`/allocation_candidates?group_policy=none&${groups(3)}`)).status).toBe(200);
      expect((await api.get(`/allocation_candidates?group_policy=none&${groups(4)}`)).status).toBe(400);
    },
    { BERTH_PLACEMENT_MAX_REQUEST_GROUPS: '3' },
  );

  story('offers what can be claimed as it is', async (api) => {
    const root = await aProvider(api, { inventories: { VCPU: 8 } });
    const child = await aProvider(api, { parent: root, inventories: { CUSTOM_GPU: 2 } });
    const answered = await api.get('/allocation_candidates?resources=VCPU:2&resources_gpu=CUSTOM_GPU:1');
    const [offered] = candidatesBody(answered).allocation_requests;
    const uuid = api.uuid();
    const put = await api.put(`/allocations/${uuid}`, { ...consumerBody({}), ...offered });
    expect([put.status, offered?.mappings]).toEqual([204, { '': [root], _gpu: [child] }]);
    expect((await api.get(`/allocations/${uuid}`)).body).toMatchObject({
      allocations: { [root]: { resources: { VCPU: 2 } }, [child]: { resources: { CUSTOM_GPU: 1 } } },
    });
  });

  story('offers providers with the traits that are asked for, and not with those that are not wanted', async (api) => {
    const vcpu = { VCPU: 8 };
    const fast = await aProvider(api, { inventories: vcpu, traits: ['CUSTOM_FAST'] });
    const red = await aProvider(api, { inventories: vcpu, traits: ['CUSTOM_FAST', 'CUSTOM_RED'] });
    const plain = await aProvider(api, { inventories: vcpu });
    const find = async (query: string) =>
      (await ask(api, `resources=VCPU:1&${query}`, { fast, red, plain })).map((line) => line.split(' ')[0]);
    expect(await find('required=CUSTOM_FAST')).toEqual(['fast', 'red']);
    expect(await find('required=CUSTOM_FAST,!CUSTOM_RED')).toEqual(['fast']);
    expect(await find('required=!CUSTOM_FAST')).toEqual(['plain']);
    expect(await find('required=in:CUSTOM_RED,HW_CPU_X86_VMX')).toEqual(['red']);
    expect(await find('required=in:CUSTOM_FAST,CUSTOM_RED&required=!CUSTOM_RED')).toEqual(['fast']);
    expect(await find('root_required=CUSTOM_RED')).toEqual(['red']);
    expect(await find('root_required=!CUSTOM_RED')).toEqual(['fast', 'plain']);
  });

  story('offers providers in the aggregates that are asked for, and not in those that are not wanted', async (api) => {
    const [x, y] = [api.uuid(), api.uuid()];
    const inX = await aProvider(api, { inventories: { VCPU: 8 }, aggregates: [x] });
    const inBoth = await aProvider(api, { inventories: { VCPU: 8 }, aggregates: [x, y] });
    const nowhere = await aProvider(api, { inventories: { VCPU: 8 } });
    const find = async (query: string) =>
      (await ask(api, `resources=VCPU:1&${query}`, { inX, inBoth, nowhere })).map((line) => line.split(' ')[0]);
    expect(await find(`member_of=${x}`)).toEqual(['inBoth', 'inX']);
    expect(await find(`member_of=in:${y},${NOWHERE}`)).toEqual(['inBoth']);
    expect(await find(`member_of=${x}&member_of=${y}`)).toEqual(['inBoth']);
    expect(await find(`member_of=!${y}`)).toEqual(['inX', 'nowhere']);
    expect(await find(`member_of=!in:${x},${y}`)).toEqual(['nowhere']);
    expect(await find(`member_of=${x}&member_of=!${y}`)).toEqual(['inX']);
    expect(await find(`member_of=${NOWHERE}`)).toEqual([]);
  });

  story('maps a group whatever a client calls it', async (api) => {
    const host = await aProvider(api, { inventories: { VCPU: 8 } });
    for (const suffix of ['_1', 'constructor', '__proto__']) {
      const { text } = await api.get(`/allocation_candidates?resources${suffix}=VCPU:1`);
      expect(text).toContain(`"mappings":{"${suffix}":["${host}"]}`);
    }
  });
}

async function ask(api: Api, query: string, names: Readonly<Record<string, string>>): Promise<string[]> {
  return written(await api.get(`/allocation_candidates?${query}`), names);
}
