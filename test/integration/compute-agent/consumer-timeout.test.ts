import { randomUUID } from 'node:crypto';
import { openBus } from '#libs/bus/open';
import { ACK, type Bus } from '#libs/bus/port';
import { answer, castTyped } from '#libs/bus/typed-calls';
import { type BuildReport, buildInstanceCodec, buildReportCodec } from '#libs/contracts/compute';
import { acquireHostsMethod, releaseHostsMethod } from '#libs/contracts/host-leases';
import { agentQueue, BUILD_RESULTS, STATS } from '#libs/contracts/queues';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { Inbox } from '#libs/testing/bus/inbox';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type RabbitmqServer, startRabbitmq } from '#libs/testing/servers/servers';
import { aBuild } from '../../../services/compute-agent/testing/agent-world';

/* An agent on a broker that closes the channel of a consumer which holds a message for more than two seconds. */

const HOST = 'slow-host';

let rabbitmq: RabbitmqServer;
let bus: Bus;
let agent: Child;
const results = new Inbox<BuildReport>();

beforeAll(async () => {
  rabbitmq = await startRabbitmq({ config: { consumer_timeout: '2000' } });
  // By default it checks for them once a minute.
  await rabbitmq.eval('application:set_env(rabbit, channel_tick_interval, 500)');
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  bus = await openBus({ busUrl: rabbitmq.url }, around);
  const grant = { epoch: 1, holderRun: '', holderServiceHost: '', heldForMs: 0 };
  await bus.serve(STATS, {
    ...answer(updateResourceStatsMethod, async ({ sequence }) => ({ sequence, wantsAllocationRequests: false })),
    ...answer(acquireHostsMethod, async ({ hosts }) => ({ grants: hosts.map(() => grant), atMs: 0 })),
    ...answer(releaseHostsMethod, async () => ({})),
  });
  await bus.consume(BUILD_RESULTS, async ({ body }) => {
    results.put(buildReportCodec.decode(body));
    return ACK;
  });
  agent = startChild('services/cli/main.ts', ['compute-agent'], {
    BERTH_BUS_URL: rabbitmq.url,
    BERTH_AGENT_HOST: HOST,
    BERTH_AGENT_FAKE_LATENCY_MS: '7000',
    BERTH_AGENT_FAKE_LATENCY_SPREAD: '0',
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
    BERTH_AGENT_HOLD_MS: '500',
    BERTH_LOG_FORMAT: 'json',
    BERTH_LOG_LEVEL: 'debug',
  });
  await agent.says('"running"');
});

afterAll(async () => {
  agent?.process.kill('SIGTERM');
  await agent?.exit;
  await bus?.close();
  await rabbitmq?.stop();
});

it('builds for longer than the broker lets a message be held: once, reported once, on one channel', async () => {
  const instanceUuid = randomUUID();
  const requestSpec = aRequestSpec({ resources: { VCPU: 1, MEMORY_MB: 64 } });
  const claim = { claimToken: 1, allocationRequest: new Uint8Array() };
  const order = aBuild({ instanceUuid, host: HOST, epoch: 1, timeLeftMs: 60_000, requestSpec, ...claim });
  await castTyped({ bus, queue: agentQueue(HOST) }, buildInstanceCodec, order);
  const [report] = await results.has(1);
  expect(report).toMatchObject({ instanceUuid, outcome: 'active' });
  while ((await bus.depth(agentQueue(HOST).name)) > 0) await new Promise(setImmediate);
  expect(results.items).toHaveLength(1);
  expect(`${agent.stdout()}${agent.stderr()}`).not.toContain('bus_channel_closed');
});
