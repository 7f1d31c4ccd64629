import { aConsumer, aProvider, consumerBody, errorOf } from '../testing/state';
import type { Story } from '../testing/story';

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
