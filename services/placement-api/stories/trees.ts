import { aProvider, errorOf } from '../testing/state';
import type { Story } from '../testing/story';

/** Trees of providers. */
export function treeStories(story: Story): void {
  story('tells parent and root since 1.14', async (api) => {
    const root = await aProvider(api);
    const child = await aProvider(api, { parent: root });
    const old = await api.get(`/resource_providers/${child}`, { version: 13 });
    expect(old.body).not.toHaveProperty('parent_provider_uuid');
    expect(old.body).not.toHaveProperty('root_provider_uuid');
    const about = async (uuid: string) => (await api.get(`/resource_providers/${uuid}`, { version: 14 })).body;
    expect(await about(child)).toMatchObject({ parent_provider_uuid: root, root_provider_uuid: root });
    expect(await about(root)).toMatchObject({ parent_provider_uuid: null, root_provider_uuid: root });
  });

  story('has no word for a parent before 1.14', async (api) => {
    const root = await aProvider(api);
    const asking = { version: 13 };
    expect((await api.post('/resource_providers', { name: 'a', parent_provider_uuid: root }, asking)).status).toBe(400);
  });

  story('takes no parent that does not exist, and none to be its own', async (api) => {
    const uuid = api.uuid();
    for (const parent of [api.uuid(), uuid]) {
      const body = { name: 'a', uuid, parent_provider_uuid: parent };
      expect((await api.post('/resource_providers', body)).status).toBe(400);
    }
    expect((await api.get(`/resource_providers/${uuid}`)).status).toBe(404);
  });

  story('gives a provider without a parent one at any version since 1.14, with all that is below it', async (api) => {
    const root = await aProvider(api);
    const subtree = await aProvider(api);
    const leaf = await aProvider(api, { parent: subtree });
    const body = { name: 'moved', parent_provider_uuid: root };
    expect((await api.put(`/resource_providers/${subtree}`, body, { version: 14 })).status).toBe(200);
    expect((await api.get(`/resource_providers/${leaf}`)).body).toMatchObject({ root_provider_uuid: root });
  });

  story('keeps the parent when a rename does not speak of it', async (api) => {
    const root = await aProvider(api);
    const child = await aProvider(api, { parent: root });
    const renamed = await api.put(`/resource_providers/${child}`, { name: 'renamed' });
    expect(renamed.body).toMatchObject({ name: 'renamed', parent_provider_uuid: root });
  });

  story('moves a provider to another parent since 1.37, and refuses it before', async (api) => {
    const [one, two] = [await aProvider(api), await aProvider(api)];
    const child = await aProvider(api, { parent: one });
    const body = { name: 'child', parent_provider_uuid: two };
    const before = await api.put(`/resource_providers/${child}`, body, { version: 36 });
    expect(before.status).toBe(400);
    expect(errorOf(before).detail).toContain('re-parenting a provider is not currently allowed');
    const since = await api.put(`/resource_providers/${child}`, body, { version: 37 });
    expect([since.status, since.body]).toEqual([200, expect.objectContaining({ root_provider_uuid: two })]);
  });

  story('makes a provider the root of its own tree since 1.37, and refuses it before', async (api) => {
    const root = await aProvider(api);
    const child = await aProvider(api, { parent: root });
    const leaf = await aProvider(api, { parent: child });
    const body = { name: 'child', parent_provider_uuid: null };
    const before = await api.put(`/resource_providers/${child}`, body, { version: 36 });
    expect(before.status).toBe(400);
    expect(errorOf(before).detail).toContain('un-parenting a provider is not currently allowed');
    expect((await api.put(`/resource_providers/${child}`, body, { version: 37 })).status).toBe(200);
    expect((await api.get(`/resource_providers/${leaf}`)).body).toMatchObject({ root_provider_uuid: child });
  });

  story('lets no provider come below itself', async (api) => {
    const root = await aProvider(api);
    const child = await aProvider(api, { parent: root });
    const leaf = await aProvider(api, { parent: child });
    for (const [uuid, parent] of [
      [root, leaf],
      [child, leaf],
      [child, child],
    ] as const) {
      const body = { name: 'round and round', parent_provider_uuid: parent };
      const answered = await api.put(`/resource_providers/${uuid}`, body);
      expect(answered.status).toBe(400);
      expect(errorOf(answered).detail).toContain('loop');
    }
  });

  story('removes the leaves of a tree before what is above them', async (api) => {
    const root = await aProvider(api);
    const child = await aProvider(api, { parent: root });
    const answered = await api.delete(`/resource_providers/${root}`);
    const code = 'placement.resource_provider.cannot_delete_parent';
    expect(errorOf(answered)).toMatchObject({ status: 409, code });
    expect((await api.delete(`/resource_providers/${child}`)).status).toBe(204);
    expect((await api.delete(`/resource_providers/${root}`)).status).toBe(204);
  });
}
