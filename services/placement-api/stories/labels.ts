import { aProvider, errorOf, generationOf, guard } from '../testing/state';
import type { Story } from '../testing/story';

/** Aggregates of providers. */
export function aggregateStories(story: Story): void {
  story('replaces the aggregates of a provider by a plain list before 1.19, whoever wrote them last', async (api) => {
    const uuid = await aProvider(api);
    const path = `/resource_providers/${uuid}/aggregates`;
    const [one, two] = [api.uuid(), api.uuid()].toSorted();
    const put = await api.put(path, [one, two], { version: 1 });
    expect([put.status, put.body]).toEqual([200, { aggregates: expect.arrayContaining([one, two]) }]);
    expect((await api.put(path, [two], { version: 18 })).body).toEqual({ aggregates: [two] });
    expect((await api.get(path, { version: 18 })).body).toEqual({ aggregates: [two] });
    expect(await generationOf(api, uuid)).toBe(0);
  });

  story('guards aggregates by the generation since 1.19', async (api) => {
    const uuid = await aProvider(api);
    const path = `/resource_providers/${uuid}/aggregates`;
    const aggregates = [api.uuid()];
    const put = await api.put(path, { aggregates, resource_provider_generation: 0 }, { version: 19 });
    expect(put.body).toEqual({ aggregates, resource_provider_generation: 1 });
    const again = await api.put(path, { aggregates: [], resource_provider_generation: 0 }, { version: 19 });
    expect(errorOf(again)).toMatchObject({ status: 409 });
    expect((await api.get(path)).body).toEqual({ aggregates, resource_provider_generation: 1 });
    const none = await api.put(path, { aggregates: [], resource_provider_generation: 1 });
    expect(none.body).toEqual({ aggregates: [], resource_provider_generation: 2 });
  });

  story('takes neither form at the versions of the other', async (api) => {
    const path = `/resource_providers/${await aProvider(api)}/aggregates`;
    const guarded = { aggregates: [], resource_provider_generation: 0 };
    expect((await api.put(path, guarded, { version: 18 })).status).toBe(400);
    expect((await api.put(path, [], { version: 19 })).status).toBe(400);
  });

  story('takes uuids only, each once', async (api) => {
    const path = `/resource_providers/${await aProvider(api)}/aggregates`;
    const uuid = api.uuid();
    for (const aggregates of [['rack-1'], [uuid, uuid], [7], [null], uuid, {}]) {
      expect((await api.put(path, aggregates, { version: 1 })).status).toBe(400);
      expect((await api.put(path, { aggregates, resource_provider_generation: 0 })).status).toBe(400);
    }
  });
}

/** Traits, and traits of providers. */
export function traitStories(story: Story): void {
  const listed = (body: unknown) => (body as { traits: string[] }).traits;

  story('knows the standard traits from the beginning', async (api) => {
    expect(listed((await api.get('/traits')).body)).toEqual(
      expect.arrayContaining(['HW_CPU_X86_VMX', 'MISC_SHARES_VIA_AGGREGATE']),
    );
    expect((await api.get('/traits/HW_CPU_X86_VMX')).status).toBe(204);
  });

  story('makes a trait once, and is content when it is there', async (api) => {
    const made = await api.put('/traits/CUSTOM_GOLD', undefined);
    expect([made.status, made.text]).toEqual([201, '']);
    expect(made.headers['location']).toBe(`${api.url}/traits/CUSTOM_GOLD`);
    expect((await api.put('/traits/CUSTOM_GOLD', undefined)).status).toBe(204);
    expect((await api.get('/traits/CUSTOM_GOLD')).status).toBe(204);
    expect((await api.get('/traits/CUSTOM_SILVER')).status).toBe(404);
  });

  for (const name of [
    'GOLD',
    'CUSTOM_',
    'CUSTOM_gold',
    'CUSTOM_A-B',
    `CUSTOM_${'A'.repeat(249)}`,
    'HW_CPU_X86_VMX',
    'CUSTOM_%C3%96',
  ]) {
    story(`makes no trait ${name.slice(0, 20)} of ${name.length} characters`, async (api) => {
      expect((await api.put(`/traits/${name}`, undefined)).status).toBe(400);
    });
  }

  story('lists traits by names, by prefix, and by whether any provider has them', async (api) => {
    await aProvider(api, { traits: ['CUSTOM_USED', 'HW_CPU_X86_VMX'] });
    await api.put('/traits/CUSTOM_SPARE', undefined);
    const list = async (query: string) => listed((await api.get(`/traits?${query}`)).body).toSorted();
    expect(await list('name=startswith:CUSTOM')).toEqual(['CUSTOM_SPARE', 'CUSTOM_USED']);
    expect(await list('name=in:CUSTOM_SPARE,HW_CPU_X86_VMX,CUSTOM_NONE')).toEqual(['CUSTOM_SPARE', 'HW_CPU_X86_VMX']);
    expect(await list('associated=true')).toEqual(['CUSTOM_USED', 'HW_CPU_X86_VMX']);
    expect(await list('associated=False&name=startswith:CUSTOM')).toEqual(['CUSTOM_SPARE']);
    for (const bad of ['associated=perhaps', 'name=CUSTOM_USED', 'colour=red']) {
      expect((await api.get(`/traits?${bad}`)).status).toBe(400);
    }
  });

  story('gives a provider exactly the traits of the last write', async (api) => {
    const uuid = await aProvider(api, { traits: ['CUSTOM_OLD', 'HW_CPU_X86_VMX'] });
    const path = `/resource_providers/${uuid}/traits`;
    const put = await api.put(path, { traits: ['HW_CPU_X86_SVM'], resource_provider_generation: 1 });
    expect([put.status, put.body]).toEqual([200, { traits: ['HW_CPU_X86_SVM'], resource_provider_generation: 2 }]);
    expect((await api.get(path)).body).toEqual(put.body);
    expect((await api.delete(path)).status).toBe(204);
    expect((await api.get(path)).body).toEqual({ traits: [], resource_provider_generation: 3 });
  });

  story('refuses traits from who has not seen the last change, and traits that nobody made', async (api) => {
    const uuid = await aProvider(api, { traits: ['HW_CPU_X86_VMX'] });
    const path = `/resource_providers/${uuid}/traits`;
    const stale = await api.put(path, { traits: [], resource_provider_generation: 0 });
    expect(errorOf(stale)).toMatchObject({ status: 409, code: 'placement.concurrent_update' });
    const unknown = await api.put(path, { traits: ['CUSTOM_UNHEARD_OF'], ...(await guard(api, uuid)) });
    expect(unknown.status).toBe(400);
    expect(errorOf(unknown).detail).toContain('CUSTOM_UNHEARD_OF');
    expect((await api.get(path)).body).toMatchObject({ traits: ['HW_CPU_X86_VMX'] });
  });

  story('keeps a trait that a provider has, and the standard ones for ever', async (api) => {
    const uuid = await aProvider(api, { traits: ['CUSTOM_HELD'] });
    expect((await api.delete('/traits/CUSTOM_HELD')).status).toBe(409);
    await api.delete(`/resource_providers/${uuid}/traits`);
    expect((await api.delete('/traits/CUSTOM_HELD')).status).toBe(204);
    expect((await api.delete('/traits/CUSTOM_HELD')).status).toBe(404);
    expect((await api.delete('/traits/HW_CPU_X86_VMX')).status).toBe(400);
  });
}
