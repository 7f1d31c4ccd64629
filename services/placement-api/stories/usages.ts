import { aConsumer, aProvider, consumerBody, errorOf } from '../testing/state';
import type { Story } from '../testing/story';

/** Usages of providers, projects and users. */
export function usageStories(story: Story): void {
  story('tells what is used of each inventory of a provider, and nothing is also an amount', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8, DISK_GB: 100 } });
    await aConsumer(api, { [provider]: { VCPU: 3 } });
    await aConsumer(api, { [provider]: { VCPU: 1 } });
    const { status, body } = await api.get(`/resource_providers/${provider}/usages`);
    expect([status, body]).toEqual([200, { resource_provider_generation: 3, usages: { VCPU: 4, DISK_GB: 0 } }]);
  });

  story('sums what a project uses over all providers, and what one of its users does', async (api) => {
    const [one, two] = [
      await aProvider(api, { inventories: { VCPU: 8 } }),
      await aProvider(api, { inventories: { VCPU: 8, DISK_GB: 9 } }),
    ];
    await aConsumer(
      api,
      { [one]: { VCPU: 1 }, [two]: { VCPU: 2, DISK_GB: 3 } },
      { project_id: 'alpha', user_id: 'anna' },
    );
    await aConsumer(api, { [two]: { VCPU: 4 } }, { project_id: 'alpha', user_id: 'ben' });
    await aConsumer(api, { [one]: { VCPU: 7 } }, { project_id: 'beta', user_id: 'anna' });
    const usages = async (query: string) => (await api.get(`/usages?${query}`, { version: 9 })).body;
    expect(await usages('project_id=alpha')).toEqual({ usages: { VCPU: 7, DISK_GB: 3 } });
    expect(await usages('project_id=alpha&user_id=anna')).toEqual({ usages: { VCPU: 3, DISK_GB: 3 } });
    expect(await usages('project_id=beta&user_id=ben')).toEqual({ usages: {} });
  });

  story('wants to know the project', async (api) => {
    for (const query of [
      '',
      '?user_id=anna',
      '?project_id=',
      `?project_id=${'a'.repeat(256)}`,
      '?project_id=a&colour=red',
    ]) {
      expect((await api.get(`/usages${query}`)).status).toBe(400);
    }
  });

  story('counts consumers and what they use by type since 1.38', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 32 } });
    await aConsumer(api, { [provider]: { VCPU: 1 } });
    await aConsumer(api, { [provider]: { VCPU: 2 } });
    await aConsumer(api, { [provider]: { VCPU: 4 } }, { consumer_type: 'MIGRATION' });
    const old = { allocations: { [provider]: { resources: { VCPU: 8 } } }, project_id: 'project-1', user_id: 'user-1' };
    await api.put(`/allocations/${api.uuid()}`, old, { version: 12 });
    const usages = async (query: string) => (await api.get(`/usages?project_id=project-1${query}`)).body;
    const instances = { INSTANCE: { VCPU: 3, consumer_count: 2 } };
    expect(await usages('')).toEqual({
      usages: {
        ...instances,
        MIGRATION: { VCPU: 4, consumer_count: 1 },
        unknown: { VCPU: 8, consumer_count: 1 },
      },
    });
    expect(await usages('&consumer_type=INSTANCE')).toEqual({ usages: instances });
    expect(await usages('&consumer_type=unknown')).toEqual({ usages: { unknown: { VCPU: 8, consumer_count: 1 } } });
    expect(await usages('&consumer_type=all')).toEqual({ usages: { all: { VCPU: 15, consumer_count: 4 } } });
    expect(await usages('&consumer_type=VOLUME')).toEqual({ usages: {} });
  });

  story('has no consumer types before 1.38, and none in lower case', async (api) => {
    const path = '/usages?project_id=project-1&consumer_type=';
    expect((await api.get(`${path}INSTANCE`, { version: 37 })).status).toBe(400);
    expect((await api.get(`${path}instance`)).status).toBe(400);
  });

  story('shows a consumer of old as one of unknown type, until it says what it is', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const uuid = api.uuid();
    const old = { allocations: { [provider]: { resources: { VCPU: 8 } } }, project_id: 'alpha', user_id: 'anna' };
    await api.put(`/allocations/${uuid}`, old, { version: 12 });
    expect((await api.get(`/allocations/${uuid}`)).body).toMatchObject({ consumer_type: 'unknown' });
    const typed = { ...old, consumer_generation: 1, consumer_type: 'INSTANCE' };
    expect((await api.put(`/allocations/${uuid}`, typed)).status).toBe(204);
    expect((await api.get(`/allocations/${uuid}`)).body).toMatchObject({ consumer_type: 'INSTANCE' });
  });
}

const ENFORCED = { headers: { 'berth-enforce-quotas': 'true' } };

/** Quotas on allocations, which Placement leaves to its clients. `limit` sets one of project-1. */
export function quotaStories(
  story: Story,
  limit: (limits: Readonly<Record<string, number>>) => Promise<unknown>,
): void {
  story('holds a client to the quota of its project when its request says so', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    await limit({ VCPU: 3 });
    await aConsumer(api, { [provider]: { VCPU: 2 } });
    const put = (asking: object) =>
      api.put(`/allocations/${api.uuid()}`, consumerBody({ [provider]: { VCPU: 2 } }), asking);
    const refused = await put(ENFORCED);
    expect(errorOf(refused)).toMatchObject({ status: 403, code: 'berth.quota_exceeded' });
    expect(errorOf(refused).detail).toContain('Quota exceeded: VCPU: 2 used, 2 asked, limit 3');
    const posted = { [api.uuid()]: consumerBody({ [provider]: { VCPU: 2 } }) };
    expect((await api.post('/allocations', posted, ENFORCED)).status).toBe(403);
    expect((await put({ headers: { 'berth-enforce-quotas': 'yes' } })).status).toBe(400);
    expect((await put({})).status).toBe(204);
  });

  story(
    'holds all clients to it when the setting says so',
    async (api) => {
      const provider = await aProvider(api, { inventories: { VCPU: 8 } });
      await limit({ VCPU: 3 });
      const body = consumerBody({ [provider]: { VCPU: 4 } });
      expect((await api.put(`/allocations/${api.uuid()}`, body)).status).toBe(403);
    },
    { BERTH_PLACEMENT_ENFORCE_QUOTAS: 'true' },
  );
}
