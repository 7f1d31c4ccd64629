import { aConsumer, aProvider, consumerBody, errorOf, generationOf, giveInventories } from '../testing/state';
import type { Story } from '../testing/story';

/** Allocations of one consumer. */
export function allocationStories(story: Story): void {
  story('gives a consumer what it asks for, and shows it', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8, MEMORY_MB: 1024 } });
    const uuid = api.uuid();
    const resources = { VCPU: 2, MEMORY_MB: 512 };
    const put = await api.put(`/allocations/${uuid}`, consumerBody({ [provider]: resources }));
    expect([put.status, put.text]).toEqual([204, '']);
    expect((await api.get(`/allocations/${uuid}`)).body).toEqual({
      allocations: { [provider]: { generation: 2, resources } },
      project_id: 'project-1',
      user_id: 'user-1',
      consumer_generation: 1,
      consumer_type: 'INSTANCE',
    });
    expect((await api.get(`/resource_providers/${provider}/allocations`)).body).toEqual({
      resource_provider_generation: 2,
      allocations: { [uuid]: { resources, consumer_generation: 1 } },
    });
  });

  story('shows of a consumer what each microversion knows', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const uuid = await aConsumer(api, { [provider]: { VCPU: 1 } });
    const names = async (version: number) => {
      const { body } = await api.get(`/allocations/${uuid}`, { version });
      return Object.keys(body as object).toSorted();
    };
    expect(await names(11)).toEqual(['allocations']);
    for (const version of [12, 27]) expect(await names(version)).toEqual(['allocations', 'project_id', 'user_id']);
    for (const version of [28, 37]) {
      expect(await names(version)).toEqual(['allocations', 'consumer_generation', 'project_id', 'user_id']);
    }
    expect(await names(38)).toEqual(['allocations', 'consumer_generation', 'consumer_type', 'project_id', 'user_id']);
  });

  story('knows nothing of a consumer that holds nothing', async (api) => {
    const { status, body } = await api.get(`/allocations/${api.uuid()}`);
    expect([status, body]).toEqual([200, { allocations: {} }]);
  });

  story('takes a list of allocations before 1.12, with an owner since 1.8', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const list = { allocations: [{ resource_provider: { uuid: provider }, resources: { VCPU: 1 } }] };
    const owned = { ...list, project_id: 'alpha', user_id: 'anna' };
    const put = async (body: object, version: number) =>
      (await api.put(`/allocations/${api.uuid()}`, body, { version })).status;
    expect(await put(list, 0)).toBe(204);
    expect(await put(owned, 7)).toBe(400);
    expect(await put(list, 8)).toBe(400);
    expect(await put(owned, 8)).toBe(204);
    expect(await put(owned, 11)).toBe(204);
    expect(await put(owned, 12)).toBe(400);
    expect((await api.get(`/resource_providers/${provider}/usages`)).body).toMatchObject({ usages: { VCPU: 3 } });
  });

  story(
    'takes by provider since 1.12, generations since 1.28, mappings since 1.34 and a type since 1.38',
    async (api) => {
      const provider = await aProvider(api, { inventories: { VCPU: 8 } });
      const at12 = { allocations: { [provider]: { resources: { VCPU: 1 } } }, project_id: 'alpha', user_id: 'anna' };
      const at28 = { ...at12, consumer_generation: null };
      const at34 = { ...at28, mappings: { '': [provider] } };
      const at38 = { ...at34, consumer_type: 'MIGRATION' };
      const put = async (body: object, version: number) =>
        (await api.put(`/allocations/${api.uuid()}`, body, { version })).status;
      expect([await put(at12, 12), await put(at12, 27), await put(at12, 28)]).toEqual([204, 204, 400]);
      expect([await put(at28, 27), await put(at28, 28), await put(at28, 34)]).toEqual([400, 204, 204]);
      expect([await put(at34, 33), await put(at34, 34), await put(at34, 38)]).toEqual([400, 204, 400]);
      expect([await put(at38, 37), await put(at38, 38)]).toEqual([400, 204]);
    },
  );

  story('guards a consumer by its generation since 1.28', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const uuid = await aConsumer(api, { [provider]: { VCPU: 1 } });
    const put = (generation: number | null, amount: number) => {
      const body = consumerBody({ [provider]: { VCPU: amount } }, { consumer_generation: generation });
      return api.put(`/allocations/${uuid}`, body);
    };
    for (const generation of [null, 0, 2]) {
      expect(errorOf(await put(generation, 5))).toMatchObject({ status: 409, code: 'placement.concurrent_update' });
    }
    expect((await put(1, 2)).status).toBe(204);
    expect((await put(1, 3)).status).toBe(409);
    expect((await api.get(`/allocations/${uuid}`)).body).toMatchObject({
      consumer_generation: 2,
      allocations: { [provider]: { resources: { VCPU: 2 } } },
    });
  });

  story('has no generation but null for a consumer that is not there', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const body = consumerBody({ [provider]: { VCPU: 1 } }, { consumer_generation: 1 });
    expect((await api.put(`/allocations/${api.uuid()}`, body)).status).toBe(409);
  });

  story('replaces all that a consumer holds by what it asks for next', async (api) => {
    const [one, two] = [
      await aProvider(api, { inventories: { VCPU: 8 } }),
      await aProvider(api, { inventories: { VCPU: 8 } }),
    ];
    const uuid = await aConsumer(api, { [one]: { VCPU: 8 } });
    const body = consumerBody({ [two]: { VCPU: 3 } }, { consumer_generation: 1, project_id: 'project-2' });
    expect((await api.put(`/allocations/${uuid}`, body)).status).toBe(204);
    const shown = await api.get(`/allocations/${uuid}`);
    expect(shown.body).toMatchObject({ allocations: { [two]: { resources: { VCPU: 3 } } }, project_id: 'project-2' });
    expect((await api.get(`/resource_providers/${one}/usages`)).body).toMatchObject({ usages: { VCPU: 0 } });
  });

  story('takes empty allocations as giving all back since 1.28, and refuses them before', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const uuid = await aConsumer(api, { [provider]: { VCPU: 8 } });
    const owner = { project_id: 'project-1', user_id: 'user-1' };
    expect((await api.put(`/allocations/${uuid}`, { allocations: [], ...owner }, { version: 11 })).status).toBe(400);
    expect((await api.put(`/allocations/${uuid}`, { allocations: {}, ...owner }, { version: 12 })).status).toBe(400);
    const none = { allocations: {}, ...owner, consumer_generation: 1 };
    expect((await api.put(`/allocations/${uuid}`, none, { version: 28 })).status).toBe(204);
    expect((await api.get(`/allocations/${uuid}`)).body).toEqual({ allocations: {} });
    expect((await api.get(`/resource_providers/${provider}/allocations`)).body).toMatchObject({ allocations: {} });
  });

  story('gives everything back on DELETE, once', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const uuid = await aConsumer(api, { [provider]: { VCPU: 8 } });
    expect((await api.delete(`/allocations/${uuid}`)).status).toBe(204);
    expect((await api.delete(`/allocations/${uuid}`)).status).toBe(404);
    await aConsumer(api, { [provider]: { VCPU: 8 } });
  });

  story('raises the generation of a provider that something is taken from', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const before = await generationOf(api, provider);
    await aConsumer(api, { [provider]: { VCPU: 1 } });
    expect(await generationOf(api, provider)).toBe(before + 1);
  });

  story('gives no more than the capacity, and neither too little, too much nor in wrong steps', async (api) => {
    const sizes = { total: 10, reserved: 2, min_unit: 2, max_unit: 6, step_size: 2, allocation_ratio: 1.5 };
    const provider = await aProvider(api, { inventories: { VCPU: sizes } });
    const take = async (amount: number) => {
      const answered = await api.put(`/allocations/${api.uuid()}`, consumerBody({ [provider]: { VCPU: amount } }));
      return answered.status === 204
        ? 'given'
        : `${answered.status} ${/constraints|capacity/.exec(answered.text)?.[0]}`;
    };
    expect([await take(1), await take(3), await take(8)]).toEqual(Array(3).fill('409 constraints'));
    expect([await take(6), await take(6), await take(2)]).toEqual(['given', 'given', '409 capacity']);
  });

  story('lets a consumer of an over-committed provider give back, but not take more', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const uuid = await aConsumer(api, { [provider]: { VCPU: 6 } });
    await giveInventories(api, provider, { VCPU: 2 });
    const put = async (amount: number, generation: number) => {
      const body = consumerBody({ [provider]: { VCPU: amount } }, { consumer_generation: generation });
      return (await api.put(`/allocations/${uuid}`, body)).status;
    };
    expect(await put(7, 1)).toBe(409);
    expect(await put(2, 1)).toBe(204);
  });

  story('takes all or nothing from several providers', async (api) => {
    const [root, child] = [
      await aProvider(api, { inventories: { VCPU: 8 } }),
      await aProvider(api, { inventories: { CUSTOM_GPU: 1 } }),
    ];
    const greedy = consumerBody({ [root]: { VCPU: 1 }, [child]: { CUSTOM_GPU: 2 } });
    expect((await api.put(`/allocations/${api.uuid()}`, greedy)).status).toBe(409);
    expect((await api.get(`/resource_providers/${root}/usages`)).body).toMatchObject({ usages: { VCPU: 0 } });
    expect(await generationOf(api, root)).toBe(1);
  });

  story('finds what does not exist to be the fault of who asks', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const put = async (amounts: Record<string, Record<string, number>>) =>
      (await api.put(`/allocations/${api.uuid()}`, consumerBody(amounts))).status;
    expect(await put({ [api.uuid()]: { VCPU: 1 } })).toBe(400);
    expect(await put({ [provider]: { CUSTOM_UNHEARD_OF: 1 } })).toBe(400);
    expect(await put({ [provider]: { DISK_GB: 1 } })).toBe(409);
  });

  story('refuses what can not be amounts, providers, consumers or owners', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const fits = { [provider]: { VCPU: 1 } };
    const bad: [string, object][] = [
      ['not-a-uuid', consumerBody(fits)],
      [api.uuid(), consumerBody({ 'not-a-uuid': { VCPU: 1 } })],
      [api.uuid(), consumerBody({ [provider]: {} })],
      ...[0, -1, 1.5].map((amount): [string, object] => [api.uuid(), consumerBody({ [provider]: { VCPU: amount } })]),
      [api.uuid(), consumerBody(fits, { project_id: '' })],
      [api.uuid(), consumerBody(fits, { user_id: 'u'.repeat(256) })],
      [api.uuid(), consumerBody(fits, { consumer_type: 'lower' })],
      [api.uuid(), consumerBody(fits, { consumer_generation: '1' })],
      [api.uuid(), consumerBody(fits, { mappings: {} })],
      [api.uuid(), consumerBody(fits, { mappings: { _1: ['x'] } })],
      [api.uuid(), consumerBody(fits, { colour: 'red' })],
    ];
    for (const [uuid, body] of bad) {
      const { status } = await api.put(`/allocations/${uuid}`, body);
      expect([status, body]).toEqual([400, body]);
    }
    expect(await generationOf(api, provider)).toBe(1);
  });
}

/** POST /allocations: several consumers, atomically. */
export function manyAllocationStories(story: Story): void {
  story('writes several consumers at once', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const [one, two] = [api.uuid(), api.uuid()];
    const body = { [one]: consumerBody({ [provider]: { VCPU: 4 } }), [two]: consumerBody({ [provider]: { VCPU: 4 } }) };
    const posted = await api.post('/allocations', body);
    expect([posted.status, posted.text]).toEqual([204, '']);
    expect((await api.get(`/resource_providers/${provider}/usages`)).body).toMatchObject({ usages: { VCPU: 8 } });
  });

  story('moves all of a full provider from an instance to its migration', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const instance = await aConsumer(api, { [provider]: { VCPU: 8 } });
    const migration = api.uuid();
    const body = {
      [migration]: consumerBody({ [provider]: { VCPU: 8 } }, { consumer_type: 'MIGRATION' }),
      [instance]: consumerBody({}, { consumer_generation: 1 }),
    };
    expect((await api.post('/allocations', body)).status).toBe(204);
    const { body: shown } = await api.get(`/resource_providers/${provider}/allocations`);
    expect(Object.keys((shown as { allocations: object }).allocations)).toEqual([migration]);
  });

  story('writes none of the consumers when one of them can not be served', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const instance = await aConsumer(api, { [provider]: { VCPU: 4 } });
    const fits = consumerBody({ [provider]: { VCPU: 1 } });
    for (const [status, other] of [
      [409, consumerBody({ [provider]: { VCPU: 8 } })],
      [409, consumerBody({ [provider]: { VCPU: 1 } }, { consumer_generation: 7 })],
      [400, consumerBody({ [api.uuid()]: { VCPU: 1 } })],
    ] as const) {
      const body = {
        [api.uuid()]: fits,
        [api.uuid()]: other,
        [instance]: consumerBody({}, { consumer_generation: 1 }),
      };
      expect((await api.post('/allocations', body)).status).toBe(status);
    }
    const { body } = await api.get(`/resource_providers/${provider}/allocations`);
    expect(Object.keys((body as { allocations: object }).allocations)).toEqual([instance]);
  });

  story('takes empty allocations of consumers since its beginning, in 1.13', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const uuid = await aConsumer(api, { [provider]: { VCPU: 4 } });
    const body = { [uuid]: { allocations: {}, project_id: 'project-1', user_id: 'user-1' } };
    expect((await api.post('/allocations', body, { version: 13 })).status).toBe(204);
    expect((await api.get(`/allocations/${uuid}`)).body).toEqual({ allocations: {} });
  });

  story('wants at least one consumer, by uuid', async (api) => {
    for (const body of [{}, [], { me: consumerBody({}) }]) {
      expect((await api.post('/allocations', body)).status).toBe(400);
    }
  });
}
