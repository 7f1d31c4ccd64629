import type { Answered } from '../testing/answered';
import { aConsumer, aProvider, errorOf, generationOf } from '../testing/state';
import type { Story } from '../testing/story';

/** Creating, reading, finding, renaming and deleting providers. */
export function providerStories(story: Story): void {
  story('makes a provider of the uuid that it is given and says where it is', async (api) => {
    const uuid = api.uuid();
    const made = await api.post('/resource_providers', { name: 'host-1', uuid }, { version: 19 });
    expect([made.status, made.text]).toEqual([201, '']);
    expect(made.headers['location']).toBe(`${api.url}/resource_providers/${uuid}`);
    const { status, body } = await api.get(`/resource_providers/${uuid}`);
    expect([status, body]).toEqual([200, expect.objectContaining({ uuid, name: 'host-1', generation: 0 })]);
  });

  story('tells the new provider in the answer since 1.20', async (api) => {
    const made = await api.post('/resource_providers', { name: 'host-1' }, { version: 20 });
    const { uuid } = made.body as { uuid: string };
    expect(made.status).toBe(200);
    expect(made.headers['location']).toBe(`${api.url}/resource_providers/${uuid}`);
    expect((await api.get(`/resource_providers/${uuid}`, { version: 20 })).body).toEqual(made.body);
  });

  story('knows a uuid in whatever form it is written', async (api) => {
    const uuid = api.uuid();
    const written = uuid.replaceAll('-', '').toUpperCase();
    expect((await api.post('/resource_providers', { name: 'host-1', uuid: written })).body).toMatchObject({ uuid });
  });

  story('links to what each microversion knows of a provider', async (api) => {
    const uuid = await aProvider(api);
    const links = async (version: number) => {
      const { body } = await api.get(`/resource_providers/${uuid}`, { version });
      return (body as { links: { rel: string; href: string }[] }).links.map(({ rel }) => rel);
    };
    const old = ['self', 'inventories', 'usages'];
    expect(await links(0)).toEqual(old);
    for (const version of [1, 5]) expect(await links(version)).toEqual([...old, 'aggregates']);
    for (const version of [6, 10]) expect(await links(version)).toEqual([...old, 'aggregates', 'traits']);
    expect(await links(11)).toEqual([...old, 'aggregates', 'traits', 'allocations']);
  });

  story('lets neither a name nor a uuid be taken twice', async (api) => {
    const uuid = await aProvider(api, { name: 'host-1' });
    for (const body of [{ name: 'host-1' }, { name: 'host-2', uuid }]) {
      const answered = await api.post('/resource_providers', body);
      expect(errorOf(answered)).toMatchObject({ status: 409, code: 'placement.duplicate_name' });
    }
    expect(names(await api.get('/resource_providers'))).toEqual(['host-1']);
  });

  story('takes names of up to 200 characters of any kind', async (api) => {
    for (const name of ['ö', '日本', 'a b/c?d', 'x'.repeat(200), '🚀']) {
      const { body } = await api.post('/resource_providers', { name });
      expect(names(await api.get(`/resource_providers?name=${encodeURIComponent(name)}`))).toEqual([name]);
      expect(body).toMatchObject({ name });
    }
  });

  story('renames a provider without a new generation', async (api) => {
    const uuid = await aProvider(api, { name: 'old', inventories: { VCPU: 1 } });
    const renamed = await api.put(`/resource_providers/${uuid}`, { name: 'new' });
    expect([renamed.status, renamed.body]).toEqual([200, expect.objectContaining({ name: 'new', generation: 1 })]);
    expect(names(await api.get('/resource_providers?name=old'))).toEqual([]);
    expect((await api.post('/resource_providers', { name: 'old' })).status).toBe(200);
  });

  story('does not rename a provider to a name that another one has', async (api) => {
    await aProvider(api, { name: 'one' });
    const two = await aProvider(api, { name: 'two' });
    expect((await api.put(`/resource_providers/${two}`, { name: 'one' })).status).toBe(409);
    expect((await api.put(`/resource_providers/${two}`, { name: 'two' })).status).toBe(200);
    expect(names(await api.get('/resource_providers')).toSorted()).toEqual(['one', 'two']);
  });

  story('does not know a uuid that nobody made', async (api) => {
    const path = `/resource_providers/${api.uuid()}`;
    for (const rest of ['', '/inventories', '/usages', '/aggregates', '/allocations', '/traits']) {
      expect((await api.get(path + rest)).status).toBe(404);
    }
    expect((await api.put(path, { name: 'a' })).status).toBe(404);
    expect((await api.delete(path)).status).toBe(404);
  });

  story('removes a provider with its inventories and traits, and with it all that was known of it', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8 }, traits: ['CUSTOM_GONE'], aggregates: [api.uuid()] });
    expect((await api.delete(`/resource_providers/${uuid}`)).status).toBe(204);
    expect((await api.get(`/resource_providers/${uuid}`)).status).toBe(404);
    expect((await api.delete('/traits/CUSTOM_GONE')).status).toBe(204);
    const again = await aProvider(api, { uuid });
    expect(await generationOf(api, again)).toBe(0);
    expect((await api.get(`/resource_providers/${uuid}/inventories`)).body).toMatchObject({ inventories: {} });
  });

  story('keeps a provider that something is allocated from', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8 } });
    const consumer = await aConsumer(api, { [uuid]: { VCPU: 1 } });
    const answered = await api.delete(`/resource_providers/${uuid}`);
    expect(errorOf(answered)).toMatchObject({ status: 409, code: 'placement.resource_provider.inuse' });
    await api.delete(`/allocations/${consumer}`);
    expect((await api.delete(`/resource_providers/${uuid}`)).status).toBe(204);
  });
}

/** Listing providers by every filter. */
export function providerListStories(story: Story): void {
  story('lists every provider when nothing else is asked', async (api) => {
    expect((await api.get('/resource_providers')).body).toEqual({ resource_providers: [] });
    await aProvider(api, { name: 'a' });
    await aProvider(api, { name: 'b' });
    expect(names(await api.get('/resource_providers')).toSorted()).toEqual(['a', 'b']);
  });

  story('finds a provider by name or by uuid, and none by those of two', async (api) => {
    const a = await aProvider(api, { name: 'a' });
    await aProvider(api, { name: 'b' });
    expect(names(await api.get(`/resource_providers?uuid=${a}`))).toEqual(['a']);
    expect(names(await api.get('/resource_providers?name=b'))).toEqual(['b']);
    expect(names(await api.get(`/resource_providers?name=b&uuid=${a}`))).toEqual([]);
  });

  for (const [since, query] of [
    [3, 'member_of=00000000-0000-4000-8000-000000000000'],
    [4, 'resources=VCPU:1'],
    [14, 'in_tree=00000000-0000-4000-8000-000000000000'],
    [18, 'required=HW_CPU_X86_VMX'],
    [22, 'required=!HW_CPU_X86_VMX'],
    [24, 'member_of=00000000-0000-4000-8000-000000000000&member_of=00000000-0000-4000-8000-000000000001'],
    [32, 'member_of=!00000000-0000-4000-8000-000000000000'],
    [39, 'required=in:HW_CPU_X86_VMX,HW_CPU_X86_SVM'],
  ] as const) {
    story(`takes ?${query.replaceAll(/0000[-0-9]+/g, '…')} since 1.${since}, and refuses it before`, async (api) => {
      expect((await api.get(`/resource_providers?${query}`, { version: since - 1 })).status).toBe(400);
      expect((await api.get(`/resource_providers?${query}`, { version: since })).status).toBe(200);
    });
  }

  story('finds those with room for all the resources', async (api) => {
    const big = await aProvider(api, { name: 'big', inventories: { VCPU: 8, MEMORY_MB: 1024 } });
    await aProvider(api, { name: 'small', inventories: { VCPU: 2, MEMORY_MB: 1024 } });
    await aProvider(api, { name: 'units', inventories: { VCPU: { total: 64, max_unit: 1 }, MEMORY_MB: 1024 } });
    const find = async (resources: string) =>
      names(await api.get(`/resource_providers?resources=${resources}`)).toSorted();
    expect(await find('VCPU:1,MEMORY_MB:512')).toEqual(['big', 'small', 'units']);
    expect(await find('VCPU:2')).toEqual(['big', 'small']);
    await aConsumer(api, { [big]: { VCPU: 7 } });
    expect(await find('VCPU:2')).toEqual(['small']);
    expect(await find('DISK_GB:1')).toEqual([]);
  });

  for (const resources of ['', 'VCPU', 'VCPU:', 'VCPU:0', 'VCPU:-1', 'VCPU:x', 'VCPU:1:2', 'NO_SUCH_CLASS:1']) {
    story(`refuses resources=${resources}`, async (api) => {
      expect((await api.get(`/resource_providers?resources=${resources}`)).status).toBe(400);
    });
  }

  story('finds those in aggregates: in one, in any of some, in each of several, in none', async (api) => {
    const [x, y, z] = [api.uuid(), api.uuid(), api.uuid()];
    await aProvider(api, { name: 'in x', aggregates: [x] });
    await aProvider(api, { name: 'in x and y', aggregates: [x, y] });
    await aProvider(api, { name: 'nowhere' });
    const find = async (query: string) => names(await api.get(`/resource_providers?${query}`)).toSorted();
    expect(await find(`member_of=${x}`)).toEqual(['in x', 'in x and y']);
    expect(await find(`member_of=in:${y},${z}`)).toEqual(['in x and y']);
    expect(await find(`member_of=${x}&member_of=${y}`)).toEqual(['in x and y']);
    expect(await find(`member_of=!${y}`)).toEqual(['in x', 'nowhere']);
    expect(await find(`member_of=!in:${x},${z}`)).toEqual(['nowhere']);
    expect(await find(`member_of=${x}&member_of=!${y}`)).toEqual(['in x']);
    for (const bad of ['', 'x', `${x},${y}`, 'in:', `!${x},${y}`]) {
      expect((await api.get(`/resource_providers?member_of=${bad}`)).status).toBe(400);
    }
  });

  story('finds those with traits: with all, with any of some, without', async (api) => {
    await aProvider(api, { name: 'fast', traits: ['CUSTOM_FAST'] });
    await aProvider(api, { name: 'fast and red', traits: ['CUSTOM_FAST', 'CUSTOM_RED'] });
    await aProvider(api, { name: 'plain' });
    const find = async (query: string) => names(await api.get(`/resource_providers?${query}`)).toSorted();
    expect(await find('required=CUSTOM_FAST')).toEqual(['fast', 'fast and red']);
    expect(await find('required=CUSTOM_FAST,CUSTOM_RED')).toEqual(['fast and red']);
    expect(await find('required=CUSTOM_FAST,!CUSTOM_RED')).toEqual(['fast']);
    expect(await find('required=!CUSTOM_FAST')).toEqual(['plain']);
    expect(await find('required=in:CUSTOM_RED,HW_CPU_X86_VMX')).toEqual(['fast and red']);
    expect(await find('required=in:CUSTOM_FAST,CUSTOM_RED&required=!CUSTOM_RED')).toEqual(['fast']);
    for (const bad of ['', 'CUSTOM_FAST,', '!', 'in:', 'in:!CUSTOM_RED', 'CUSTOM_UNHEARD_OF']) {
      expect((await api.get(`/resource_providers?required=${bad}`)).status).toBe(400);
    }
  });

  story('finds all of a tree by any of its providers', async (api) => {
    const root = await aProvider(api, { name: 'root' });
    const child = await aProvider(api, { name: 'child', parent: root });
    await aProvider(api, { name: 'grandchild', parent: child });
    await aProvider(api, { name: 'stranger' });
    for (const member of [root, child]) {
      const found = names(await api.get(`/resource_providers?in_tree=${member}`));
      expect(found.toSorted()).toEqual(['child', 'grandchild', 'root']);
    }
    expect(names(await api.get(`/resource_providers?in_tree=${api.uuid()}`))).toEqual([]);
  });
}

function names({ body }: Answered): string[] {
  return (body as { resource_providers: { name: string }[] }).resource_providers.map(({ name }) => name);
}
