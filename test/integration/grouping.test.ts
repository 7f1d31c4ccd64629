import { join } from 'node:path';
import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { runLine } from '../../services/cli/testing/run-line';
import { type OwnVirtualHost, ownVirtualHost } from '../shared-servers';
import { eventually } from './test-cell';

/* Aggregates, zones and groups on real servers, with two schedulers, under the permissions of a deployment. */

let credentials: DeployedCredentials;
let broker: OwnVirtualHost;
let redis: TestServer;
let operator: Client;
let tenant: Client;
const children: Child[] = [];
const urlOf = (user: string) => credentials.brokerUrl(user, broker.port);

beforeAll(async () => {
  credentials = deployedCredentials(['service-host.h', 'project.demo']);
  [broker, redis] = await Promise.all([
    ownVirtualHost(credentials),
    startRedis({
      shipped: { configFile: join(__dirname, '../../deploy/redis/redis.conf'), aclFile: credentials.aclFile },
    }),
  ]);
  const storeUrlOf = (user: string) => redis.url.replace('//', `//${user}:${credentials.passwordOf(user)}@`);
  const agent = { BERTH_AGENT_HOST: 'h', BERTH_AGENT_HOSTS: '3', BERTH_AGENT_INVENTORY: 'VCPU=8,MEMORY_MB=16384' };
  for (const [name, user] of [
    ['scheduler', 'scheduler'],
    ['scheduler', 'scheduler'],
    ['conductor', 'conductor'],
    ['compute-agent', 'service-host.h'],
  ] as const) {
    const more = name === 'compute-agent' ? agent : { BERTH_STORE_URL: storeUrlOf(user) };
    const child = startChild('services/cli/main.ts', [name], { BERTH_BUS_URL: urlOf(user), ...more });
    children.push(child);
    await child.says('"msg":"running"');
  }
  [operator, tenant] = await Promise.all(
    ['operator', 'project.demo'].map((user) => connect({ url: urlOf(user) })) as [Promise<Client>, Promise<Client>],
  );
});
afterAll(async () => {
  await Promise.allSettled([operator?.close(), tenant?.close()]);
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials?.remove();
});

const SPEC = { projectId: 'demo', userId: 'me', resources: { VCPU: 1, MEMORY_MB: 64 } };

it('builds in zones, apart in groups, and where tenants may, as the command line says', async () => {
  const berth = async (line: string, user = 'operator') => {
    const env = { BERTH_BUS_URL: urlOf(user), BERTH_CLIENT_TIMEOUT_MS: '30000' };
    const { code, out, err } = await runLine(line, env);
    return { code, text: (out + err).replace(/\s+/g, ' ') };
  };
  expect((await berth('aggregate create east --zone east --property rack=7')).text).toContain(
    'metadata availability_zone=east rack=7',
  );
  for (const host of ['h-1', 'h-2']) expect((await berth(`aggregate add-host east ${host}`)).code).toBe(0);
  await berth('aggregate create bank --property filter_tenant_id=bank');
  await berth('aggregate add-host bank h-3');
  const isListed = async () => /AGGREGATE UUID .* bank \S+ 1 .* east \S+ 2 /.test((await berth('aggregate list')).text);
  await eventually('either scheduler shows the last host', isListed);
  expect((await berth('aggregate show east')).text).toContain('hosts h-1 h-2');
  expect((await berth('zone list', 'project.demo')).text).toContain('east 2 2 nova 1 1');
  expect((await berth('zone show east')).text).toContain('hosts h-1 h-2');
  expect((await berth('host show h-1')).text).toContain('zone / cell east');
  expect((await berth('host list --zone east -o name')).text).toBe('h-1 h-2 ');
  expect((await berth('host list --zone east --name x')).text).toContain('no hosts');
  expect(await berth('host list --zone mars')).toMatchObject({ code: 4, text: expect.stringContaining("zone 'mars'") });
  expect(await berth('aggregate list', 'project.demo')).toMatchObject({ code: 4 });

  expect((await berth('group create web --policy anti-affinity', 'project.demo')).text).toContain(
    'project demo rules anti-affinity, 1 on a host',
  );
  const group = { id: 'web', policy: undefined, maxPerHost: 0 } as const;
  const inZone = { ...SPEC, availabilityZone: 'east', group };
  const built = await tenant.buildAndWait({ spec: inZone, count: 2 }, { timeoutMs: 60_000 });
  expect(built.map(({ state, host }) => `${state} on ${host}`).sort()).toEqual(['active on h-1', 'active on h-2']);
  expect((await berth('group list', 'project.demo')).text).toContain('demo web anti-affinity, 1 on a host 2');
  expect((await berth('group show web', 'project.demo')).text).toContain(
    built
      .map((one) => one.instanceUuid)
      .sort()
      .join(' '),
  );

  // The third host belongs to another project.
  const [third] = await tenant.buildAndWait({ spec: { ...SPEC, group } }, { timeoutMs: 60_000 });
  expect(third?.fault?.message).toMatch(/is for other projects only/);
  expect(await berth('aggregate remove-host east h-1')).toMatchObject({
    code: 4,
    text: expect.stringContaining('host h-1 has instances'),
  });

  await berth('aggregate unset bank --property filter_tenant_id');
  const explained = await tenant.explain({ ...SPEC, group });
  expect(explained.hosts.map(({ host }) => host)).toEqual(['h-3']);
  expect((await berth('group create even --spread zone --max-skew 2', 'project.demo')).text).toContain(
    'rules soft-anti-affinity, over availability_zone with skew 2',
  );
  expect(await berth('group create odd', 'project.demo')).toMatchObject({ code: 2 });
  expect(await berth('group create odd --policy affinity --spread zone', 'project.demo')).toMatchObject({
    code: 2,
    text: expect.stringContaining('spread goes with no affinity'),
  });
  const even = { id: 'even', policy: undefined, maxPerHost: 0 } as const;
  const four = await tenant.buildAndWait({ spec: { ...SPEC, group: even }, count: 2 }, { timeoutMs: 60_000 });
  // The third host is in no zone.
  for (const { host } of four) expect(['h-1', 'h-2']).toContain(host);
  expect((await berth('group delete web', 'project.demo')).text).toContain('web is deleted');
  await berth('aggregate remove-host bank h-3');
  expect((await berth('aggregate delete bank')).text).toContain('bank is deleted');
});
