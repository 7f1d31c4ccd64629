import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import type { Bus } from '#libs/bus/port';
import { castTyped } from '#libs/bus/typed-calls';
import { Client } from '#libs/client/client';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { sleep } from '#libs/domain/clock';
import { NO_ADMISSION } from '#libs/domain/queueing/admission';
import { requestSpec } from '#libs/domain/request-spec';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { percentile } from '#libs/runtime/percentiles';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { endAllBerth, startBerth } from './berth-process';
import { type Bench, cpuSeconds, measureRate, type Results, rateResults, round } from './harness';

const HOSTS = 8;
const VCPUS = 8;
const PROJECTS = 10;
const AN_HOUR_MS = 3_600_000;
/** Exceeds the interval of the queue's turns. */
const QUIET_MS = 5_000;
const clock = systemClock();

/**
 * A full fleet on which many instances wait: their cost at rest, the cost of giving a released place to the next, and
 * of reading one's place in the queue. Separate processes on a private RabbitMQ and Redis. Processor time is shown
 * beside latencies: a busy machine affects it least.
 */
export const pendingBench: Bench = {
  name: 'pending',
  purpose: 'many who wait for capacity: idle, a release that wakes one, and the lookup of a place',
  flags: {
    waiting: '10000',
    shapes: '100, kinds of requests among them',
    releases: '50',
    seconds: '5, of each measurement',
  },
  async run(context) {
    const { flags } = context;
    const note = (text: string) => context.note(text);
    const waiting = Number(flags['waiting'] ?? 10_000);
    const shapes = Number(flags['shapes'] ?? 100);
    const seconds = Number(flags['seconds'] ?? 5);
    note('starting a private RabbitMQ and Redis');
    const [rabbitmq, redis] = await Promise.all([startRabbitmq(), startRedis({ appendOnly: true })]);
    const addresses = { BERTH_BUS_URL: rabbitmq.url, BERTH_STORE_URL: redis.url };
    const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
    const bus = await openBus({ ...readConfig(busOptions, {}), busUrl: rabbitmq.url }, around);
    try {
      const processes = startFleet(addresses, waiting);
      const client = new Client(bus, { clock, random: systemRandom, timeoutMs: 30_000, retryForMs: 30_000 });
      while ((await client.hosts().catch(() => [])).length < HOSTS) await sleep(clock, 250);
      const states = await StateWatch.on(bus);
      note('filling the fleet');
      const running = await publish(bus, HOSTS * VCPUS, 1, 0);
      await states.until('active', running.length);
      note(`${waiting} come that wait`);
      const queuedMs = performance.now();
      const queued = await publish(bus, waiting, shapes, AN_HOUR_MS);
      await states.until('pending', waiting);
      const queuedPerSecond = round((1_000 * waiting) / (performance.now() - queuedMs));
      // Each shape is tried once, and refused; then all instances of it get their PENDING event.
      const toldMs = await states.untilQuiet(QUIET_MS);
      note('measuring while nothing happens');
      const idle = await processorShares(processes, () => sleep(clock, seconds * 1_000));
      note('measuring releases');
      const wakes = await measureWakes(bus, states, processes, running, Number(flags['releases'] ?? 50), idle);
      note('measuring the lookup of places');
      let lookups = 0;
      const beside = beyond(idle.conductor);
      const before = await processorMs(processes.conductor);
      const lookup = await measureRate(
        (n) => {
          lookups += 1;
          return client.instance(queued[n % queued.length] as string);
        },
        { inFlight: 8, seconds },
      );
      const lookupMs = beside((await processorMs(processes.conductor)) - before) / lookups;
      return {
        waiting,
        shapes,
        queued_per_s: queuedPerSecond,
        told_after_s: round(toldMs / 1_000),
        idle_conductor_cpu_percent: round(100 * idle.conductor),
        idle_scheduler_cpu_percent: round(100 * idle.scheduler),
        ...wakes,
        ...rateResults('lookup', lookup),
        lookup_conductor_cpu_ms: round(lookupMs),
      };
    } finally {
      await endAllBerth();
      await bus.close().catch(() => {});
      await Promise.all([rabbitmq.stop(), redis.stop()]);
    }
  },
};

interface Processes {
  readonly conductor: ChildProcess;
  readonly scheduler: ChildProcess;
}

function startFleet(addresses: Readonly<Record<string, string>>, waiting: number): Processes {
  startBerth('compute-agent', {
    ...addresses,
    BERTH_AGENT_HOST: 'rack0',
    BERTH_AGENT_HOSTS: String(HOSTS),
    BERTH_AGENT_INVENTORY: `VCPU=${VCPUS},MEMORY_MB=10000000,DISK_GB=1000000`,
    BERTH_AGENT_FAKE_LATENCY_MS: '0',
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
  });
  const env = { ...addresses, BERTH_CONDUCTOR_MAX_PENDING: String(Math.min(100_000, waiting + 1_000)) };
  return { conductor: startBerth('conductor', env), scheduler: startBerth('scheduler', addresses) };
}

/** Requests instances of one VCPU, each with a request of its own, in this many shapes; returns their uuids. */
async function publish(bus: Bus, count: number, shapes: number, waitForCapacityMs: number): Promise<readonly string[]> {
  const specs = Array.from({ length: shapes }, (_, shape) =>
    Array.from({ length: PROJECTS }, (_project, n) => {
      const who = { projectId: `project-${n}`, userId: 'bench' };
      return requestSpecCodec.encode(requestSpec({ VCPU: 1, MEMORY_MB: 16 + shape }, who));
    }),
  );
  const uuids = Array.from({ length: count }, () => randomUUID());
  const casts = uuids.map((uuid, n) => {
    const spec = specs[n % shapes]?.[n % PROJECTS] as Uint8Array;
    const admission = { ...NO_ADMISSION, waitForCapacityMs };
    const request = { requestId: uuid, requestSpec: spec, count: 1, name: '', instanceUuids: [uuid], admission };
    return castTyped({ bus, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: uuid });
  });
  await Promise.all(casts);
  return uuids;
}

/** The instances that have been in each state, by their events. */
class StateWatch {
  readonly #seen = new Map<string, Set<string>>();
  #lastMs = performance.now();
  #look: () => void = () => {};

  static async on(bus: Bus): Promise<StateWatch> {
    const watch = new StateWatch();
    await bus.subscribe('instance.#', (topic) => {
      const [, state = '', , uuid = ''] = topic.split('.');
      watch.#lastMs = performance.now();
      watch.of(state).add(uuid);
      watch.#look();
    });
    return watch;
  }

  of(state: string): Set<string> {
    const known = this.#seen.get(state) ?? new Set();
    this.#seen.set(state, known);
    return known;
  }

  /** Resolves after this long without events; returns the time of the last one in milliseconds. */
  async untilQuiet(quietMs: number): Promise<number> {
    const startedMs = performance.now();
    while (performance.now() - this.#lastMs < quietMs) await sleep(clock, 250);
    return Math.max(0, this.#lastMs - startedMs);
  }

  /** Resolves when this many have been in the state. */
  until(state: string, count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#look = () => this.of(state).size >= count && resolve();
      this.#look();
    });
  }
}

/** Measures from the termination of a running instance until a waiting one is ACTIVE, one after the other. */
async function measureWakes(
  bus: Bus,
  states: StateWatch,
  processes: Processes,
  running: readonly string[],
  releases: number,
  idle: Shares,
): Promise<Results> {
  const latenciesMs: number[] = [];
  const all = async () => [await processorMs(processes.conductor), await processorMs(processes.scheduler)] as const;
  const conductorsMs = beyond(idle.conductor);
  const schedulersMs = beyond(idle.scheduler);
  const before = await all();
  const victims = [...running];
  for (let n = 0; n < releases; n++) {
    const active = states.of('active');
    const instanceUuid = victims[n] ?? [...active].find((uuid) => !victims.includes(uuid)) ?? '';
    victims.push(instanceUuid);
    const startedMs = performance.now();
    await castTyped({ bus, queue: BUILD_REQUESTS }, terminateInstanceCodec, { instanceUuid, projectId: '' });
    await states.until('active', active.size + 1);
    latenciesMs.push(performance.now() - startedMs);
  }
  const after = await all();
  return {
    wake_p50_ms: round(percentile(latenciesMs, 50)),
    wake_p99_ms: round(percentile(latenciesMs, 99)),
    wake_conductor_cpu_ms: round(conductorsMs(after[0] - before[0]) / releases),
    wake_scheduler_cpu_ms: round(schedulersMs(after[1] - before[1]) / releases),
  };
}

/** Shares of one processor, by process. */
type Shares = Readonly<Record<keyof Processes, number>>;

async function processorShares({ conductor, scheduler }: Processes, during: () => Promise<void>): Promise<Shares> {
  const startedMs = performance.now();
  const before = [await processorMs(conductor), await processorMs(scheduler)] as const;
  await during();
  const tookMs = performance.now() - startedMs;
  return {
    conductor: ((await processorMs(conductor)) - before[0]) / tookMs,
    scheduler: ((await processorMs(scheduler)) - before[1]) / tookMs,
  };
}

/** Starts to count; the returned function gives a process's time beyond its idle share. */
function beyond(idleShare: number): (takenMs: number) => number {
  const startedMs = performance.now();
  return (takenMs) => Math.max(0, takenMs - idleShare * (performance.now() - startedMs));
}

async function processorMs({ pid = 0 }: ChildProcess): Promise<number> {
  return 1_000 * (await cpuSeconds(pid));
}
