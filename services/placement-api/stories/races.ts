import type { Answered } from '../testing/answered';
import { aConsumer, aProvider, consumerBody, generationOf } from '../testing/state';
import type { Story } from '../testing/story';

/** Concurrent writes. */
export function raceStories(story: Story): void {
  story('makes one provider of a name, however many ask for it at once', async (api) => {
    const all = await Promise.all(times(8, () => api.post('/resource_providers', { name: 'wanted' })));
    expect(statuses(all)).toEqual([200, ...times(7, () => 409)]);
  });

  story('takes one write of each generation', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 8 } });
    const put = (total: number) =>
      api.put(`/resource_providers/${uuid}/inventories/VCPU`, { total, resource_provider_generation: 1 });
    const all = await Promise.all(times(8, (i) => put(10 + i)));
    expect(statuses(all)).toEqual([200, ...times(7, () => 409)]);
    const { body } = await api.get(`/resource_providers/${uuid}/inventories/VCPU`);
    expect(body).toEqual(all.find(({ status }) => status === 200)?.body);
  });

  story('adds every inventory, for who adds one needs no generation', async (api) => {
    const uuid = await aProvider(api);
    const classes = ['VCPU', 'MEMORY_MB', 'DISK_GB', 'SRIOV_NET_VF'];
    const add = (name: string) =>
      api.post(`/resource_providers/${uuid}/inventories`, { resource_class: name, total: 1 });
    expect(statuses(await Promise.all(classes.map(add)))).toEqual([201, 201, 201, 201]);
    expect(await generationOf(api, uuid)).toBe(4);
  });

  story('gives away no more than there is, to whoever comes first', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 5 } });
    const claim = () => api.put(`/allocations/${api.uuid()}`, consumerBody({ [uuid]: { VCPU: 1 } }));
    const all = await Promise.all(times(12, claim));
    expect(statuses(all)).toEqual([...times(5, () => 204), ...times(7, () => 409)]);
    expect((await api.get(`/resource_providers/${uuid}/usages`)).body).toMatchObject({ usages: { VCPU: 5 } });
  });

  story('lets one of several changes of a consumer win', async (api) => {
    const uuid = await aProvider(api, { inventories: { VCPU: 64 } });
    const consumer = await aConsumer(api, { [uuid]: { VCPU: 1 } });
    const change = (amount: number) =>
      api.put(`/allocations/${consumer}`, consumerBody({ [uuid]: { VCPU: amount } }, { consumer_generation: 1 }));
    expect(statuses(await Promise.all(times(6, (i) => change(2 + i))))).toEqual([204, ...times(5, () => 409)]);
  });

  story('shows to every reader what was answered before it asked', async (api) => {
    for (let i = 1; i <= 10; i++) {
      await api.post('/resource_providers', { name: `provider ${i}` });
      const all = await Promise.all(times(3, () => api.get('/resource_providers')));
      const counts = all.map(({ body }) => (body as { resource_providers: object[] }).resource_providers.length);
      expect(counts).toEqual([i, i, i]);
    }
  });
}

function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function statuses(all: readonly Answered[]): number[] {
  return all.map(({ status }) => status).toSorted((a, b) => a - b);
}
