import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aConsumer, aProvider, errorOf } from '../testing/state';
import type { Story } from '../testing/story';

/** Authentication and policy. */
export function policyStories(story: Story): void {
  story('lets nobody in without a token, wherever they go', async (api) => {
    for (const path of ['/resource_providers', '/traits', '/usages?project_id=a', '/nothing', '/allocations/x']) {
      const answered = await api.get(path, { as: null });
      expect(errorOf(answered)).toMatchObject({ status: 401, title: 'Unauthorized' });
    }
  });

  story('lets the roles admin and service do everything', async (api) => {
    for (const roles of ['admin', 'service']) {
      const asking = { as: 'somebody:else', roles };
      expect((await api.post('/resource_providers', { name: roles }, asking)).status).toBe(200);
      expect((await api.get('/resource_providers', asking)).status).toBe(200);
      expect((await api.put('/traits/CUSTOM_A', undefined, asking)).status).toBeLessThan(300);
      expect((await api.get('/allocation_candidates?resources=VCPU:1', asking)).status).toBe(200);
      expect((await api.post('/reshaper', {}, asking)).status).toBe(400);
    }
  });

  story('refuses members and readers, names the rule, and changes nothing', async (api) => {
    for (const roles of ['member', 'reader', 'member,reader', '']) {
      const answered = await api.post('/resource_providers', { name: 'mine' }, { as: 'somebody', roles });
      expect(errorOf(answered)).toMatchObject({ status: 403, title: 'Forbidden' });
      expect(errorOf(answered).detail).toContain('placement:resource_providers:create');
    }
    expect((await api.get('/resource_providers')).body).toEqual({ resource_providers: [] });
  });

  story('tells readers how much their own project uses, and no other', async (api) => {
    const provider = await aProvider(api, { inventories: { VCPU: 8 } });
    await aConsumer(api, { [provider]: { VCPU: 2 } }, { project_id: 'alpha' });
    const asking = { as: 'anna:alpha', roles: 'reader' };
    const own = await api.get('/usages?project_id=alpha', asking);
    expect([own.status, own.body]).toEqual([200, { usages: { INSTANCE: { VCPU: 2, consumer_count: 1 } } }]);
    expect((await api.get('/usages?project_id=beta', asking)).status).toBe(403);
    expect((await api.get('/usages?project_id=alpha', { as: 'anna:alpha', roles: 'nothing' })).status).toBe(403);
  });

  story('refuses tokens of the whole system, admins among them', async (api) => {
    const headers = { 'openstack-system-scope': 'all' };
    expect((await api.get('/resource_providers', { headers })).status).toBe(403);
    expect((await api.get('/', { headers })).status).toBe(200);
  });

  story(
    'takes tokens of the whole system where scopes are not enforced',
    async (api) => {
      const headers = { 'openstack-system-scope': 'all' };
      expect((await api.get('/resource_providers', { headers })).status).toBe(200);
    },
    { BERTH_PLACEMENT_ENFORCE_SCOPE: 'false' },
  );

  story(
    'keeps the reshaper for services where only the new rules count',
    async (api) => {
      expect((await api.post('/reshaper', {}, { roles: 'admin' })).status).toBe(403);
      expect((await api.post('/reshaper', {}, { roles: 'service' })).status).toBe(400);
      expect((await api.get('/resource_providers', { roles: 'admin' })).status).toBe(200);
    },
    { BERTH_PLACEMENT_ENFORCE_NEW_DEFAULTS: 'true' },
  );

  story(
    'lets everyone with a token do everything where the policy is open',
    async (api) => {
      expect((await api.post('/resource_providers', { name: 'mine' }, { as: 'somebody' })).status).toBe(200);
      expect((await api.get('/resource_providers', { as: null })).status).toBe(401);
    },
    { BERTH_PLACEMENT_POLICY: 'open' },
  );

  story('looks at who asks before it looks at the body, and at the path before both', async (api) => {
    const nobody = { as: 'somebody', roles: 'member' };
    expect((await api.post('/resource_providers', '{', nobody)).status).toBe(403);
    expect((await api.post('/nothing', '{', nobody)).status).toBe(404);
    expect((await api.send('PATCH', '/resource_providers', '{', nobody)).status).toBe(405);
  });
}

/** Authentication by a token file. */
export function tokenStories(story: Story): void {
  const folder = mkdtempSync(join(tmpdir(), 'berth-tokens-'));
  const file = join(folder, 'tokens.json');
  const tokens = [
    { token: 'the-token-of-nova', user_id: 'nova', project_id: 'service', roles: ['service'] },
    { token: 'the-token-of-anna', user_id: 'anna', project_id: 'alpha', roles: ['member'] },
  ];
  writeFileSync(file, JSON.stringify(tokens), { mode: 0o600 });
  afterAll(() => rmSync(folder, { recursive: true }));
  const env = { BERTH_PLACEMENT_AUTH: 'tokens', BERTH_PLACEMENT_TOKENS_FILE: file };

  story(
    'knows who holds a token of its file, and believes no roles that a request claims',
    async (api) => {
      expect((await api.get('/traits', { as: 'the-token-of-nova' })).status).toBe(200);
      expect((await api.get('/traits', { as: 'the-token-of-anna', roles: 'admin' })).status).toBe(403);
      expect((await api.get('/traits', { as: 'admin' })).status).toBe(401);
      expect((await api.get('/', { as: null })).status).toBe(200);
    },
    env,
  );
}
