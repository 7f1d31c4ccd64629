import { aProvider, errorOf } from '../testing/state';
import type { Story } from '../testing/story';

const link = (name: string) => ({ name, links: [{ rel: 'self', href: `/resource_classes/${name}` }] });

/** Resource classes. */
export function resourceClassStories(story: Story): void {
  story('knows the standard classes from the beginning', async (api) => {
    const { body } = await api.get('/resource_classes');
    expect(body).toMatchObject({ resource_classes: expect.arrayContaining([link('VCPU'), link('MEMORY_MB')]) });
    expect((await api.get('/resource_classes/DISK_GB')).body).toEqual(link('DISK_GB'));
    expect((await api.get('/resource_classes/CUSTOM_NONE')).status).toBe(404);
  });

  story('makes a class once by POST, and says where it is', async (api) => {
    const made = await api.post('/resource_classes', { name: 'CUSTOM_GPU' });
    expect([made.status, made.text]).toEqual([201, '']);
    expect(made.headers['location']).toBe(`${api.url}/resource_classes/CUSTOM_GPU`);
    expect((await api.get('/resource_classes/CUSTOM_GPU')).body).toEqual(link('CUSTOM_GPU'));
    expect((await api.post('/resource_classes', { name: 'CUSTOM_GPU' })).status).toBe(409);
  });

  story('makes sure of a class by PUT since 1.7', async (api) => {
    const made = await api.put('/resource_classes/CUSTOM_GPU', undefined, { version: 7 });
    expect([made.status, made.headers['location']]).toEqual([201, `${api.url}/resource_classes/CUSTOM_GPU`]);
    expect((await api.put('/resource_classes/CUSTOM_GPU', undefined)).status).toBe(204);
  });

  story('renames a class by PUT before 1.7, with all that is counted in it', async (api) => {
    const uuid = await aProvider(api, { inventories: { CUSTOM_OLD: 3 } });
    const renamed = await api.put('/resource_classes/CUSTOM_OLD', { name: 'CUSTOM_NEW' }, { version: 6 });
    expect([renamed.status, renamed.body]).toEqual([200, link('CUSTOM_NEW')]);
    expect((await api.get('/resource_classes/CUSTOM_OLD')).status).toBe(404);
    expect((await api.get(`/resource_providers/${uuid}/inventories/CUSTOM_NEW`)).body).toMatchObject({ total: 3 });
  });

  story('renames neither to a name in use, nor what does not exist, nor a standard class', async (api) => {
    await api.put('/resource_classes/CUSTOM_ONE', undefined);
    await api.put('/resource_classes/CUSTOM_TWO', undefined);
    const rename = (name: string, to: string) => api.put(`/resource_classes/${name}`, { name: to }, { version: 2 });
    expect((await rename('CUSTOM_ONE', 'CUSTOM_TWO')).status).toBe(409);
    expect((await rename('CUSTOM_THREE', 'CUSTOM_FOUR')).status).toBe(404);
    expect((await rename('VCPU', 'CUSTOM_VCPU')).status).toBe(400);
    expect((await rename('CUSTOM_ONE', 'VCPU')).status).toBe(400);
  });

  for (const name of ['GPU', 'CUSTOM_', 'CUSTOM_gpu', 'CUSTOM_A-B', `CUSTOM_${'A'.repeat(249)}`, 'VCPU']) {
    story(`makes no class ${name.slice(0, 20)} of ${name.length} characters`, async (api) => {
      expect((await api.post('/resource_classes', { name })).status).toBe(400);
      expect((await api.put(`/resource_classes/${name}`, undefined)).status).toBe(400);
    });
  }

  story('keeps a class that a provider has, and the standard ones for ever', async (api) => {
    const uuid = await aProvider(api, { inventories: { CUSTOM_GPU: 2 } });
    const answered = await api.delete('/resource_classes/CUSTOM_GPU');
    expect(answered.status).toBe(409);
    expect(errorOf(answered).detail).toContain('in use');
    await api.delete(`/resource_providers/${uuid}/inventories`);
    expect((await api.delete('/resource_classes/CUSTOM_GPU')).status).toBe(204);
    expect((await api.delete('/resource_classes/CUSTOM_GPU')).status).toBe(404);
    expect((await api.delete('/resource_classes/VCPU')).status).toBe(400);
  });
}
