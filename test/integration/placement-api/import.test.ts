import { randomUUID } from 'node:crypto';
import { type Child, startChild, urlIn } from '#libs/testing/servers/child';
import { startOpenstackPlacement } from '#libs/testing/servers/openstack-placement';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { eventually } from '../test-cell';

/* A cloud of OpenStack Placement's, moved to Berth and back, by the command in a process of its own. */

const HOSTS = 4;
const CUSTOM = ['CUSTOM_GOLD', 'CUSTOM_RACK_7'];

let openstack: TestServer;
let redis: TestServer;
let api: Child;
let berthUrl: string;
const others: TestServer[] = [];

beforeAll(async () => {
  [openstack, redis] = await Promise.all([startOpenstackPlacement(), startRedis()]);
  const env = { BERTH_STORE_URL: redis.url, BERTH_PLACEMENT_PORT: '0', BERTH_LOG_FORMAT: 'json' };
  api = startChild('services/cli/main.ts', ['placement-api'], env);
  await api.says('"running"');
  berthUrl = urlIn(api, 'api_listening');
  await fillOpenstack();
});
afterAll(async () => {
  api?.process.kill('SIGKILL');
  await Promise.all([openstack, redis, ...others].map((server) => server?.stop()));
});

async function ask(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = {
    'x-auth-token': 'admin',
    'openstack-api-version': 'placement 1.38',
    'content-type': 'application/json',
  };
  const answer = await fetch(openstack.url + path, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await answer.text();
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

/** Hosts with NUMA nodes and an aggregate; instances on both; one host above its capacity; one consumer without a type. */
async function fillOpenstack() {
  for (const name of CUSTOM) await ask('PUT', `/traits/${name}`);
  await ask('PUT', '/resource_classes/CUSTOM_LICENCE');
  const rack = randomUUID();
  for (let n = 0; n < HOSTS; n++) {
    const [host, numa] = [randomUUID(), randomUUID()];
    await ask('POST', '/resource_providers', { uuid: host, name: `host-${n}` });
    await ask('POST', '/resource_providers', { uuid: numa, name: `numa-${n}`, parent_provider_uuid: host });
    await inventories(host, { MEMORY_MB: { total: 65_536, reserved: 512 }, CUSTOM_LICENCE: { total: 4 } });
    await inventories(numa, { VCPU: { total: 16, allocation_ratio: 1.1 } });
    await ask('PUT', `/resource_providers/${host}/traits`, {
      traits: [...CUSTOM, 'COMPUTE_NODE'],
      ...(await generation(host)),
    });
    await ask('PUT', `/resource_providers/${host}/aggregates`, { aggregates: [rack], ...(await generation(host)) });
    const types = n === 0 ? ['INSTANCE', 'MIGRATION', undefined] : ['INSTANCE', 'INSTANCE', 'INSTANCE'];
    for (const type of types) await consumer(host, numa, type);
    if (n === 1) await inventories(numa, { VCPU: { total: 8 } });
  }
}

async function generation(uuid: string) {
  const { generation: present } = await ask('GET', `/resource_providers/${uuid}`);
  return { resource_provider_generation: present };
}

async function inventories(uuid: string, these: Record<string, object>) {
  await ask('PUT', `/resource_providers/${uuid}/inventories`, { inventories: these, ...(await generation(uuid)) });
}

async function consumer(host: string, numa: string, type: string | undefined) {
  const allocations = { [host]: { resources: { MEMORY_MB: 1_024 } }, [numa]: { resources: { VCPU: 4 } } };
  const rest = { project_id: 'project', user_id: 'user', consumer_generation: null };
  const body = { allocations, ...rest, ...(type === undefined ? {} : { consumer_type: type }) };
  const headers = {
    'x-auth-token': 'admin',
    'openstack-api-version': `placement 1.${type === undefined ? 37 : 38}`,
    'content-type': 'application/json',
  };
  const url = `${openstack.url}/allocations/${randomUUID()}`;
  expect((await fetch(url, { method: 'PUT', headers, body: JSON.stringify(body) })).status).toBe(204);
}

function start(from: string, to: string, ...flags: string[]): Child {
  const sides = ['--from', from, '--from-token', 'admin', '--placement-url', to];
  return startChild('services/cli/main.ts', ['placement', 'import', ...sides, ...flags]);
}

async function run(from: string, to: string, ...flags: string[]) {
  const child = start(from, to, '--json', ...flags);
  const { code } = await child.exit;
  if (child.stdout() === '') throw new Error(child.stderr());
  return { code, ...(JSON.parse(child.stdout()) as { writes: number; differences: object[]; failures: object[] }) };
}

it('moves it to Berth, killed in the middle and begun again', async () => {
  const killed = start(openstack.url, berthUrl, '--json');
  await api.says(/"method":"PUT","url":"\/resource_providers\/[^"]+\/traits","status":200/);
  killed.process.kill('SIGKILL');
  await killed.exit;
  const left = await run(openstack.url, berthUrl, '--dry-run');
  expect(left).toMatchObject({ code: 0, writes: 0 });
  expect(left.differences.length).toBeGreaterThan(0);
  expect(await run(openstack.url, berthUrl)).toMatchObject({ code: 0, differences: [], failures: [] });
  expect(await run(openstack.url, berthUrl)).toMatchObject({ code: 0, writes: 0, differences: [] });
});

it('catches up with what changed since', async () => {
  const { resource_providers: all } = (await ask('GET', '/resource_providers?name=host-3')) as {
    resource_providers: [{ uuid: string }];
  };
  await inventories(all[0].uuid, { MEMORY_MB: { total: 131_072 } });
  const { writes, ...rest } = await run(openstack.url, berthUrl);
  expect(rest).toMatchObject({ code: 0, differences: [] });
  expect(writes).toBeLessThan(4);
});

it('moves it back, to another OpenStack Placement', async () => {
  const other = await startOpenstackPlacement();
  others.push(other);
  expect(await run(berthUrl, other.url)).toMatchObject({ code: 0, differences: [], failures: [] });
  expect(await run(openstack.url, other.url, '--dry-run')).toMatchObject({ code: 0, differences: [] });
});

it('follows it, and what is given back there by DELETE, which changes no generation', async () => {
  const lens = start(
    openstack.url,
    berthUrl,
    '--follow',
    '--delete-extra',
    '--interval-ms',
    '100',
    '--sweep-ms',
    '2000',
  );
  const { resource_providers: all } = await ask('GET', '/resource_providers?name=host-2');
  const [{ uuid: host } = { uuid: '' }] = all as { uuid: string }[];
  const consumersOn = async () => {
    const { allocations } = await ask('GET', `/resource_providers/${host}/allocations`);
    return Object.keys(allocations as object);
  };
  await inventories(host, { MEMORY_MB: { total: 98_304 } });
  await lens.says(/\d+ writes? in \d+ ms/);
  const [gone] = await consumersOn();
  await ask('DELETE', `/allocations/${gone}`);
  expect(await consumersOn()).toHaveLength(2);
  await eventually(
    'both hold the same',
    async () => {
      const { differences } = await run(openstack.url, berthUrl, '--dry-run');
      return differences.length === 0;
    },
    120_000,
  );
  lens.process.kill('SIGINT');
  expect((await lens.exit).code).not.toBeNull();
});
