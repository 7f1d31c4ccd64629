import { randomUUID } from 'node:crypto';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemRandom } from '#libs/runtime/system';
import { type Api, openApi } from '../../../services/placement-api/testing/api';
import { aProvider, consumerBody } from '../../../services/placement-api/testing/state';
import { sharedServer } from '../../shared-servers';

let one: Api;
let two: Api;
beforeEach(async () => {
  const cell = randomUUID();
  const open = async () => {
    const options = { log: silentLog, random: systemRandom, commandTimeoutMs: 5_000, connectionName: 'pair' };
    const client = await connectRedis(sharedServer('redis'), options);
    return openApi(new RedisPlacementStore(client, { cell, streamLength: 10_000 }));
  };
  [one, two] = await Promise.all([open(), open()]);
});
afterEach(() => Promise.all([one.close(), two.close()]));

it('shows at once through one API what was written through another', async () => {
  for (let i = 1; i <= 50; i++) {
    const [writer, reader] = i % 2 ? [one, two] : [two, one];
    const uuid = randomUUID();
    await writer.post('/resource_providers', { uuid, name: `provider ${i}` });
    expect((await reader.get(`/resource_providers/${uuid}`)).status).toBe(200);
    const { body } = await reader.get('/resource_providers');
    expect((body as { resource_providers: object[] }).resource_providers).toHaveLength(i);
  }
});

it('gives away no more than there is through two APIs together', async () => {
  const uuid = await aProvider(one, { inventories: { VCPU: 10 } });
  const claim = (_: unknown, i: number) =>
    (i % 2 ? one : two).put(`/allocations/${randomUUID()}`, consumerBody({ [uuid]: { VCPU: 1 } }));
  const statuses = (await Promise.all(Array.from({ length: 30 }, claim))).map(({ status }) => status);
  expect(statuses.filter((status) => status === 204)).toHaveLength(10);
  expect(statuses.filter((status) => status === 409)).toHaveLength(20);
  const usages = await Promise.all([one, two].map((api) => api.get(`/resource_providers/${uuid}/usages`)));
  expect(usages[0]?.body).toMatchObject({ usages: { VCPU: 10 } });
  expect(usages[1]?.body).toEqual(usages[0]?.body);
});
