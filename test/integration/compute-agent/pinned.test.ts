import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { allowedCpus } from '../../../services/compute-agent/drivers/process/proc';
import { type OwnVirtualHost, ownVirtualHost } from '../../shared-servers';
import { eventually } from '../test-cell';

/* Wishes for processors from a flavor and an image to the process that runs, and to the host where it can't. */

let credentials: DeployedCredentials;
let broker: OwnVirtualHost;
let redis: TestServer;
let operator: Client;
let stateDir: string;
let cores: readonly number[];
const children: Child[] = [];
const urlOf = (user: string) => credentials.brokerUrl(user, broker.port);

async function start(name: string, env: Readonly<Record<string, string>>): Promise<Child> {
  const child = startChild('services/cli/main.ts', [name], env);
  children.push(child);
  await child.says('"msg":"running"');
  return child;
}

beforeAll(async () => {
  cores = await allowedCpus();
  if (cores.length < 2) throw new Error('this test needs two cores');
  stateDir = mkdtempSync(join(tmpdir(), 'berth-pinned-'));
  credentials = deployedCredentials(['agent.able', 'agent.plain']);
  [broker, redis] = await Promise.all([
    ownVirtualHost(credentials),
    startRedis({
      shipped: { configFile: join(__dirname, '../../../deploy/redis/redis.conf'), aclFile: credentials.aclFile },
    }),
  ]);
  const storeUrlOf = (user: string) => redis.url.replace('//', `//${user}:${credentials.passwordOf(user)}@`);
  for (const name of ['scheduler', 'conductor']) {
    await start(name, { BERTH_BUS_URL: urlOf(name), BERTH_STORE_URL: storeUrlOf(name) });
  }
  const agent = { BERTH_AGENT_REPORT_INTERVAL_MS: '500', BERTH_AGENT_REPORT_MIN_INTERVAL_MS: '100' };
  await start('compute-agent', {
    ...agent,
    BERTH_BUS_URL: urlOf('agent.able'),
    BERTH_AGENT_HOST: 'able',
    BERTH_AGENT_DRIVER: 'process',
    BERTH_AGENT_STATE_DIR: stateDir,
    BERTH_AGENT_PROCESS_DEDICATED: cores.join(','),
    BERTH_AGENT_PROCESS_REALTIME: 'true',
  });
  await start('compute-agent', {
    ...agent,
    BERTH_BUS_URL: urlOf('agent.plain'),
    BERTH_AGENT_HOST: 'plain',
    BERTH_AGENT_INVENTORY: 'PCPU=64,MEMORY_MB=65536',
  });
  operator = await connect({ url: urlOf('operator') });
  await eventually('both hosts are there', async () => (await operator.hosts()).length === 2);
});
afterAll(async () => {
  await operator?.close();
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials?.remove();
  rmSync(stateDir, { recursive: true, force: true });
});

const WHO = { projectId: 'demo', userId: 'me', resources: { VCPU: 1, MEMORY_MB: 64 } };
const DEDICATED = { 'hw:cpu_policy': 'dedicated' };

/** A file of /proc of an instance's process. */
function procOf(uuid: string, file: string): string {
  const [pid] = readFileSync(join(stateDir, 'able', 'instances', uuid, 'pid'), 'utf8').split(' ');
  return readFileSync(`/proc/${pid}/${file}`, 'utf8');
}

it('pins an instance beside a core for its emulator, in real time where the kernel lets it', async () => {
  const [host] = await operator.hosts('able');
  const isRealtime = host?.traits.includes('CUSTOM_COMPUTE_CPU_REALTIME') === true;
  const realtime = isRealtime ? { 'hw:cpu_realtime': 'yes' } : {};
  const extraSpecs = { ...DEDICATED, ...realtime, 'hw:emulator_threads_policy': 'isolate' };
  const [active] = await operator.buildAndWait({ spec: { ...WHO, extraSpecs } }, { timeoutMs: 60_000 });
  expect(active).toMatchObject({ state: 'active', host: 'able' });
  const uuid = active?.instanceUuid ?? '';
  const [first, second] = cores;
  expect(procOf(uuid, 'status')).toMatch(new RegExp(`^Cpus_allowed_list:\t${first}$`, 'm'));
  expect(procOf(uuid, 'environ').split('\0')).toContain(`BERTH_EMULATOR_CORES=${second}`);
  const [, , policy] = procOf(uuid, 'stat').split(') ')[1]?.split(' ').slice(36, 39) ?? [];
  expect(policy).toBe(isRealtime ? '1' : '0');
  await operator.terminateAndWait(uuid, { timeoutMs: 60_000 });
});

it('goes nowhere where no host can do it, and says what asks for it', async () => {
  const hasThreads = (await operator.hosts()).some(({ traits }) => traits.includes('HW_CPU_HYPERTHREADING'));
  const spec = { ...WHO, extraSpecs: DEDICATED, imageProperties: { hw_cpu_thread_policy: 'require' } };
  const { diagnosis } = await operator.explain({ ...spec, resources: { VCPU: 2, MEMORY_MB: 64 } });
  expect(diagnosis.hostsPassed).toBe(hasThreads ? 1 : 0);
  expect(diagnosis.summary).toContain('HW_CPU_HYPERTHREADING on');
  expect(diagnosis.summary).toContain('(image property hw_cpu_thread_policy)');
  await expect(
    operator.buildAndWait({ spec: { ...WHO, extraSpecs: { 'hw:cpu_realtime': 'yes' } } }, { timeoutMs: 60_000 }),
  ).rejects.toMatchObject({
    reason: 'conflicting_extra_specs',
    details: { field: 'request_spec.extra_specs.hw:cpu_realtime' },
  });
});
