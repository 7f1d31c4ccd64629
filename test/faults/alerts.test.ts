import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConfirmChannel, connect } from 'amqplib';
import { Redis } from 'ioredis';
import type { Client } from '#libs/client/client';
import { BUILD_RESULTS, EVENTS_EXCHANGE } from '#libs/contracts/queues';
import { isUuid } from '#libs/domain/names';
import { systemClock } from '#libs/runtime/system';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type PrometheusServer, startPrometheus } from '#libs/testing/servers/prometheus';
import { freePort } from '#libs/testing/servers/server-process';
import { AGENTS, CONDUCTORS, SCHEDULERS, TestFleet, TOP_SERVICES } from './fleet/test-fleet';

/*
 * Each alert of deploy/ is caused, on a fleet that a real Prometheus watches by the rules of deploy/. A minute of the rules is a second
 * here.
 */

const RULES = readFileSync(join(__dirname, '../../deploy/prometheus/rules.yml'), 'utf8');
const PROCESSES = [...SCHEDULERS, ...CONDUCTORS, ...AGENTS, ...TOP_SERVICES];
const TWIN = 'agent-twin';
const API = 'placement-api';

let fleet: TestFleet;
let prometheus: PrometheusServer;
let api: Child;
let top: Client;
let placementUrl: string;
const httpPorts = new Map<string, number>();
const tested = new Set<string>();
const twinDir = mkdtempSync(join(tmpdir(), 'berth-twin-'));

beforeAll(async () => {
  for (const name of [...PROCESSES, TWIN, API]) httpPorts.set(name, await freePort());
  const settings = {
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
    BERTH_SCHEDULER_DISCREPANCY_GRACE_MS: '2000',
    // Its builds are of one project.
    BERTH_SCHEDULER_QUARANTINE_PROJECTS: '1',
    BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '1000',
    BERTH_CONDUCTOR_AUDIT_GRACE_MS: '1000',
    BERTH_AGENT_REPORT_INTERVAL_MS: '1000',
    BERTH_TOP_CONDUCTOR_SELECT_TIMEOUT_MS: '500',
    BERTH_TOP_CONDUCTOR_SYNC_INTERVAL_MS: '100',
  };
  fleet = await TestFleet.start(settings, { rabbitmq: { hasMetrics: true }, httpPorts });
  const placementPort = await freePort();
  api = startChild('services/cli/main.ts', ['placement-api'], {
    BERTH_STORE_URL: fleet.redis.url,
    BERTH_STORE_TIMEOUT_MS: '500',
    BERTH_PLACEMENT_PORT: String(placementPort),
    BERTH_HTTP_PORT: String(httpPorts.get(API)),
    BERTH_LOG_FORMAT: 'json',
  });
  await api.says('"running"');
  top = await fleet.startTop();
  placementUrl = `http://127.0.0.1:${placementPort}`;
  prometheus = await startPrometheus({
    rules: inSeconds(RULES),
    intervalMs: 250,
    jobs: {
      berth: { path: '/metrics' },
      'rabbitmq-queues': { path: '/metrics/detailed', params: { family: 'queue_coarse_metrics' } },
    },
  });
  watch([...PROCESSES, API]);
});
afterAll(async () => {
  api?.process.kill('SIGKILL');
  await top?.close();
  await Promise.all([prometheus?.stop(), fleet?.stop()]);
  rmSync(twinDir, { recursive: true });
});

/** The rules with seconds for minutes: durations, ranges, and the one threshold that is a time. */
function inSeconds(rules: string): string {
  return rules
    .replaceAll(/\b(\d+)m\b/g, '$1s')
    .replaceAll(/\b(\d+)h\b/g, (_, hours: string) => `${Number(hours) * 60}s`)
    .replace(/(berth_outbox_age_seconds\) >) 60/, '$1 1');
}

/** Scrapes these processes; others have left DNS. */
function watch(names: readonly string[]): void {
  prometheus.scrape({
    berth: names.map((name) => `127.0.0.1:${httpPorts.get(name)}`),
    'rabbitmq-queues': [fleet.rabbitmq.metricsTarget ?? ''],
  });
}

/** Causes something, again and again where it must last, and waits for its alerts. Resolves to those that fired before it. */
async function fires(names: readonly string[], cause: () => Promise<unknown>, lasting = async () => {}) {
  const before = (await prometheus.firing()).filter((name) => names.includes(name));
  await cause();
  const fired = new Set<string>();
  await fleet.eventually(
    `${names.join(', ')} fire`,
    async () => {
      await lasting();
      for (const name of await prometheus.firing()) fired.add(name);
      const missing = names.filter((name) => !fired.has(name));
      return missing.length === 0 || missing;
    },
    180_000,
  );
  for (const name of names) tested.add(name);
  return { before };
}

const TOLD = { before: [] };

async function ends(name: string) {
  await fleet.eventually(`${name} ends`, async () => !(await prometheus.firing()).includes(name));
}

/** Restarts an agent with other settings. */
async function restartAgent(name: string, settings: Readonly<Record<string, string>>, meanwhile = () => {}) {
  await fleet.kill(name);
  meanwhile();
  fleet.launch(name, settings);
}

async function onBroker(work: (channel: ConfirmChannel) => unknown) {
  const connection = await connect(fleet.credentials.brokerUrl('operator', fleet.brokerPort));
  const channel = await connection.createConfirmChannel();
  await work(channel);
  await channel.waitForConfirms();
  await connection.close();
}

async function onRedis(...command: readonly [string, ...string[]]) {
  const redis = new Redis(fleet.redis.url);
  await redis.call(...command);
  await redis.quit();
}

it('is quiet on a fleet that builds', async () => {
  const uuids = await fleet.request(20);
  await fleet.atRest(uuids);
  await top.buildAndWait({ spec: aRequestSpec() });
  // Longer than any alert waits, except that of a lost store.
  const untilMs = systemClock().now() + 20_000;
  const fired = new Set<string>();
  await fleet.eventually('twenty seconds have passed', async () => {
    for (const name of await prometheus.firing()) fired.add(name);
    return systemClock().now() > untilMs;
  });
  expect([...fired]).toEqual([]);
});

it('tells of dead letters, by a message that is none', async () => {
  expect(
    await fires(['BerthDeadLetters'], () =>
      onBroker((channel) =>
        channel.sendToQueue(BUILD_RESULTS.name, Buffer.from('rubbish'), {
          type: 'berth.compute.v1.BuildReport',
          userId: 'operator',
        }),
      ),
    ),
  ).toEqual(TOLD);
});

it('tells of claims that an audit mends, by one that was deleted', async () => {
  expect(
    await fires(['BerthAuditMends'], async () => {
      const [consumer] = (await fleet.rows()).consumers;
      if (consumer === undefined) throw new Error('nothing is claimed');
      const { uuid: consumerUuid, claimToken } = consumer;
      await fleet.placement.commit({ kind: 'release_claim', atMs: systemClock().now(), consumerUuid, claimToken });
    }),
  ).toEqual(TOLD);
});

it('tells of doubts, by an instance that nobody asked for', async () => {
  const [host = ''] = readdirSync(fleet.stateDir).filter((name) =>
    fleet.runs().some((run) => run.endsWith(` ${name}`)),
  );
  const journal = join(fleet.stateDir, host, 'journal');
  const agent = AGENTS.find((name) => host.startsWith(name)) ?? '';
  expect(
    await fires(['BerthDoubts'], () =>
      restartAgent(agent, {}, () => {
        const known = readdirSync(journal).find((file) => isUuid(file.replace(/\.json$/, ''))) ?? '';
        const instance = JSON.parse(readFileSync(join(journal, known), 'utf8')) as object;
        const uuid = randomUUID();
        writeFileSync(join(journal, `${uuid}.json`), JSON.stringify({ ...instance, uuid }));
      }),
    ),
  ).toEqual(TOLD);
});

it('tells of a placement API that fails, by a store that does not answer', async () => {
  const headers = { 'x-auth-token': 'admin', 'openstack-api-version': 'placement 1.38' };
  expect(
    await fires(
      ['BerthPlacementFails'],
      async () => fleet.redis.kill('SIGSTOP'),
      async () => {
        await fetch(`${placementUrl}/resource_providers`, { headers });
      },
    ),
  ).toEqual(TOLD);
  await fleet.redis.kill('SIGCONT');
});

it('tells of a process that is gone, though its name left DNS', async () => {
  expect(
    await fires(['BerthProcessDown'], async () => {
      await fleet.kill('scheduler-2');
      watch([...PROCESSES, API].filter((name) => name !== 'scheduler-2'));
    }),
  ).toEqual(TOLD);
});

it('tells of conductors that wait, and of a cell that the top does not reach, by schedulers that are gone', async () => {
  expect(
    await fires(['BerthConductorsWait', 'BerthCellUnreachable'], async () => {
      await fleet.kill('scheduler-1');
      await fleet.request(40);
    }),
  ).toEqual(TOLD);
  for (const name of SCHEDULERS) fleet.launch(name);
  watch([...PROCESSES, API]);
  await ends('BerthCellUnreachable');
});

it('tells of builds that wait at the top, by its scheduler that is gone', async () => {
  expect(
    await fires(['BerthTopWaits'], async () => {
      await fleet.kill('top-scheduler');
      for (let n = 0; n < 10; n++) await top.build({ spec: aRequestSpec() });
    }),
  ).toEqual(TOLD);
  fleet.launch('top-scheduler');
  await ends('BerthTopWaits');
});

it('tells of builds that the top fails, by requests that no cell takes', async () => {
  const spec = aRequestSpec({ resources: { VCPU: 1_000 } });
  expect(
    await fires(
      ['BerthTopFails'],
      async () => {},
      async () => void (await top.build({ spec })),
    ),
  ).toEqual(TOLD);
  await ends('BerthTopFails');
});

it('tells of a host that two agents want', async () => {
  const settings = { BERTH_AGENT_HOST: 'agent-a', BERTH_AGENT_STATE_DIR: twinDir };
  expect(
    await fires(['BerthHostsTaken'], async () => {
      fleet.launch(TWIN, settings);
      watch([...PROCESSES, API, TWIN]);
    }),
  ).toEqual(TOLD);
  await fleet.kill(TWIN);
  watch([...PROCESSES, API]);
});

it("tells of events that wait, by a listener's queue that refuses them", async () => {
  const queue = 'a listener that is full';
  const args = { 'x-max-length': 1, 'x-overflow': 'reject-publish' };
  expect(
    await fires(['BerthEventsWait'], async () => {
      await onBroker(async (channel) => {
        await channel.assertQueue(queue, { durable: true, arguments: args });
        await channel.bindQueue(queue, EVENTS_EXCHANGE, '#');
      });
      await fleet.request(5);
    }),
  ).toEqual(TOLD);
  await onBroker((channel) => channel.deleteQueue(queue));
});

it('tells of hosts that fail what runs elsewhere, which are in quarantine, and of those that would be too many', async () => {
  expect(
    await fires(
      ['BerthHostsQuarantined', 'BerthHostsSpared'],
      async () => {
        for (const name of AGENTS.slice(1)) await restartAgent(name, { BERTH_AGENT_FAKE_FAILURE_RATE: '1' });
      },
      async () => {
        await fleet.request(2);
      },
    ),
  ).toEqual(TOLD);
});

it('tells of builds that fail and of their hosts', async () => {
  expect(
    await fires(
      ['BerthBuildsFail', 'BerthHostsFail'],
      async () => {
        for (const name of AGENTS) await restartAgent(name, { BERTH_AGENT_FAKE_FAILURE_RATE: '1' });
      },
      async () => {
        await fleet.request(2);
      },
    ),
  ).toEqual(TOLD);
});

it('tells of a queue that grows, by conductors that take nothing', async () => {
  expect(
    await fires(['BerthQueueGrows'], async () => {
      for (const name of CONDUCTORS) fleet.signal(name, 'SIGSTOP');
      await onBroker(async (channel) => {
        for (let n = 0; n <= 10_000; n++)
          channel.sendToQueue(BUILD_RESULTS.name, Buffer.from('rubbish'), { userId: 'operator' });
      });
    }),
  ).toEqual(TOLD);
  for (const name of CONDUCTORS) fleet.signal(name, 'SIGCONT');
});

it('tells of a store that was wiped', async () => {
  expect(await fires(['BerthStoreLost'], () => onRedis('FLUSHALL'))).toEqual(TOLD);
});

it('tells of an audit that stalls, by a user that may not ask for the time', async () => {
  const denyTime = async () => {
    await onRedis('ACL', 'SETUSER', 'default', '-time');
    // A holder of the audit's lease renews it without asking for the time.
    const release = "for _, key in ipairs(redis.call('KEYS', '*:lease:audit')) do redis.call('DEL', key) end";
    await onRedis('EVAL', release, '0');
  };
  expect(await fires(['BerthAuditStalled'], denyTime)).toEqual(TOLD);
});

/** Alerts that need a long lie or loop of an agent, a controller, or a full machine: `rules.test.yml` tests when they fire. */
const BY_RULES = [
  'BerthStoreMemory',
  'BerthStoreFileFails',
  'BerthHostsDown',
  'BerthFleetDown',
  'BerthCapacityLow',
  'BerthProjectsOverQuota',
  'BerthGuaranteeBroken',
  'BerthReservationAtRisk',
  'BerthBuildsWait',
  'BerthDoubtsDropped',
  'BerthHostsUnheard',
  'BerthControllersSilent',
  'BerthOrdersCircle',
  'BerthWorkCircles',
  'BerthTokensUnchecked',
  'BerthBrokerDisk',
];

it('has caused every alert', () => {
  const alerts = [...RULES.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
  expect(alerts.filter((name) => !tested.has(name))).toEqual(BY_RULES);
});
