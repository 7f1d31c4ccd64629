import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBus } from '#libs/bus/open';
import { ACK, type Bus } from '#libs/bus/port';
import { answer, castTyped } from '#libs/bus/typed-calls';
import { type BuildReport, buildInstanceCodec, buildReportCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import { acquireHostsMethod } from '#libs/contracts/host-leases';
import { type PowerReport, powerReportCodec, type SetPowerState, setPowerStateCodec } from '#libs/contracts/power';
import { agentQueue, BUILD_RESULTS, STATS } from '#libs/contracts/queues';
import { type UpdateResourceStatsRequest, updateResourceStatsMethod } from '#libs/contracts/stats';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { Inbox } from '#libs/testing/bus/inbox';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { type Child, startChild } from '#libs/testing/servers/child';
import { aBuild, type BuildFields } from '../../services/compute-agent/testing/agent-world';
import { type OwnVirtualHost, ownVirtualHost } from '../shared-servers';

/* An agent with real child processes, on a real broker; the test is scheduler and conductor. */

const HOST = 'fault-host';

let broker: OwnVirtualHost;
let bus: Bus;
let stateDir: string;
let agent: Child;
const stats = new Inbox<UpdateResourceStatsRequest>();
const results = new Inbox<BuildReport>();
const powers = new Inbox<PowerReport>();

beforeAll(async () => {
  broker = await ownVirtualHost();
  stateDir = mkdtempSync(join(tmpdir(), 'berth-agent-killed-'));
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  bus = await openBus({ busUrl: broker.url }, around);
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
      atMs: systemClock().now(),
    };
  });
  await bus.serve(STATS, { ...takeStats, ...acquire });
  await bus.consume(BUILD_RESULTS, async ({ type, body }) => {
    if (type === powerReportCodec.type) powers.put(powerReportCodec.decode(body));
    else results.put(buildReportCodec.decode(body));
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
  await broker?.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

async function startAgent(settings: Readonly<Record<string, string>> = {}): Promise<void> {
  agent = startChild('services/cli/main.ts', ['compute-agent'], {
    BERTH_BUS_URL: broker.url,
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
    ...settings,
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
  return castTyped({ bus, queue: agentQueue(HOST) }, buildInstanceCodec, order);
}

const NOTHING_CLAIMED = { allocations: {}, mappings: {} };

function destroy(instanceUuid: string, upTo = { attempt: 0, claimToken: 0 }): Promise<void> {
  const order = { instanceUuid, host: HOST, report: true, epoch: 0, ...upTo, ...NOTHING_CLAIMED };
  return castTyped({ bus, queue: agentQueue(HOST) }, destroyInstanceCodec, order);
}

/** Resting on what was said before, as a conductor orders it; resolves with the order and the answer. */
async function setPowerState(
  instanceUuid: string,
  powerState: SetPowerState['powerState'],
  { epoch, position }: Pick<BuildReport, 'epoch' | 'position'>,
): Promise<readonly [SetPowerState, PowerReport]> {
  const restsOn = { restsOnEpoch: epoch, restsOnPosition: position };
  const about = { instanceUuid, host: HOST, attempt: 1, claimToken: 1, epoch, powerState };
  const order = { ...about, ...restsOn, ...NOTHING_CLAIMED };
  return [order, await replay(order)];
}

async function replay(order: SetPowerState): Promise<PowerReport> {
  const before = powers.items.length;
  await castTyped({ bus, queue: agentQueue(HOST) }, setPowerStateCodec, order);
  return (await powers.has(before + 1)).at(-1) as PowerReport;
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

/** Resolves once an order is answered. */
async function nextReport(order: () => Promise<void>): Promise<void> {
  const before = results.items.length;
  await order();
  await results.has(before + 1);
}

/** The next report of an order's instance; others may come meanwhile. */
async function answerTo(order: BuildFields & { readonly instanceUuid: string }): Promise<BuildReport> {
  const reports = () => results.items.filter(({ instanceUuid }) => instanceUuid === order.instanceUuid);
  const before = reports().length;
  await build(order);
  while (reports().length === before) await results.has(results.items.length + 1);
  return reports().at(-1) as BuildReport;
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

/** It remembers nothing that it does not journal, as after an hour. */
async function restartAgent(): Promise<void> {
  await killAgent();
  await startAgent();
}

const AN_HOUR_MS = 3_600_000;

it('does nothing of orders that come again an hour late', async () => {
  const [runs, ended] = [randomUUID(), randomUUID()];
  await build({ instanceUuid: runs });
  await build({ instanceUuid: ended });
  const [active] = await Promise.all([reportOf(runs, 'active'), reportOf(ended, 'active')]);
  const [stop, stopped] = await setPowerState(runs, 'shutdown', active);
  const [, started] = await setPowerState(runs, 'running', stopped);
  expect(started).toMatchObject({ powerState: 'running' });
  await destroy(ended);
  await reportOf(ended, 'destroyed');
  await nextReport(() => build({ instanceUuid: runs, attempt: 2, claimToken: 9 }));
  const pid = pidOf(runs);
  await restartAgent();

  const given = { deadlineAtMs: systemClock().now() - AN_HOUR_MS };
  expect(await answerTo({ instanceUuid: ended, ...given })).toMatchObject({ outcome: 'destroyed' });
  await build({ instanceUuid: runs, ...given });
  expect(await replay({ ...stop, attempt: 2, claimToken: 9 })).toMatchObject({ powerState: 'running' });
  await destroy(runs, { attempt: 1, claimToken: 1 });
  expect(await reportOf(runs, 'destroyed')).toMatchObject({ keptClaimToken: 9 });
  expect([isRunning(pid), pidOf(runs), existsSync(folderOf(ended))]).toEqual([true, pid, false]);

  await nextReport(() => destroy(runs));
  expect(isRunning(pid)).toBe(false);
});

it('builds nothing by a copy of an order after its instance was destroyed and it was killed', async () => {
  const instanceUuid = randomUUID();
  const order = { instanceUuid, deadlineAtMs: systemClock().now() + AN_HOUR_MS };
  await build(order);
  await reportOf(instanceUuid, 'active');
  await destroy(instanceUuid, { attempt: 1, claimToken: 1 });
  await reportOf(instanceUuid, 'destroyed');
  await restartAgent();

  expect(await answerTo(order)).toMatchObject({ outcome: 'destroyed' });
  expect(existsSync(folderOf(instanceUuid))).toBe(false);
});

it.each([AN_HOUR_MS, -AN_HOUR_MS])(
  'judges orders by the clock of the store, with its own %i ms ahead',
  async (aheadMs) => {
    const [due, late] = [randomUUID(), randomUUID()];
    await killAgent();
    await startAgent({
      NODE_OPTIONS: `--require ${join(__dirname, 'fleet/jumping-clock.cjs')}`,
      CLOCK_AHEAD_MS: String(aheadMs),
    });
    await build({ instanceUuid: late, deadlineAtMs: systemClock().now() - 1_000 });
    expect(await reportOf(late, 'refused')).toMatchObject({ reason: 'deadline_passed' });
    const order = { instanceUuid: due, deadlineAtMs: systemClock().now() + 60_000 };
    await build(order);
    await reportOf(due, 'active');
    const pid = pidOf(due);
    await destroy(due);
    await reportOf(due, 'destroyed');
    await restartAgent();
    await nextReport(() => build(order));
    expect(results.items.at(-1)).toMatchObject({ instanceUuid: due, outcome: 'destroyed' });
    expect([isRunning(pid), existsSync(folderOf(late)), existsSync(folderOf(due))]).toEqual([false, false, false]);
  },
);

it('harms nothing that runs when it is started on an older copy of its state', async () => {
  const [runs, ended, later] = [randomUUID(), randomUUID(), randomUUID()];
  for (const instanceUuid of [runs, ended]) await build({ instanceUuid });
  const [active] = await Promise.all([reportOf(runs, 'active'), reportOf(ended, 'active')]);
  const older = mkdtempSync(join(tmpdir(), 'berth-agent-older-'));
  cpSync(stateDir, older, { recursive: true });
  const [stop, stopped] = await setPowerState(runs, 'shutdown', active);
  await setPowerState(runs, 'running', stopped);
  await destroy(ended);
  await reportOf(ended, 'destroyed');
  await build({ instanceUuid: later });
  await reportOf(later, 'active');
  const [pid, laterPid] = [pidOf(runs), pidOf(later)];

  await killAgent();
  rmSync(join(stateDir, HOST, 'journal'), { recursive: true });
  cpSync(join(older, HOST, 'journal'), join(stateDir, HOST, 'journal'), { recursive: true });
  const before = stats.items.length;
  await startAgent();
  const [first] = (await stats.has(before + 1)).slice(before);
  expect(first?.instances).toContainEqual(expect.objectContaining({ instanceUuid: runs, running: true }));
  expect(first?.externalInstances).toBe(1);
  expect(await reportOf(ended, 'lost')).toMatchObject({ attempt: 1 });
  expect(await replay(stop)).toMatchObject({ powerState: 'running' });
  expect([isRunning(pid), isRunning(laterPid), existsSync(folderOf(ended))]).toEqual([true, true, false]);
  rmSync(older, { recursive: true });
});
