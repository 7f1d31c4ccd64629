import type { Api } from '../testing/api';
import { aConsumer, aProvider, consumerBody, errorOf, generationOf } from '../testing/state';
import type { Story } from '../testing/story';

/** A provider whose GPUs will move to a child, and an instance that holds one of them. */
async function beforeReshape(api: Api) {
  const root = await aProvider(api, { inventories: { VCPU: 8, CUSTOM_GPU: 2 } });
  const child = await aProvider(api, { parent: root });
  const instance = await aConsumer(api, { [root]: { VCPU: 4, CUSTOM_GPU: 1 } });
  const rootGeneration = await generationOf(api, root);
  const body = {
    inventories: {
      [root]: { resource_provider_generation: rootGeneration, inventories: { VCPU: { total: 8 } } },
      [child]: { resource_provider_generation: 0, inventories: { CUSTOM_GPU: { total: 2 } } },
    },
    allocations: {
      [instance]: consumerBody({ [root]: { VCPU: 4 }, [child]: { CUSTOM_GPU: 1 } }, { consumer_generation: 1 }),
    },
  };
  return { root, child, instance, rootGeneration, body };
}

/** Moving inventories and their allocations between providers. */
export function reshaperStories(story: Story): void {
  story('moves an inventory that is in use to a child, and what is allocated of it', async (api) => {
    const { root, child, instance, rootGeneration, body } = await beforeReshape(api);
    const posted = await api.post('/reshaper', body);
    expect([posted.status, posted.text]).toEqual([204, '']);
    expect((await api.get(`/resource_providers/${root}/usages`)).body).toMatchObject({ usages: { VCPU: 4 } });
    expect((await api.get(`/resource_providers/${child}/usages`)).body).toMatchObject({ usages: { CUSTOM_GPU: 1 } });
    expect((await api.get(`/allocations/${instance}`)).body).toMatchObject({
      consumer_generation: 2,
      allocations: { [root]: { resources: { VCPU: 4 } }, [child]: { resources: { CUSTOM_GPU: 1 } } },
    });
    expect(await generationOf(api, root)).toBeGreaterThan(rootGeneration);
  });

  story('refuses to take an inventory away from under an allocation that it does not move', async (api) => {
    const { body, ...ids } = await beforeReshape(api);
    const answered = await api.post('/reshaper', { ...body, allocations: {} });
    expect(errorOf(answered)).toMatchObject({ status: 409, code: 'placement.inventory.inuse' });
    await expectUnchanged(api, ids);
  });

  story('refuses when a provider or a consumer was changed meanwhile', async (api) => {
    const { body, ...ids } = await beforeReshape(api);
    const { root, instance } = ids;
    const stale = { ...body.inventories[root], resource_provider_generation: 0 };
    const held = { ...body.allocations[instance], consumer_generation: 7 };
    for (const changed of [
      { ...body, inventories: { ...body.inventories, [root]: stale } },
      { ...body, allocations: { [instance]: held } },
    ]) {
      const answered = await api.post('/reshaper', changed);
      expect(errorOf(answered)).toMatchObject({ status: 409, code: 'placement.concurrent_update' });
      await expectUnchanged(api, ids);
    }
  });

  story('refuses providers and classes that do not exist, and amounts that do not fit', async (api) => {
    const { body, ...ids } = await beforeReshape(api);
    const { root, child, instance } = ids;
    const nowhere = api.uuid();
    const empty = { resource_provider_generation: 0, inventories: {} };
    const lemons = { resource_provider_generation: 0, inventories: { CUSTOM_LEMON: { total: 1 } } };
    const greedy = consumerBody({ [root]: { VCPU: 4 }, [child]: { CUSTOM_GPU: 3 } }, { consumer_generation: 1 });
    for (const [status, changed] of [
      [400, { ...body, inventories: { ...body.inventories, [nowhere]: empty } }],
      [400, { ...body, inventories: { ...body.inventories, [child]: lemons } }],
      [409, { ...body, allocations: { [instance]: greedy } }],
      [
        400,
        { ...body, allocations: { [instance]: consumerBody({ [nowhere]: { VCPU: 1 } }, { consumer_generation: 1 }) } },
      ],
    ] as const) {
      const answered = await api.post('/reshaper', changed);
      expect([answered.status, answered.text]).toEqual([status, answered.text]);
      await expectUnchanged(api, ids);
    }
  });

  story('wants inventories of at least one provider, and allocations even if none', async (api) => {
    const { body } = await beforeReshape(api);
    for (const bad of [{ ...body, inventories: {} }, { inventories: body.inventories }, { allocations: {} }, {}, []]) {
      expect((await api.post('/reshaper', bad)).status).toBe(400);
    }
  });

  story('takes mappings since 1.34 and a consumer type since 1.38', async (api) => {
    const { body, root, child, instance } = await beforeReshape(api);
    const { consumer_type: type, ...untyped } = body.allocations[instance] ?? consumerBody({});
    const mapped = { ...untyped, mappings: { '': [root], _gpu: [child] } };
    const post = async (consumer: object, version: number) =>
      (await api.post('/reshaper', { ...body, allocations: { [instance]: consumer } }, { version })).status;
    expect(await post(mapped, 33)).toBe(400);
    expect(await post({ ...mapped, consumer_type: type }, 37)).toBe(400);
    expect(await post(mapped, 38)).toBe(400);
    expect(await post(mapped, 34)).toBe(204);
  });
}

async function expectUnchanged(
  api: Api,
  { root, child, instance, rootGeneration }: { root: string; child: string; instance: string; rootGeneration: number },
): Promise<void> {
  expect(await generationOf(api, root)).toBe(rootGeneration);
  expect((await api.get(`/resource_providers/${child}/inventories`)).body).toMatchObject({ inventories: {} });
  expect((await api.get(`/allocations/${instance}`)).body).toMatchObject({
    consumer_generation: 1,
    allocations: { [root]: { resources: { VCPU: 4, CUSTOM_GPU: 1 } } },
  });
}
