import { join } from 'node:path';
import { Redis } from 'ioredis';
import { sleep } from '#libs/domain/clock';
import { systemClock } from '#libs/runtime/system';
import { ALARMS } from './fleet/broker-control';
import { printFigure } from './fleet/figures';
import { AGENTS, CONDUCTORS, SCHEDULERS, TestFleet } from './fleet/test-fleet';

/* Processes and servers stand still, take nothing, or have their clocks set, in the middle of builds and terminations. */

const BUILDS = 20;
const HEARTBEAT_MS = 1_000;
const STORE_TIMEOUT_MS = 1_000;
/** Longer than an agent holds its hosts without a report, and than a build may take. */
const BEYOND_LEASES_MS = 9_000;
const BEYOND_HEARTBEATS_MS = 4 * HEARTBEAT_MS;
const BEYOND_STORE_TIMEOUT_MS = 3 * STORE_TIMEOUT_MS;

const clock = systemClock();
let fleet: TestFleet;
let last: readonly string[] = [];
beforeAll(async () => {
  const settings = {
    BERTH_BUS_HEARTBEAT_S: String(HEARTBEAT_MS / 1_000),
    BERTH_BUS_RECONNECT_DELAY_MS: '500',
    BERTH_BUS_CONFIRM_TIMEOUT_MS: '2000',
    BERTH_STORE_TIMEOUT_MS: String(STORE_TIMEOUT_MS),
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
    BERTH_AGENT_FAKE_LATENCY_MS: '500',
    // Else the hosts of an agent that stood still are tried last, and all alternates are hosts of the other one.
    BERTH_SCHEDULER_WEIGHT_BUILD_FAILURES: '0',
    NODE_OPTIONS: `--require ${join(__dirname, 'fleet/jumping-clock.cjs')}`,
  };
  fleet = await TestFleet.start(settings, { rabbitmq: {}, redis: { settings: { 'enable-debug-command': 'local' } } });
});
afterAll(() => fleet?.stop());

async function stopped(names: readonly string[], ms: number): Promise<void> {
  for (const name of names) fleet.signal(name, 'SIGSTOP');
  await sleep(clock, ms);
  for (const name of names) fleet.signal(name, 'SIGCONT');
}

async function stoppedServer(server: 'rabbitmq' | 'redis', ms: number): Promise<void> {
  await fleet[server].kill('SIGSTOP');
  await sleep(clock, ms);
  await fleet[server].kill('SIGCONT');
}

/** One process of each kind. */
async function clocksJump(signal: 'SIGUSR2' | 'SIGHUP'): Promise<void> {
  for (const [name] of [SCHEDULERS, CONDUCTORS, AGENTS]) fleet.signal(name, signal);
  // Until each has reported, audited and looked for what is due by its new time.
  await sleep(clock, BEYOND_HEARTBEATS_MS);
}

async function onRedis(...command: readonly [string, ...string[]]): Promise<void> {
  const redis = new Redis(fleet.redis.url);
  await redis.call(...command);
  redis.disconnect();
}

/** Raises an alarm of the broker until the tenant, who goes on requesting, has long been told that it takes nothing. */
async function alarm({ raise, clear }: (typeof ALARMS)['memory' | 'disk']): Promise<void> {
  await fleet.rabbitmq.eval(raise);
  const requests: Promise<unknown>[] = [];
  let isAnswered = true;
  const request = async () => {
    isAnswered = false;
    await fleet.request(1);
    isAnswered = true;
  };
  try {
    await fleet.eventually('the tenant is told', async () => {
      // A request that was published before the alarm came to its connection is taken.
      if (isAnswered) requests.push(request());
      return !fleet.tenant.isConnected();
    });
    await sleep(clock, BEYOND_HEARTBEATS_MS);
  } finally {
    await fleet.rabbitmq.eval(clear);
  }
  await Promise.all(requests);
}

const STALLS: readonly (readonly [string, () => Promise<void>])[] = [
  ['the schedulers stand still', () => stopped(SCHEDULERS, BEYOND_HEARTBEATS_MS)],
  ['the conductors stand still', () => stopped(CONDUCTORS, BEYOND_LEASES_MS)],
  ['one conductor stands still', () => stopped(CONDUCTORS.slice(0, 1), BEYOND_LEASES_MS)],
  ['an agent stands still', () => stopped(AGENTS.slice(0, 1), BEYOND_LEASES_MS)],
  ['clocks jump an hour forward', () => clocksJump('SIGUSR2')],
  ['clocks jump two hours back', () => clocksJump('SIGHUP').then(() => clocksJump('SIGHUP'))],
  ['RabbitMQ stands still', () => stoppedServer('rabbitmq', BEYOND_HEARTBEATS_MS)],
  ['Redis stands still', () => stoppedServer('redis', BEYOND_STORE_TIMEOUT_MS)],
  ['a command of Redis takes seconds', () => onRedis('DEBUG', 'SLEEP', String(BEYOND_STORE_TIMEOUT_MS / 1_000))],
  [
    'Redis answers nobody for seconds',
    () =>
      onRedis('CLIENT', 'PAUSE', String(BEYOND_STORE_TIMEOUT_MS), 'ALL').then(() =>
        sleep(clock, BEYOND_STORE_TIMEOUT_MS),
      ),
  ],
  ['RabbitMQ is short of memory', () => alarm(ALARMS.memory)],
  ["RabbitMQ's disk is full", () => alarm(ALARMS.disk)],
];

it.each(STALLS)('all comes to its end when %s', async (fault, stall) => {
  const uuids = await fleet.request(BUILDS);
  await fleet.atRest(uuids, BUILDS / 4);
  const stalling = stall();
  const meanwhile = Promise.all([fleet.request(BUILDS), fleet.terminate(last)]);
  await stalling;
  const overAtMs = clock.elapsed();
  const [more] = await meanwhile;
  last = [...uuids, ...more];
  expect(await fleet.problems(last)).toEqual([]);
  printFigure(fault, { right: clock.elapsed() - overAtMs });
});

it('runs an instance on two hosts, the first of which stood still, until that one goes on', async () => {
  const twice = () => {
    const running = fleet.runs().map((one) => one.split(' ')[0]);
    return running.filter((uuid, n) => running.indexOf(uuid) !== n);
  };
  let uuids: string[] = [];
  let agent: string = AGENTS[0];
  // Again, where the agent had reported all that it had built before it stood still.
  while (twice().length === 0) {
    fleet.signal(agent, 'SIGCONT');
    uuids = await fleet.request(BUILDS);
    await fleet.eventually('one has begun to build', async () => {
      const begun = fleet.runs().find((one) => uuids.some((uuid) => one.startsWith(uuid)));
      agent = AGENTS.find((name) => begun?.includes(` ${name}`)) ?? agent;
      return begun !== undefined;
    });
    fleet.signal(agent, 'SIGSTOP');
    await fleet.atRest(uuids);
  }
  fleet.signal(agent, 'SIGCONT');
  const goesOnAtMs = clock.elapsed();
  await fleet.eventually('no instance runs twice', async () => twice().length === 0 || twice());
  printFigure('an agent goes on after its builds timed out', { 'on two hosts': clock.elapsed() - goesOnAtMs });
  expect(await fleet.problems(uuids)).toEqual([]);
});
