import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBus } from '#libs/bus/open';
import { ACK, type Bus } from '#libs/bus/port';
import { answer, castTyped } from '#libs/bus/typed-calls';
import { type BuildReport, buildInstanceCodec, buildReportCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import { acquireHostsMethod } from '#libs/contracts/host-leases';
import { agentQueue, BUILD_RESULTS, STATS } from '#libs/contracts/queues';
import { type UpdateResourceStatsRequest, updateResourceStatsMethod } from '#libs/contracts/stats';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { Inbox } from '#libs/testing/bus/inbox';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type RabbitmqServer, startRabbitmq } from '#libs/testing/servers/servers';
import { aBuild, type BuildFields } from '../../services/compute-agent/testing/agent-world';

/* An agent with real child processes, on a real broker; the test is scheduler and conductor. */

const HOST = 'fault-host';
jest.setTimeout(60_000);

let rabbitmq: RabbitmqServer;
let bus: Bus;
let stateDir: string;
let agent: Child;
const stats = new Inbox<UpdateResourceStatsRequest>();
const results = new Inbox<BuildReport>();

beforeAll(async () => {
  rabbitmq = await startRabbitmq();
  stateDir = mkdtempSync(join(tmpdir(), 'berth-agent-killed-'));
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  bus = await openBus({ busUrl: rabbitmq.url }, around);
  const takeStats = answer(updateResourceStatsMethod, async (report) => {
    stats.put(report);
    return { sequence: report.sequence, wantsAllocationRequests: false };
  });
  const holders = new MemoryPlacementStore();
  const acquire = answer(acquireHostsMethod, async (request) => {
    const grants = await holders.acquireHosts({ ...request, atMs: systemClock().now() });
    const none = { holderRun: '', holderServiceHost: '', heldForMs: 0 };
    return {
      grants: grants.map((grant) =>
        grant.kind === 'granted' ? { ...none, epoch: grant.epoch } : { ...none, epoch: 0, heldForMs: grant.leftMs },
      ),
    };
  });
  await bus.serve(STATS, { ...takeStats, ...acquire });
  await bus.consume(BUILD_RESULTS, async ({ body }) => {
    results.put(buildReportCodec.decode(body));
    return ACK;
  });
  await startAgent();
});

afterAll(async () => {
  for (const uuid of new Set(results.items.map(({ instanceUuid }) => instanceUuid))) {
    await destroy(uuid);
    await reportOf(uuid, 'destroyed');
  }
  agent?.process.kill('SIGTERM');
  await agent?.exit;
  await bus?.close();
  await rabbitmq?.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

async function startAgent(): Promise<void> {
  agent = startChild('services/cli/main.ts', ['compute-agent'], {
    BERTH_BUS_URL: rabbitmq.url,
    BERTH_AGENT_HOST: HOST,
    BERTH_AGENT_DRIVER: 'process',
    BERTH_AGENT_STATE_DIR: stateDir,
    BERTH_AGENT_INVENTORY: 'VCPU=4,MEMORY_MB=4096',
    BERTH_AGENT_PROCESS_ALLOWED: '/bin/sh',
    BERTH_AGENT_PROCESS_POLL_MS: '50',
    BERTH_AGENT_REPORT_MIN_INTERVAL_MS: '100',
    // A run that was killed keeps its host for three of these.
    BERTH_AGENT_REPORT_INTERVAL_MS: '300',
    BERTH_LOG_FORMAT: 'json',
  });
  await agent.says('"running"');
}

async function killAgent(): Promise<void> {
  agent.process.kill('SIGKILL');
  await agent.exit;
}

function build(fields: BuildFields = {}): Promise<void> {
  const requestSpec = aRequestSpec({ resources: { VCPU: 1, MEMORY_MB: 64 } });
  const claim = { claimToken: 1, allocationRequest: new Uint8Array() };
  const order = aBuild({ host: HOST, epoch: 1, requestSpec, ...claim, ...fields });
  return castTyped(bus, agentQueue(HOST), buildInstanceCodec, order);
}

function destroy(instanceUuid: string): Promise<void> {
  return castTyped(bus, agentQueue(HOST), destroyInstanceCodec, {
    instanceUuid,
    host: HOST,
    attempt: 0,
    report: true,
    epoch: 0,
    claimToken: 0,
    allocations: {},
    mappings: {},
  });
}

const folderOf = (uuid: string) => join(stateDir, HOST, 'instances', uuid);
const pidOf = (uuid: string) => Number(readFileSync(join(folderOf(uuid), 'pid'), 'utf8').split(' ')[0]);
const isRunning = (pid: number) =>
  existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

/** The first report about an instance with an outcome, from now or before. */
async function reportOf(instanceUuid: string, outcome: string): Promise<BuildReport> {
  for (;;) {
    const found = results.items.find((one) => one.instanceUuid === instanceUuid && one.outcome === outcome);
    if (found) return found;
    await results.has(results.items.length + 1);
  }
}

it('finds its instances running after it was killed, and goes on with them', async () => {
  const instanceUuid = randomUUID();
  await build({ instanceUuid });
  await reportOf(instanceUuid, 'active');
  const pid = pidOf(instanceUuid);

  await killAgent();
  expect(isRunning(pid)).toBe(true);
  const before = stats.items.length;
  await startAgent();
  const [first] = (await stats.has(before + 1)).slice(before);
  expect(first?.instances).toMatchObject([{ instanceUuid, running: true }]);
  expect(first).toMatchObject({ externalInstances: 0, sequence: 1 });

  await destroy(instanceUuid);
  await reportOf(instanceUuid, 'destroyed');
  expect(isRunning(pid)).toBe(false);
});

it('reports an instance that ended while it was away, and one that ends after', async () => {
  const [during, after] = [randomUUID(), randomUUID()];
  await build({ instanceUuid: during });
  await build({ instanceUuid: after });
  await Promise.all([reportOf(during, 'active'), reportOf(after, 'active')]);
  await killAgent();
  process.kill(pidOf(during), 'SIGKILL');
  await startAgent();
  expect(await reportOf(during, 'lost')).toMatchObject({ attempt: 1, reason: 'exited' });
  process.kill(pidOf(after), 'SIGKILL');
  expect(await reportOf(after, 'lost')).toMatchObject({ attempt: 1, reason: 'exited' });
});

it('builds once what it was building when it was killed', async () => {
  const instanceUuid = randomUUID();
  const command = JSON.stringify(['/bin/sh', '-c', 'exec sleep 1000']);
  const requestSpec = aRequestSpec({ resources: { VCPU: 1 }, extraSpecs: { 'berth:command': command } });
  await build({ instanceUuid, requestSpec });
  // The process is there before its build is: it is watched for a while.
  while (!existsSync(join(folderOf(instanceUuid), 'pid'))) await new Promise((resolve) => setTimeout(resolve, 5));
  const half = pidOf(instanceUuid);
  await killAgent();
  expect(results.items.some((one) => one.instanceUuid === instanceUuid)).toBe(false);
  await startAgent();
  await reportOf(instanceUuid, 'active');
  expect(isRunning(half)).toBe(false);
  expect(isRunning(pidOf(instanceUuid))).toBe(true);
});

it('counts as external what it finds running and never noted', async () => {
  const instanceUuid = randomUUID();
  await build({ instanceUuid });
  await reportOf(instanceUuid, 'active');
  await killAgent();
  rmSync(join(stateDir, HOST, 'journal', `${instanceUuid}.json`));
  const before = stats.items.length;
  await startAgent();
  const [first] = (await stats.has(before + 1)).slice(before);
  expect(first?.externalInstances).toBe(1);
  expect(first?.externalUsage).toEqual({ VCPU: 1, MEMORY_MB: 64 });
  await destroy(instanceUuid);
  await reportOf(instanceUuid, 'destroyed');
});
