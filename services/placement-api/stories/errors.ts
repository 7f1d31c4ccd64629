import { aProvider, consumerBody, errorOf } from '../testing/state';
import type { Story } from '../testing/story';

const NOWHERE = '/resource_providers/00000000-0000-4000-8000-000000000000';

const uuidOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
/** An object with `count` equal values. */
const many = (count: number, value: unknown, keyOf: (n: number) => string = uuidOf) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [keyOf(n), value]));
const classOf = (n: number) => `CUSTOM_C${n}`;

/** Bodies that no client of Placement sends, with their paths. */
const TOO_MANY: readonly (readonly [what: string, path: string, body: () => unknown])[] = [
  ['thousands of wrong consumers', '/allocations', () => many(20_000, {})],
  ['thousands of consumers', '/allocations', () => many(2_000, consumerBody({ [uuidOf(1)]: { VCPU: 1 } }))],
  ['thousands of inventories', `${NOWHERE}/inventories`, () => ({ inventories: many(5_000, { total: 1 }, classOf) })],
  ['thousands of traits', `${NOWHERE}/traits`, () => ({ traits: Array.from({ length: 5_000 }, (_, n) => classOf(n)) })],
  ['thousands of aggregates', `${NOWHERE}/aggregates`, () => ({ aggregates: Object.keys(many(5_000, 1)) })],
  ['a reshape of thousands', '/reshaper', () => ({ inventories: {}, allocations: many(5_000, {}) })],
  ['many lists of many', '/allocations', () => many(200, { allocations: many(200, { resources: {} }) })],
  ['what is nested without end', '/allocations', () => `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`],
];

/** Refusals: status, error document and their texts. */
export function errorStories(story: Story): void {
  story('tells an error as the one of a list, with the id of the request', async (api) => {
    const answered = await api.get(NOWHERE);
    expect(answered.headers['content-type']).toBe('application/json');
    expect(answered.body).toEqual({
      errors: [
        {
          status: 404,
          title: 'Not Found',
          detail: expect.stringMatching(/^The resource could not be found\.\n\n .*No resource provider with uuid/),
          code: 'placement.undefined_code',
          request_id: answered.headers['x-openstack-request-id'],
        },
      ],
    });
    expect(errorOf(answered).request_id).toMatch(/^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  story('gives good answers a request id, too, another one each', async (api) => {
    const ids = [await api.get('/traits'), await api.get('/traits')].map((it) => it.headers['x-openstack-request-id']);
    expect(ids).toEqual([expect.stringMatching(/^req-/), expect.stringMatching(/^req-/)]);
    expect(new Set(ids).size).toBe(2);
  });

  story('refuses texts that are not well formed, values and names', async (api) => {
    const bodies = ['{"name":"x\\ud800"}', '{"name":"x","\\udfff":1}'];
    const answers = await Promise.all(bodies.map((body) => api.post('/resource_providers', body)));
    expect(answers.map(({ status }) => status)).toEqual([400, 400]);
    expect(answers.map(({ text }) => text)).toEqual(answers.map(() => expect.stringContaining('lone surrogate')));
    const whole = await api.post('/resource_providers', '{"name":"\\ud83d\\ude00"}');
    expect(whole.status).toBe(200);
  });

  story('tells codes of errors since 1.23', async (api) => {
    await api.post('/resource_providers', { name: 'taken' });
    const before = await api.post('/resource_providers', { name: 'taken' }, { version: 22 });
    expect(errorOf(before)).not.toHaveProperty('code');
    const since = await api.post('/resource_providers', { name: 'taken' }, { version: 23 });
    expect(errorOf(since).code).toBe('placement.duplicate_name');
  });

  story('shows an error as a page to a browser, and as text to who wants neither', async (api) => {
    const path = `${NOWHERE}%3Cb%3E`;
    const page = await api.get(path, { headers: { accept: 'text/html' } });
    expect([page.status, page.headers['content-type']]).toEqual([406, expect.stringMatching(/^text\/html/)]);
    expect(page.text).toContain('<h1>406 Not Acceptable</h1>');
    const text = await api.delete(path, { headers: { accept: 'text/plain' } });
    expect([text.status, text.headers['content-type']]).toEqual([404, expect.stringMatching(/^text\/plain/)]);
    expect(text.text).toMatch(/^404 Not Found\n\n/);
    const escaped = await api.delete(path, { headers: { accept: 'text/html' } });
    expect(escaped.text).not.toContain('<b>');
  });

  for (const accept of ['*/*', 'application/json', 'text/html;q=0.2, application/json', 'application/*']) {
    story(`answers who accepts "${accept}" with JSON, errors too`, async (api) => {
      const good = await api.get('/resource_providers', { headers: { accept } });
      expect([good.status, good.headers['content-type']]).toEqual([200, 'application/json']);
      const bad = await api.get(NOWHERE, { headers: { accept } });
      expect([bad.status, bad.headers['content-type']]).toEqual([404, 'application/json']);
    });
  }

  story('has nothing for who accepts no JSON', async (api) => {
    const answered = await api.get('/resource_providers', { headers: { accept: 'image/png' } });
    expect(answered.status).toBe(406);
  });

  for (const path of ['/nothing', '/resource_providers/a/b/c', '/resource_providers/', '/%ff', '/%', '/traits/a/b']) {
    story(`finds nothing at ${path}`, async (api) => {
      expect(errorOf(await api.get(path))).toMatchObject({ status: 404, title: 'Not Found' });
    });
  }

  for (const [method, path, allow] of [
    ['POST', '/', 'GET'],
    ['DELETE', '/resource_providers', 'GET, POST'],
    ['PATCH', NOWHERE, 'GET, PUT, DELETE'],
    ['POST', '/allocation_candidates', 'GET'],
    ['GET', '/allocations', 'POST'],
    ['PUT', '/reshaper', 'POST'],
    ['POST', '/traits/CUSTOM_A', 'GET, PUT, DELETE'],
  ] as const) {
    story(`says that ${method} ${path} is not allowed, and what is`, async (api) => {
      const answered = await api.send(method, path, undefined);
      expect(errorOf(answered)).toMatchObject({ status: 405, title: 'Method Not Allowed' });
      expect((answered.headers['allow'] ?? '').split(', ').toSorted()).toEqual(allow.split(', ').toSorted());
    });
  }

  for (const [since, method, path] of [
    [1, 'GET', `${NOWHERE}/aggregates`],
    [2, 'GET', '/resource_classes'],
    [6, 'GET', '/traits'],
    [6, 'GET', `${NOWHERE}/traits`],
    [9, 'GET', '/usages?project_id=a'],
    [10, 'GET', '/allocation_candidates?resources=VCPU:1'],
    [13, 'POST', '/allocations'],
    [30, 'POST', '/reshaper'],
  ] as const) {
    story(
      `does not know ${method} ${path.replace(NOWHERE, '/resource_providers/…')} before 1.${since}`,
      async (api) => {
        const body = method === 'POST' ? {} : undefined;
        expect(errorOf(await api.send(method, path, body, { version: since - 1 })).detail).not.toMatch(/uuid|JSON/);
        expect((await api.send(method, path, body, { version: since - 1 })).status).toBe(404);
        const { status, text } = await api.send(method, path, body, { version: since });
        expect(status === 404 ? text : '').toMatch(/^$|No resource provider/);
      },
    );
  }

  story('has DELETE of all inventories not allowed before 1.5, for the path is older', async (api) => {
    const path = `${NOWHERE}/inventories`;
    const before = await api.delete(path, { version: 4 });
    expect([before.status, before.headers['allow']]).toEqual([405, 'GET, POST, PUT']);
    expect((await api.delete(path, { version: 5 })).status).toBe(404);
  });

  story('refuses texts that are not Unicode, and answers others meanwhile', async (api) => {
    const uuid = '00000000-0000-4000-8000-000000000001';
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    const body = consumerBody({ [provider]: { VCPU: 1 } });
    const [broken, whole] = await Promise.all([
      api.put(`/allocations/${uuid}`, { ...body, project_id: 'x\ud800' }),
      api.put('/allocations/00000000-0000-4000-8000-000000000002', body),
    ]);
    expect(errorOf(broken)).toMatchObject({ status: 400, detail: expect.stringContaining('lone surrogate') });
    expect(whole.status).toBe(204);
    expect((await api.get(`/allocations/${uuid}`)).body).toMatchObject({ allocations: {} });
  });

  story('takes bodies as JSON only', async (api) => {
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded']) {
      const answered = await api.post('/resource_providers', '{"name":"a"}', { headers: { 'content-type': type } });
      expect(errorOf(answered)).toMatchObject({ status: 415, title: 'Unsupported Media Type' });
      expect(errorOf(answered).detail).toContain(type);
    }
    const charset = { 'content-type': 'application/json; charset=UTF-8' };
    expect((await api.post('/resource_providers', '{"name":"a"}', { headers: charset })).status).toBe(200);
  });

  story('wants to know of which type a body is', async (api) => {
    const answered = await api.post('/resource_providers', '{"name":"a"}', { headers: { 'content-type': undefined } });
    expect(answered.status).toBe(400);
    expect(errorOf(answered).detail).toContain('content-type header required');
  });

  for (const text of ['', '{', 'name=a', '{"name":"a"}{', '\u0000', "{'name': 'a'}", '{"name": NaN}']) {
    story(`says that ${JSON.stringify(text)} is malformed JSON`, async (api) => {
      const answered = await api.post('/resource_providers', text);
      expect(answered.status).toBe(400);
      expect(errorOf(answered).detail).toContain('Malformed JSON');
    });
  }

  for (const [body, why] of [
    [{}, "'name' is a required property"],
    [{ name: 1 }, "1 is not of type 'string'"],
    [{ name: null }, "None is not of type 'string'"],
    [{ name: 'a', uuid: 'b' }, "'b' is not a 'uuid'"],
    [{ name: 'a', colour: 'red' }, "Additional properties are not allowed ('colour' was unexpected)"],
    [{ name: 'a'.repeat(201) }, 'is too long'],
    [[], "[] is not of type 'object'"],
    ['null', "None is not of type 'object'"],
  ] as const) {
    const shown = JSON.stringify(body).slice(0, 40);
    story(`says that ${shown} is not valid and why: ${why}`, async (api) => {
      const answered = await api.post('/resource_providers', body);
      expect(answered.status).toBe(400);
      expect(errorOf(answered).detail).toContain('JSON does not validate: ');
      expect(errorOf(answered).detail).toContain(why);
      expect(errorOf(answered).detail).toMatch(/Failed validating '\w+' in schema/);
    });
  }

  story(
    'refuses a body beyond its limit',
    async (api) => {
      const answered = await api.post('/resource_providers', { name: 'a'.repeat(2_000) });
      expect(errorOf(answered)).toMatchObject({ status: 413, title: 'Payload Too Large' });
      expect((await api.post('/resource_providers', { name: 'a' })).status).toBe(200);
    },
    { BERTH_PLACEMENT_MAX_BODY_BYTES: '1024' },
  );

  for (const [what, path, body] of TOO_MANY) {
    story(`refuses ${what} at once, with a code of its own`, async (api) => {
      const startedMs = performance.now();
      const there = path.replace(NOWHERE, `/resource_providers/${await aProvider(api)}`);
      const answered = await (there === path ? api.post(path, body()) : api.put(there, body()));
      expect(errorOf(answered)).toMatchObject({ status: 413, code: 'berth.too_many' });
      expect(errorOf(answered).detail).toContain('BERTH_PLACEMENT_MAX_');
      expect(performance.now() - startedMs).toBeLessThan(5_000);
    });
  }

  story('takes a thousand consumers at once, and refuses more amounts than it works on in one step', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 1_000, MEMORY_MB: 10_000, DISK_GB: 10_000 } });
    const bodies = (count: number, amounts: object) =>
      Object.fromEntries(
        Array.from({ length: count }, () => [api.uuid(), consumerBody({ [provider]: { ...amounts } })]),
      );
    expect((await api.post('/allocations', bodies(1_000, { VCPU: 1 }))).status).toBe(204);
    const most = { VCPU: 1, MEMORY_MB: 1, DISK_GB: 1, A: 1, B: 1 };
    expect((await api.post('/allocations', bodies(1_001, most))).status).toBe(413);
  });

  story(
    'refuses a query string with more parameters than it looks at',
    async (api) => {
      const query = Array.from({ length: 11 }, (_, i) => `resources${i + 1}=VCPU:1`).join('&');
      const answered = await api.get(`/allocation_candidates?group_policy=none&${query}`);
      expect(answered.status).toBe(400);
      expect(errorOf(answered).detail).toContain('more than 10');
    },
    { BERTH_PLACEMENT_MAX_QUERY_PARAMETERS: '10' },
  );

  story('refuses query strings that are not UTF-8 or hold what is not asked for', async (api) => {
    for (const query of ['name=%ff', 'name=%ff%', 'colour=red', 'uuid=1']) {
      const answered = await api.get(`/resource_providers?${query}`);
      expect(answered.status).toBe(400);
      expect(errorOf(answered).detail).toContain('Invalid query string parameters');
    }
  });
}
