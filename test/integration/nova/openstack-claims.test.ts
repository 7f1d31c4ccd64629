import { fetchJson } from '#libs/runtime/fetch-json';
import { urlIn } from '#libs/testing/servers/child';
import { startOpenstackPlacement } from '#libs/testing/servers/openstack-placement';
import type { TestServer } from '#libs/testing/servers/server-process';
import { sharedServer } from '../../shared-servers';
import { aNovaCloud } from './nova-cloud';

/* Claims where placement stays OpenStack's: a real one, a copy of it in Berth's store, and Nova's own client. */

jest.setTimeout(300_000);

const HEADERS = { 'x-auth-token': 'admin', 'openstack-api-version': 'placement 1.36' };
const HOSTS = ['h1', 'h2', 'h3'] as const;

let openstack: TestServer;
let cloud: Awaited<ReturnType<typeof aNovaCloud>>;
beforeAll(async () => {
  const servers = { rabbitmq: sharedServer('rabbitmq'), redis: sharedServer('redis') };
  [openstack, cloud] = await Promise.all([startOpenstackPlacement(), aNovaCloud(servers, HOSTS.length)]);
  for (const { id: uuid, hypervisor_hostname: name } of cloud.api.hypervisors) {
    await openstackCall('POST', '/resource_providers', { uuid, name });
    const inventories = Object.fromEntries(
      Object.entries({ VCPU: 16, MEMORY_MB: 16_384, DISK_GB: 1_000 }).map(([name_, total]) => [name_, { total }]),
    );
    const body = { resource_provider_generation: 0, inventories };
    await openstackCall('PUT', `/resource_providers/${String(uuid)}/inventories`, body);
  }
});
afterAll(async () => {
  await Promise.all([cloud?.close(), openstack?.stop()]);
});

async function openstackCall(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<unknown> {
  const signal = AbortSignal.timeout(60_000);
  const answer = await fetchJson(openstack.url + path, { method, headers: HEADERS, body, signal });
  if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function allocationsOf(consumer: unknown): Promise<Record<string, unknown>> {
  const answer = await openstackCall('GET', `/allocations/${String(consumer)}`);
  return (answer as { allocations: Record<string, unknown> }).allocations;
}

/** Starts a copy of OpenStack's Placement that follows it so often, and a scheduler on the copy that claims in the original. */
async function launchOnCopy(cell: string, intervalMs: number) {
  const noauth = { BERTH_PLACEMENT_PORT: '0', BERTH_PLACEMENT_AUTH: 'noauth' };
  const api = await cloud.start(['placement-api'], cell, 'api_listening', noauth);
  const url = urlIn(api, 'api_listening');
  const sides = ['--from', openstack.url, '--from-token', 'admin', '--placement-url', url];
  const follow = ['--interval-ms', String(intervalMs), '--follow', '--delete-extra'];
  await cloud.start(['placement', 'import', ...sides, ...follow], cell, /\d+ writes? in \d+ ms/);
  const elsewhere = { BERTH_NOVA_PLACEMENT_URL: openstack.url, BERTH_NOVA_PLACEMENT_TOKEN: 'admin' };
  return cloud.launch({ BERTH_CELL: cell, ...elsewhere });
}

it("claims in OpenStack's Placement, and keeps the claim of a call that comes again", async () => {
  const scheduler = await launchOnCopy(`${cloud.settings.BERTH_CELL}-near`, 200);
  const [boot, many] = (await cloud.client('boot', 'many')) as { uuids: string[]; selections: { uuid: string }[][] }[];
  const [uuid = ''] = boot?.uuids ?? [];
  const root = boot?.selections[0]?.[0]?.uuid ?? '';
  expect(await allocationsOf(uuid)).toMatchObject({ [root]: { resources: { VCPU: 1, MEMORY_MB: 256, DISK_GB: 5 } } });
  for (const one of many?.uuids ?? []) expect(Object.keys(await allocationsOf(one))).toHaveLength(1);
  const [again, group] = await cloud.client(`again:${uuid}`, 'group');
  expect((again as typeof boot)?.selections[0]?.[0]?.uuid).toBe(root);
  expect(Object.keys(await allocationsOf(uuid))).toEqual([root]);
  expect(new Set((group as { hosts: string[] }).hosts).size).toBe(2);
  scheduler.process.kill('SIGTERM');
  await scheduler.exit;
});

it('decides again when the copy is old and its hosts are full', async () => {
  await launchOnCopy(`${cloud.settings.BERTH_CELL}-far`, 3_000_000);
  const uuidOf = (host: string) =>
    String(cloud.api.hypervisors.find(({ hypervisor_hostname: name }) => name === host)?.['id']);
  for (const [i, host] of ['h1', 'h2'].entries()) {
    const { usages } = (await openstackCall('GET', `/resource_providers/${uuidOf(host)}/usages`)) as Usages;
    const allocations = { [uuidOf(host)]: { resources: { VCPU: 16 - usages.VCPU } } };
    const consumer = { allocations, project_id: 'p', user_id: 'u', consumer_generation: null };
    await openstackCall('PUT', `/allocations/11111111-0000-4000-8000-00000000000${i}`, consumer);
  }
  const [many] = (await cloud.client('many')) as { uuids: string[] }[];
  for (const one of many?.uuids ?? []) expect(Object.keys(await allocationsOf(one))).toEqual([uuidOf('h3')]);
});

interface Usages {
  readonly usages: { readonly VCPU: number };
}
