import { migrationUuidOf } from '#libs/domain/moves/migration';
import { reservationUuidOf } from '#libs/domain/queueing/place-lease';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { AT_MS, aReport, aWrite, claim, contentsOf } from '#libs/testing/placement/placement';
import { type Api, openApi } from './testing/api';
import { aProvider, consumerBody, errorOf, generationOf, giveInventories } from './testing/state';

let store: MemoryPlacementStore;
let api: Api;
beforeEach(async () => {
  store = new MemoryPlacementStore();
  api = await openApi(store);
});
afterEach(() => api.close());

it('refuses whoever would replace, move or remove the allocations of an instance of Berth', async () => {
  const provider = await aProvider(api, { inventories: { VCPU: 8 } });
  const write = aWrite({ [provider]: { VCPU: 2 } });
  await claim(store, write);
  const before = await contentsOf(store);
  const body = { ...consumerBody({ [provider]: { VCPU: 1 } }), consumer_generation: 1 };
  const generation = await generationOf(api, provider);
  const given = { inventories: { VCPU: { total: 8 } }, resource_provider_generation: generation };
  for (const answered of [
    await api.put(`/allocations/${write.uuid}`, body),
    await api.put(`/allocations/${write.uuid}`, { ...body, allocations: {} }),
    await api.post('/allocations', { [write.uuid]: body }),
    await api.post('/reshaper', {
      inventories: { [provider]: given },
      allocations: { [write.uuid]: body },
    }),
    await api.delete(`/allocations/${write.uuid}`),
  ]) {
    // Not a concurrent update, which clients retry.
    expect(errorOf(answered).detail).toContain('belongs to an instance of Berth');
    expect(errorOf(answered)).toMatchObject({ status: 409, code: 'placement.undefined_code' });
  }
  expect(await contentsOf(store)).toEqual(before);
});

it('lets no client name a consumer by a uuid that Berth derives from that of an instance', async () => {
  const provider = await aProvider(api, { inventories: { VCPU: 8 } });
  const body = { ...consumerBody({ [provider]: { VCPU: 1 } }), consumer_generation: null };
  const generation = await generationOf(api, provider);
  const given = { inventories: { VCPU: { total: 8 } }, resource_provider_generation: generation };
  const instanceUuid = '8f1c7a2e-60a4-4b0e-9d5c-0c8a61d2f3b7';
  for (const uuid of [migrationUuidOf(instanceUuid), reservationUuidOf(instanceUuid)]) {
    for (const asked of [uuid, uuid.toUpperCase(), uuid.replaceAll('-', ''), `urn:uuid:${uuid}`]) {
      for (const answered of [
        await api.put(`/allocations/${asked}`, body),
        await api.post('/allocations', { [asked]: body }),
        await api.post('/reshaper', { inventories: { [provider]: given }, allocations: { [asked]: body } }),
      ]) {
        expect(answered.status).toBe(400);
      }
    }
  }
  expect((await contentsOf(store)).consumers ?? []).toEqual([]);
});

it('keeps through reports of a host what a client wrote on its provider', async () => {
  const { providerUuid } = aReport();
  await store.reportHost(aReport());
  await giveInventories(api, providerUuid, { VCPU: { total: 8, reserved: 2, allocation_ratio: 4 }, DISK_GB: 7 });
  await api.put('/traits/CUSTOM_OPERATORS', undefined);
  const traits = ['HW_CPU_X86_AVX2', 'CUSTOM_OPERATORS'];
  const generation = await generationOf(api, providerUuid);
  await api.put(`/resource_providers/${providerUuid}/traits`, { traits, resource_provider_generation: generation });
  const before = (await api.get(`/resource_providers/${providerUuid}/inventories`)).body;
  await store.reportHost(aReport({ sequence: 2, atMs: AT_MS + 4_000 }));
  const shown = (await api.get(`/resource_providers/${providerUuid}/inventories`)).body;
  expect(shown).toMatchObject({
    inventories: { VCPU: { total: 8, reserved: 2, allocation_ratio: 4 }, DISK_GB: { total: 7 }, MEMORY_MB: {} },
  });
  expect((await api.get(`/resource_providers/${providerUuid}/traits`)).body).toMatchObject({
    traits,
  });
  expect(before).not.toHaveProperty('inventories.MEMORY_MB');
});
