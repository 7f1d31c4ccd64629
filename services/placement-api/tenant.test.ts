import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { aWrite, claim } from '#libs/testing/placement/placement';
import { ROUTES } from './routes';
import { type Api, openApi } from './testing/api';
import { aProvider } from './testing/state';

/* A tenant's token asks every route about another's, and every byte that comes back is searched for what is the other's. */

const OTHER = 'planted-project';
const HOST = 'planted-host';
const ROLES = ['reader,member', 'reader', 'member', 'auditor', ''];

let store: MemoryPlacementStore;
let api: Api;
beforeEach(async () => {
  store = new MemoryPlacementStore();
  api = await openApi(store);
});
afterEach(() => api.close());

it.each(ROLES)(
  "tells a tenant's token with the roles '%s' nothing of another project's in any route",
  async (roles) => {
    const provider = await aProvider(api, { name: HOST, inventories: { VCPU: 8, CUSTOM_PLANTED: 7 } });
    const write = { ...aWrite({ [provider]: { VCPU: 2 } }), projectId: OTHER, userId: 'planted-user' };
    await claim(store, write);
    const others = [provider, write.uuid, OTHER, HOST, 'planted-user', 'CUSTOM_PLANTED'];
    const ids = [provider, write.uuid, 'VCPU', 'CUSTOM_PLANTED'];
    const paths = ROUTES.flatMap(({ method, path }) => {
      const named = path.includes('{') ? ids.map((id) => path.replaceAll(/\{\w+\}/g, id)) : [path];
      return named.map((one) => ({ method, path: one }));
    });
    const queries = [
      '/usages?project_id=curious',
      `/usages?project_id=${OTHER}`,
      `/resource_providers?name=${HOST}`,
      `/resource_providers?in_tree=${provider}`,
      '/allocation_candidates?resources=VCPU:1',
    ].map((path) => ({ method: 'GET' as const, path }));
    const answers = [];
    for (const { method, path } of [...paths, ...queries]) {
      const body = method === 'GET' || method === 'DELETE' ? undefined : {};
      const { status, text, headers } = await api.send(method, path, body, { as: 'eve:curious', roles });
      // It knows what it has named itself.
      const said = others.filter((one) => !path.includes(one) && `${text}${JSON.stringify(headers)}`.includes(one));
      answers.push({ method, path, status, said });
    }
    expect(answers.filter(({ said }) => said.length > 0)).toEqual([]);
    const open = answers.filter(({ status }) => status < 400).map(({ path }) => path);
    const own = roles.includes('reader') ? ['/usages?project_id=curious'] : [];
    expect([...new Set(open)].sort()).toEqual(['/', ...own]);
  },
);
