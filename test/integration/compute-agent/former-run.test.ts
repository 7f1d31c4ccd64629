import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBus } from '#libs/bus/open';
import type { Bus } from '#libs/bus/port';
import { answer } from '#libs/bus/typed-calls';
import { type AcquireHostsRequest, acquireHostsMethod } from '#libs/contracts/host-leases';
import { STATS } from '#libs/contracts/queues';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { Inbox } from '#libs/testing/bus/inbox';
import { type Child, startChild } from '#libs/testing/servers/child';
import { freePort } from '#libs/testing/servers/server-process';
import { sharedServer } from '../../shared-servers';

/* Runs of an agent that are killed, on one machine, with a lease that no test waits for. */

const HOST = 'crash-host';

let bus: Bus;
let root: string;
const asked = new Inbox<AcquireHostsRequest>();
const agents: Child[] = [];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'berth-former-run-'));
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  bus = await openBus({ busUrl: sharedServer('rabbitmq') }, around);
  const holders = new MemoryPlacementStore();
  await bus.serve(STATS, {
    ...answer(updateResourceStatsMethod, async ({ sequence }) => ({ sequence, wantsAllocationRequests: false })),
    ...answer(acquireHostsMethod, async (request) => {
      const grants = await holders.acquireHosts({ ...request, atMs: systemClock().now() });
      asked.put(request);
      const none = { epoch: 0, holderRun: '', holderServiceHost: '', heldForMs: 0 };
      return {
        grants: grants.map((one) =>
          one.kind === 'granted' ? { ...none, epoch: one.epoch } : { ...none, heldForMs: one.leftMs },
        ),
        atMs: 0,
      };
    }),
  });
});

afterAll(async () => {
  for (const agent of agents) agent.process.kill('SIGKILL');
  await Promise.all(agents.map(({ exit }) => exit));
  await bus?.close();
  rmSync(root, { recursive: true, force: true });
});

function start(folder: string, settings: Readonly<Record<string, string>> = {}): Child {
  const agent = startChild('services/cli/main.ts', ['compute-agent'], {
    BERTH_BUS_URL: sharedServer('rabbitmq'),
    BERTH_AGENT_HOST: HOST,
    BERTH_AGENT_STATE_DIR: join(root, folder),
    BERTH_AGENT_REPORT_INTERVAL_MS: '3600000',
    BERTH_LOG_FORMAT: 'json',
    ...settings,
  });
  agents.push(agent);
  return agent;
}

it('has its hosts back at once after a crash, and neither a copy of its folder nor a second process takes them', async () => {
  const first = start('machine');
  await first.says('"agent_started"');
  cpSync(join(root, 'machine'), join(root, 'clone'), { recursive: true });
  const [clone, second] = [start('clone'), start('machine')];
  await Promise.all([clone.says('"host_taken"'), second.says('"host_taken"')]);
  expect(asked.items.map(({ formerRun }) => formerRun)).toEqual(['', '', '']);
  for (const agent of [clone, second, first]) {
    agent.process.kill('SIGKILL');
    await agent.exit;
  }
  const next = start('machine');
  await next.says('"agent_started"');
  expect(asked.items.at(-1)).toMatchObject({ hosts: [HOST], formerRun: asked.items[0]?.agentRun });
  expect(`${next.stdout()}${next.stderr()}`).not.toContain('"host_taken"');
});

it('says at once that its machine was renamed, also while the broker is away', async () => {
  const journal = join(root, 'renamed', 'old-name', 'journal');
  mkdirSync(journal, { recursive: true });
  writeFileSync(join(journal, `${systemRandom.uuid()}.json`), '{}');
  const away = `amqp://127.0.0.1:${await freePort()}`;
  const agent = start('renamed', { BERTH_AGENT_HOST: 'new-name', BERTH_BUS_URL: away });
  const { code } = await agent.exit;
  expect(agent.stdout()).toContain('"reason":"state_of_another_host"');
  expect(agent.stdout()).not.toContain('"bus_');
  expect(code).toBe(4);
});
