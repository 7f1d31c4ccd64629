import type { Api } from '../../testing/api';
import type { Asking } from '../../testing/client';
import { aConsumer, aProvider, consumerBody, errorOf } from '../../testing/state';
import type { Story } from '../../testing/story';

interface Candidates {
  readonly allocation_requests: readonly {
    readonly id?: string;
    readonly allocations: object;
    readonly mappings: object;
  }[];
}

/** Allocation candidates that are claimed by their ids, which Placement has not. */
export function claimByIdStories(story: Story): void {
  story('gives candidates ids when asked to, and claims one as if its body had been sent', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8, MEMORY_MB: 64 } });
    expect((await candidates(api, {}))[0]).not.toHaveProperty('id');
    const [one] = await candidates(api);
    expect(one).toEqual({
      id: expect.any(String) as string,
      allocations: { [provider]: { resources: { VCPU: 2, MEMORY_MB: 16 } } },
      mappings: { '': [provider] },
    });
    const uuid = api.uuid();
    expect((await claim(api, one?.id, uuid)).status).toBe(204);
    expect((await api.get(`/allocations/${uuid}`)).body).toEqual({
      allocations: { [provider]: { generation: 2, resources: { VCPU: 2, MEMORY_MB: 16 } } },
      project_id: 'project-1',
      user_id: 'user-1',
      consumer_generation: 1,
      consumer_type: 'INSTANCE',
    });
  });

  story('claims a candidate once, by one of many who try at once', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8, MEMORY_MB: 64 } });
    const [one] = await candidates(api);
    const answers = await Promise.all(Array.from({ length: 5 }, () => claim(api, one?.id)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 409, 409, 409, 409]);
    expect(errorOf(await claim(api, one?.id))).toMatchObject({ status: 409, code: 'berth.unknown_candidate' });
    expect((await api.get(`/resource_providers/${provider}/usages`)).body).toMatchObject({ usages: { VCPU: 2 } });
  });

  story('leaves an id to be used when the claim is refused, with the errors of a body', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 2, MEMORY_MB: 64 } });
    const [one] = await candidates(api);
    const other = await aConsumer(api, { [provider]: { VCPU: 1 } });
    const byBody = await api.put(
      `/allocations/${api.uuid()}`,
      consumerBody({ [provider]: { VCPU: 2, MEMORY_MB: 16 } }),
    );
    const byId = await claim(api, one?.id);
    expect([byId.status, errorOf(byId).code]).toEqual([409, errorOf(byBody).code]);
    expect((await claim(api, one?.id, api.uuid(), { consumer_generation: 7 })).status).toBe(409);
    expect(errorOf(await claim(api, one?.id, api.uuid(), { project_id: undefined })).detail).toContain("'project_id'");
    await api.delete(`/allocations/${other}`);
    expect((await claim(api, one?.id)).status).toBe(204);
  });

  story('forgets an id after its time, also one that was put back', async (api) => {
    await aProvider(api, { inventories: { VCPU: 8, MEMORY_MB: 64 } });
    const [one] = await candidates(api);
    await api.clock.advance(599_000);
    expect((await claim(api, one?.id, api.uuid(), { consumer_generation: 7 })).status).toBe(409);
    await api.clock.advance(1_000);
    expect(errorOf(await claim(api, one?.id)).code).toBe('berth.unknown_candidate');
  });

  story('takes an id in the form of each microversion', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 100, MEMORY_MB: 1_024 } });
    const owner = { project_id: 'project-1', user_id: 'user-1' };
    const versions: readonly (readonly [number, object])[] = [
      [0, {}],
      [8, owner],
      [12, owner],
      [28, { ...owner, consumer_generation: null }],
      [34, { ...owner, consumer_generation: null }],
    ];
    for (const [version, body] of versions) {
      const [one] = await candidates(api, { version: Math.max(10, version), headers: WITH_IDS });
      const asking = { version, headers: { 'berth-candidate-id': one?.id } };
      expect((await api.put(`/allocations/${api.uuid()}`, body, asking)).status).toBe(204);
    }
    expect((await api.get(`/resource_providers/${provider}/usages`)).body).toMatchObject({ usages: { VCPU: 10 } });
  });

  story('forgets ids of a greedy client, and not those of others', async (api) => {
    for (let n = 0; n < 50; n++) await aProvider(api, { inventories: { VCPU: 8, MEMORY_MB: 64 } });
    const [one] = await candidates(api);
    const asGreedy = { headers: WITH_IDS, as: 'eve:greedy', roles: 'admin' };
    const ids: (string | undefined)[] = [];
    while (ids.length <= MAX_KEPT) {
      await api.clock.advance(1);
      ids.push(...(await candidates(api, asGreedy)).map(({ id }) => id));
    }
    expect((await claim(api, one?.id)).status).toBe(204);
    expect(errorOf(await claim(api, ids[0])).code).toBe('berth.unknown_candidate');
    expect((await claim(api, ids.at(-1))).status).toBe(204);
  });

  story('refuses an id that is none, and allocations beside one', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8, MEMORY_MB: 64 } });
    const [one] = await candidates(api);
    expect((await claim(api, 'first')).status).toBe(400);
    expect((await candidatesAnswer(api, { headers: { 'berth-candidate-ids': 'yes' } })).status).toBe(400);
    const both = await claim(api, one?.id, api.uuid(), { allocations: { [provider]: { resources: { VCPU: 8 } } } });
    expect([both.status, errorOf(both).detail]).toEqual([400, expect.stringContaining('the body must not')]);
    expect((await claim(api, one?.id)).status).toBe(204);
  });
}

/** `BERTH_PLACEMENT_MAX_KEPT_CANDIDATES` of stories. */
const MAX_KEPT = 1_000;
const WITH_IDS = { 'berth-candidate-ids': 'true' };

function candidatesAnswer(api: Api, asking: Asking) {
  return api.get('/allocation_candidates?resources=VCPU:2,MEMORY_MB:16', asking);
}

async function candidates(api: Api, asking: Asking = { headers: WITH_IDS }) {
  return ((await candidatesAnswer(api, asking)).body as Candidates).allocation_requests;
}

function claim(api: Api, id: string | undefined, consumer = api.uuid(), fields: object = {}) {
  const { allocations: _allocations, ...owner } = consumerBody({});
  return api.put(`/allocations/${consumer}`, { ...owner, ...fields }, { headers: { 'berth-candidate-id': id } });
}
