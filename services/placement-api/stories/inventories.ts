import { aConsumer, aProvider, errorOf, generationOf, guard } from '../testing/state';
import type { Story } from '../testing/story';

const DEFAULTS = { reserved: 0, min_unit: 1, max_unit: 2_147_483_647, step_size: 1, allocation_ratio: 1 };

/** Inventories of providers. */
export function inventoryStories(story: Story): void {
  story('gives an inventory of which only the total is told the defaults', async (api) => {
    const path = `/resource_providers/${await aProvider(api)}/inventories`;
    const made = await api.post(path, { resource_class: 'VCPU', total: 16 });
    expect(made.status).toBe(201);
    expect(made.headers['location']).toBe(`${api.url}${path}/VCPU`);
    expect(made.body).toEqual({ total: 16, ...DEFAULTS, resource_provider_generation: 1 });
    expect((await api.get(`${path}/VCPU`)).body).toEqual(made.body);
    expect((await api.get(path)).body).toEqual({
      resource_provider_generation: 1,
      inventories: { VCPU: { total: 16, ...DEFAULTS } },
    });
  });

  story('keeps each field as it is given', async (api) => {
    const path = `/resource_providers/${await aProvider(api)}/inventories`;
    const fields = { total: 64, reserved: 4, min_unit: 2, max_unit: 32, step_size: 2, allocation_ratio: 1.5 };
    const body = { resource_provider_generation: 0, inventories: { VCPU: fields, DISK_GB: { total: 1 } } };
    expect((await api.put(path, body)).body).toMatchObject({ inventories: { VCPU: fields } });
  });

  story('does not add an inventory that is there', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8 } });
    const answered = await api.post(`/resource_providers/${uuid}/inventories`, { resource_class: 'VCPU', total: 9 });
    expect(errorOf(answered)).toMatchObject({ status: 409, code: 'placement.concurrent_update' });
  });

  story('raises the generation with each change of what there is', async (api) => {
    const uuid = await aProvider(api);
    const path = `/resource_providers/${uuid}/inventories`;
    await api.post(path, { resource_class: 'VCPU', total: 1 });
    await api.put(`${path}/VCPU`, { total: 2, resource_provider_generation: 1 });
    await api.put(path, { resource_provider_generation: 2, inventories: { VCPU: { total: 3 } } });
    expect(await generationOf(api, uuid)).toBe(3);
    await api.delete(`${path}/VCPU`);
    expect(await generationOf(api, uuid)).toBe(4);
  });

  story('refuses a change by who has not seen the last one', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8 } });
    const path = `/resource_providers/${uuid}/inventories`;
    for (const generation of [0, 2]) {
      const stale = { resource_provider_generation: generation };
      for (const answered of [
        await api.put(`${path}/VCPU`, { total: 9, ...stale }),
        await api.put(path, { inventories: {}, ...stale }),
      ]) {
        expect(errorOf(answered)).toMatchObject({ status: 409, code: 'placement.concurrent_update' });
      }
    }
    expect((await api.get(`${path}/VCPU`)).body).toMatchObject({ total: 8, resource_provider_generation: 1 });
  });

  story('replaces all inventories: what is not named is gone', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8, DISK_GB: 100 } });
    const body = { inventories: { MEMORY_MB: { total: 512 } }, ...(await guard(api, uuid)) };
    const { body: shown } = await api.put(`/resource_providers/${uuid}/inventories`, body);
    expect(Object.keys((shown as { inventories: object }).inventories)).toEqual(['MEMORY_MB']);
  });

  story('lets all be reserved since 1.26, and never more', async (api) => {
    const path = `/resource_providers/${await aProvider(api)}/inventories`;
    const all = { resource_class: 'VCPU', total: 8, reserved: 8 };
    const before = await api.post(path, all, { version: 25 });
    expect(before.status).toBe(400);
    expect(errorOf(before).detail).toContain('Invalid inventory');
    expect((await api.post(path, { ...all, reserved: 9 })).status).toBe(400);
    expect((await api.post(path, all, { version: 26 })).status).toBe(201);
  });

  for (const fields of [
    { total: -1 },
    { total: 0 },
    { total: 1.5 },
    { total: '8' },
    { total: null },
    { total: 2_147_483_648 },
    { total: 8, reserved: -1 },
    { total: 8, min_unit: 0 },
    { total: 8, max_unit: 0 },
    { total: 8, step_size: 0 },
    { total: 8, allocation_ratio: '1' },
    { total: 8, allocation_ratio: 1e39 },
    { total: 8, colour: 'red' },
    {},
  ]) {
    story(`has no inventory of ${JSON.stringify(fields)}`, async (api) => {
      const path = `/resource_providers/${await aProvider(api)}/inventories`;
      expect((await api.post(path, { resource_class: 'VCPU', ...fields })).status).toBe(400);
      expect((await api.put(path, { resource_provider_generation: 0, inventories: { VCPU: fields } })).status).toBe(
        400,
      );
      expect((await api.get(path)).body).toEqual({ resource_provider_generation: 0, inventories: {} });
    });
  }

  story('counts only resources of classes that it knows', async (api) => {
    const path = `/resource_providers/${await aProvider(api)}/inventories`;
    const unknown = { resource_class: 'CUSTOM_LEMON', total: 1 };
    expect(errorOf(await api.post(path, unknown)).detail).toContain('No such resource class CUSTOM_LEMON');
    const all = { resource_provider_generation: 0, inventories: { CUSTOM_LEMON: { total: 1 } } };
    expect((await api.put(path, all)).status).toBe(400);
    for (const nothing of [null, {}, 1]) {
      const named = (name: string) => ({ resource_provider_generation: 0, inventories: { [name]: nothing } });
      for (const name of ['', 'lemon', 'CUSTOM_LEMON']) expect((await api.put(path, named(name))).status).toBe(400);
    }
    await api.put('/resource_classes/CUSTOM_LEMON', undefined);
    expect((await api.post(path, unknown)).status).toBe(201);
  });

  story(
    "names all classes that are in use when all of a provider's inventories are to go, oldest first",
    async (api) => {
      await api.put('/resource_classes/CUSTOM_APPLE', undefined);
      const inventories = { CUSTOM_APPLE: 4, DISK_GB: 4, MEMORY_MB: 4, VCPU: 4 };
      const uuid = await aProvider(api, { inventories });
      await aConsumer(api, { [uuid]: { CUSTOM_APPLE: 1, MEMORY_MB: 1, VCPU: 1 } });
      const refused = errorOf(await api.delete(`/resource_providers/${uuid}/inventories`));
      expect(refused.detail).toContain(
        `Inventory for 'VCPU, MEMORY_MB, CUSTOM_APPLE' on resource provider '${uuid}' in use`,
      );
    },
  );

  story('finds no inventory of a class that a provider has not', async (api) => {
    const path = `/resource_providers/${await aProvider(api)}/inventories/VCPU`;
    expect((await api.get(path)).status).toBe(404);
    expect((await api.delete(path)).status).toBe(404);
    expect((await api.put(path, { total: 1, resource_provider_generation: 0 })).status).toBe(400);
  });

  story('finds no inventory by a name that every JavaScript object has', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8 } });
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const path = `/resource_providers/${uuid}/inventories/${name}`;
      expect((await api.get(path)).status).toBe(404);
      expect((await api.delete(path)).status).toBe(404);
      expect((await api.put(path, { total: 1, resource_provider_generation: 1 })).status).toBe(404);
      expect((await api.get(`/resource_providers?resources=${name}:1`)).status).toBe(400);
      expect((await api.get(`/allocation_candidates?resources=${name}:1`)).status).toBe(400);
      const all = { resource_provider_generation: 1, inventories: JSON.parse(`{"${name}":{"total":1}}`) as object };
      expect((await api.put(`/resource_providers/${uuid}/inventories`, all)).status).toBe(400);
    }
    expect(await generationOf(api, uuid)).toBe(1);
  });

  story('removes one inventory, or all of them at once', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8, DISK_GB: 100, MEMORY_MB: 512 } });
    const path = `/resource_providers/${uuid}/inventories`;
    expect((await api.delete(`${path}/VCPU`)).status).toBe(204);
    const { body } = await api.get(path);
    expect(Object.keys((body as { inventories: object }).inventories).toSorted()).toEqual(['DISK_GB', 'MEMORY_MB']);
    expect((await api.delete(path)).status).toBe(204);
    expect((await api.get(path)).body).toMatchObject({ inventories: {} });
  });

  story('keeps an inventory that something is allocated from, by whatever way it should go', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8, DISK_GB: 100 } });
    await aConsumer(api, { [uuid]: { VCPU: 1 } });
    const path = `/resource_providers/${uuid}/inventories`;
    const without = { inventories: { DISK_GB: { total: 100 } }, ...(await guard(api, uuid)) };
    expect(errorOf(await api.put(path, without))).toMatchObject({ status: 409, code: 'placement.inventory.inuse' });
    expect(errorOf(await api.delete(path))).toMatchObject({ status: 409, code: 'placement.inventory.inuse' });
    expect((await api.delete(`${path}/VCPU`)).status).toBe(409);
    expect((await api.delete(`${path}/DISK_GB`)).status).toBe(204);
  });

  story('lets an inventory shrink below what is used of it', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8 } });
    await aConsumer(api, { [uuid]: { VCPU: 6 } });
    const path = `/resource_providers/${uuid}/inventories/VCPU`;
    const shrunk = await api.put(path, { total: 4, ...(await guard(api, uuid)) });
    expect([shrunk.status, shrunk.body]).toEqual([200, expect.objectContaining({ total: 4 })]);
    expect((await api.get(`/resource_providers/${uuid}/usages`)).body).toMatchObject({ usages: { VCPU: 6 } });
  });
}
