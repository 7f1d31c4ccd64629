import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { connect } from '#libs/client/connect';
import { sleep } from '#libs/domain/clock';
import { environment, systemClock } from '#libs/runtime/system';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { type Child, startChild } from '#libs/testing/servers/child';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';

/*
 * deploy/docker-compose.cells.yml without Docker: the processes that it describes, with the settings, users and rights that it
 * gives them, one of each, on a private broker and a private Redis. A tenant of the top builds in both cells.
 */

jest.setTimeout(120_000);

interface Service {
  readonly command?: readonly string[];
  readonly hostname?: string;
  readonly environment: Readonly<Record<string, string>>;
}

const ROOT = join(__dirname, '../../..');
const read = (file: string) =>
  (parse(readFileSync(join(ROOT, 'deploy', file), 'utf8'), { merge: true }) as { services: Record<string, Service> })
    .services;
const services: Record<string, Service> = { ...read('docker-compose.yml'), ...read('docker-compose.cells.yml') };

const folder = mkdtempSync(join(tmpdir(), 'berth-compose-'));
const children: Child[] = [];
let broker: Awaited<ReturnType<typeof startRabbitmq>>;
let redis: TestServer;

/** As compose fills in variables: each has a default here. */
function settingsOf(name: string): Record<string, string> {
  const own = name === 'credentials' ? read('docker-compose.yml')['credentials']?.environment : {};
  const all = { ...own, ...services[name]?.environment };
  const filled = Object.entries(all).map(([key, value]) => [key, value.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')]);
  return Object.fromEntries(filled) as Record<string, string>;
}

beforeAll(async () => {
  const asSources = ['--conditions=berth-source', '--require', join(ROOT, 'libs/testing/typescript.cjs')];
  execFileSync(process.execPath, [...asSources, join(ROOT, 'deploy/credentials.mjs'), folder], {
    env: { ...environment(), ...settingsOf('credentials') },
    cwd: ROOT,
    stdio: 'pipe',
  });
  const shipped = { configFile: join(ROOT, 'deploy/redis/redis.conf'), aclFile: join(folder, 'redis-users.acl') };
  [broker, redis] = await Promise.all([
    startRabbitmq({ config: { load_definitions: join(folder, 'rabbitmq-definitions.json') } }),
    startRedis({ shipped }),
  ]);
});
afterAll(async () => {
  for (const child of children) child.process.kill('SIGKILL');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.allSettled([broker?.stop(), redis?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

const local = (url: string) =>
  url.replace('rabbitmq:5672', `127.0.0.1:${broker.port}`).replace('redis:6379', `127.0.0.1:${redis.port}`);

async function run(name: string): Promise<void> {
  const { BERTH_AGENT_STATE_DIR: _notHere, ...settings } = settingsOf(name);
  const env = Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, local(value)]));
  const { hostname, command = [] } = services[name] ?? { environment: {} };
  const host = hostname === undefined ? {} : { BERTH_AGENT_HOST: hostname };
  const child = startChild('services/cli/main.ts', command, { BERTH_HTTP_PORT: '0', ...env, ...host });
  children.push(child);
  await child.says('"msg":"running"');
}

it('a tenant of the top builds in both cells, with the rights that the files give to each', async () => {
  await Promise.all(['scheduler', 'conductor', 'b-scheduler', 'b-conductor'].map(run));
  await Promise.all(['compute-agent-1', 'b-compute-agent-1', 'top-scheduler', 'top-conductor'].map(run));
  const password = 'top-demo-for-trying';
  const url = `amqp://cell.top.project.demo:${password}@127.0.0.1:${broker.port}/berth`;
  const operatorUrl = `amqp://operator:operator-for-trying@127.0.0.1:${broker.port}/berth`;
  const [tenant, operator] = await Promise.all([
    connect({ url, cell: 'top' }),
    connect({ url: operatorUrl, cell: 'top' }),
  ]);
  try {
    for (const clock = systemClock(); ; await sleep(clock, 50)) {
      const cells = await operator.cells();
      if (cells.every(({ summary }) => summary?.availableCount === 1)) break;
    }
    const spec = aRequestSpec({ projectId: 'demo', resources: { VCPU: 1 } });
    const builds = await Promise.all(
      Array.from({ length: 12 }, () => tenant.buildAndWait({ spec }, { timeoutMs: 30_000 })),
    );
    expect(builds.flat().map(({ state, host }) => `${state} on ${host}`)).toEqual(Array(12).fill('active on host-1'));
    const rows = await tenant.instances();
    expect(new Set(rows.map(({ cell }) => cell))).toEqual(new Set(['b', 'cell1']));
    await expect(tenant.cells()).rejects.toMatchObject({ reason: 'services_only' });
    const foreign = aRequestSpec({ projectId: 'another', resources: { VCPU: 1 } });
    await expect(tenant.buildAndWait({ spec: foreign }, { timeoutMs: 20_000 })).rejects.toMatchObject({
      reason: 'wrong_project',
    });
  } finally {
    await Promise.all([tenant.close(), operator.close()]);
  }
});
