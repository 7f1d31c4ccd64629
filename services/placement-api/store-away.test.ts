import { BerthError } from '#libs/domain/errors';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { type Api, openApi } from './testing/api';
import { aProvider, errorOf } from './testing/state';

/** A store with outages. */
class UnsteadyStore extends MemoryPlacementStore {
  isAway = false;

  override async commit(...args: Parameters<MemoryPlacementStore['commit']>) {
    this.#refuseWhenAway();
    return super.commit(...args);
  }

  override async revision() {
    this.#refuseWhenAway();
    return super.revision();
  }

  #refuseWhenAway(): void {
    if (this.isAway) throw new BerthError('unavailable', 'store_away', 'the store is away');
  }
}

let store: UnsteadyStore;
let api: Api;
beforeEach(async () => {
  store = new UnsteadyStore();
  api = await openApi(store);
});
afterEach(() => api.close());

it('answers reads and writes 503 while the store is away, and says when to come again', async () => {
  const uuid = await aProvider(api);
  store.isAway = true;
  for (const answered of [
    await api.get(`/resource_providers/${uuid}`),
    await api.post('/resource_providers', { name: 'new' }),
    await api.delete(`/resource_providers/${uuid}`),
    await api.get('/allocation_candidates?resources=VCPU:1'),
  ]) {
    expect(errorOf(answered)).toMatchObject({ status: 503, title: 'Service Unavailable' });
    expect(answered.headers['retry-after']).toBe('1');
  }
});

it('tells its versions and refuses what is malformed without the store', async () => {
  store.isAway = true;
  expect((await api.get('/')).status).toBe(200);
  expect((await api.get('/resource_providers', { as: null })).status).toBe(401);
  expect((await api.post('/resource_providers', '{')).status).toBe(400);
});

it('goes on when the store is back', async () => {
  const uuid = await aProvider(api);
  store.isAway = true;
  await api.get(`/resource_providers/${uuid}`);
  store.isAway = false;
  expect((await api.get(`/resource_providers/${uuid}`)).status).toBe(200);
  expect((await api.delete(`/resource_providers/${uuid}`)).status).toBe(204);
});
