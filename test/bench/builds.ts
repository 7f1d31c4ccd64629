import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import type { Bus } from '#libs/bus/port';
import { castTyped } from '#libs/bus/typed-calls';
import { Client } from '#libs/client/client';
import { buildRequestCodec } from '#libs/contracts/conductor';
import { instanceEventCodec } from '#libs/contracts/instance';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { sleep } from '#libs/domain/clock';
import type { Allocations } from '#libs/domain/consumer';
import { requestSpec } from '#libs/domain/request-spec';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { freePort } from '#libs/testing/servers/server-process';
import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { endAllBerth, isReady, startBerth } from './berth-process';
import { measureDurability } from './durability';
import {
  type Bench,
  type BenchContext,
  meanRate,
  measureRate,
  type Rate,
  type Results,
  rateResults,
  round,
} from './harness';
import { type LatencyOverLoad, measureOverLoad, resultsOverLoad } from './latency/latency-over-load';
import { plotLatency } from './latency/latency-plot';
import { processLoad } from './latency/process-load';
import { Selects } from './latency/selects';
import { measureClaims } from './placement-fleet';
import { rawRpcRate } from './raw-rpc';

const RESOURCES = { VCPU: 1, MEMORY_MB: 16, DISK_GB: 1 };
const SPEC = requestSpecCodec.encode(requestSpec(RESOURCES, { projectId: 'bench', userId: 'bench' }));
/** The sizes of `select_destinations` here: a request for one instance, an answer with a host and two alternates. */
const RAW_PAYLOAD = { requestBytes: 132, answerBytes: 435 };
const IN_FLIGHT = 128;
const HOSTS_PER_AGENT = 20_000;
const clock = systemClock();

/**
 * The throughput of all of Berth: separate processes on a private RabbitMQ and Redis, with fake hosts that build at
 * once. The broker's ceilings are measured before and after, and ratios use their mean: a shared machine may slow down
 * by a third within a run, and `raw_rpc_after_to_before` shows it. The latency of a select, alone and at several loads,
 * is the median of five runs with less than 2 % stolen time; bare calls at the same rates follow, and a claim alone: a
 * select needs at least a call and a claim (`select_idle_p50_to_call_and_claim`).
 */
export const buildsBench: Bench = {
  name: 'builds',
  purpose: 'whole builds, select_destinations and claims, beside the raw ceilings of broker and store',
  flags: {
    hosts: '1000, 20,000 of them to an agent',
    seconds: '10, of each measurement',
    schedulers: '1',
    conductors: '1',
    fsync: 'always, of Redis; or everysec, no',
    'durability-rounds': '1, of builds and claims under each of these; 0 for none',
    runs: '5, of each load',
    plot: 'FILE, for an SVG of latency over load',
    quick: 'false; true leaves out what is not about selects',
  },
  async run(context) {
    const { flags } = context;
    const note = (text: string) => context.note(text);
    const hosts = Number(flags['hosts'] ?? 1_000);
    const seconds = Number(flags['seconds'] ?? 10);
    note('starting a private RabbitMQ and Redis');
    const [rabbitmq, redis] = await Promise.all([
      startRabbitmq(),
      startRedis({ appendOnly: true, appendfsync: flags['fsync'] ?? 'always' }),
    ]);
    const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
    const addresses = { BERTH_BUS_URL: rabbitmq.url, BERTH_STORE_URL: redis.url };
    const bus = await openBus({ ...readConfig(busOptions, {}), busUrl: rabbitmq.url }, around);
    const store = await openPlacementStore(readConfig(placementOptions, addresses), around);
    try {
      note('measuring the raw RPC ceiling: two bare processes on the same broker');
      const before = await rawCeilings(rabbitmq.url, seconds / 2);
      const { processes, ...ports } = await startFleet(flags, hosts, addresses);
      const runs = Number(flags['runs'] ?? 5);
      const isQuick = flags['quick'] === 'true';
      const { builds, select, overLoad, schedulerLoad } = await Promise.race([
        measureFleet(bus, store, { hosts, ...ports, seconds, runs, isQuick, note }),
        anyEnds(processes),
      ]);
      const rounds = isQuick ? 0 : Number(flags['durability-rounds'] ?? 1);
      const both = { build: () => measureBuilds(bus, seconds), claim: () => claimsOnHosts(store, seconds) };
      const durability = await Promise.race([measureDurability(redis.url, rounds, both, note), anyEnds(processes)]);
      await endAllBerth();
      note(
        'measuring the raw RPC ceiling again, and what a bare call takes alone and at the loads of select_destinations',
      );
      const after = await rawCeilings(rabbitmq.url, seconds / 2);
      const bareOverLoad = await rawRpcRate(rabbitmq.url, { ...RAW_PAYLOAD, acked: true }, (call) =>
        measureOverLoad(call, { capacityPerSecond: select.perSecond, seconds, runs, note }),
      );
      const [half, bareHalf] = [atHalf(overLoad), atHalf(bareOverLoad)];
      if (flags['plot'] !== undefined) await writeFile(flags['plot'], plotLatency(overLoad, bareOverLoad));
      const [raw, acked] = [meanRate(before.raw, after.raw), meanRate(before.acked, after.acked)];
      note('measuring claims directly on the store, from one client');
      const claims = await claimsOnHosts(store, seconds);
      const claimAlone = await claimsOnHosts(store, seconds, 1);
      return {
        hosts,
        ...rateResults('raw_rpc', raw),
        ...rateResults('raw_rpc_acked', acked),
        raw_rpc_after_to_before: round(after.raw.perSecond / before.raw.perSecond),
        ...rateResults('select', select),
        select_ratio: round(select.perSecond / raw.perSecond),
        select_acked_ratio: round(select.perSecond / acked.perSecond),
        ...rateResults('select_half_load', half),
        ...rateResults('raw_rpc_at_that_load', bareHalf),
        ...resultsOverLoad(overLoad, bareOverLoad),
        ...schedulerLoad,
        ...(builds && {
          ...rateResults('build', builds),
          build_ratio: round(builds.perSecond / raw.perSecond),
          build_acked_ratio: round(builds.perSecond / acked.perSecond),
        }),
        ...rateResults('claim_script', claims),
        ...rateResults('claim_script_idle', claimAlone),
        select_idle_p50_to_call_and_claim: round(overLoad.idle.p50Ms / (bareOverLoad.idle.p50Ms + claimAlone.p50Ms)),
        ...durability,
        ...stolen({
          raw_rpc: raw,
          raw_rpc_acked: acked,
          select,
          select_half_load: half,
          ...(builds && { build: builds }),
        }),
      };
    } finally {
      await endAllBerth();
      await Promise.allSettled([bus.close(), store.close()]);
      await Promise.all([rabbitmq.stop(), redis.stop()]);
    }
  },
};

/** The rate of bare RPC on this broker, without and with the server's acknowledgements. */
async function rawCeilings(url: string, seconds: number): Promise<{ readonly raw: Rate; readonly acked: Rate }> {
  const rate = (acked: boolean) =>
    rawRpcRate(url, { ...RAW_PAYLOAD, acked }, (call) => measureRate(call, { inFlight: IN_FLIGHT, seconds }));
  return { raw: await rate(false), acked: await rate(true) };
}

interface FleetLoad {
  readonly hosts: number;
  /** Operations ports of the agents. */
  readonly agentPorts: readonly number[];
  /** Port of the first scheduler. */
  readonly schedulerPort: number;
  readonly seconds: number;
  readonly runs: number;
  readonly isQuick: boolean;
  readonly note: (text: string) => void;
}

async function measureFleet(bus: Bus, store: PlacementStore, load: FleetLoad) {
  const { hosts, agentPorts, schedulerPort, seconds, runs, isQuick, note } = load;
  await hostsReported(bus, hosts, note);
  note('waiting until all agents are ready');
  for (const port of agentPorts) while (!(await isReady(port))) await sleep(clock, 250);
  if (!isQuick) note('measuring whole builds');
  const builds = isQuick ? undefined : await measureBuilds(bus, seconds);
  note('measuring select_destinations');
  const selects = new Selects(bus, store, SPEC);
  const schedulerLoad: Record<string, number | string> = {};
  const withLoad = async <T>(name: string, measure: () => Promise<T>) => {
    const { measured, load: used } = await processLoad(schedulerPort, `scheduler_${name}`, measure);
    Object.assign(schedulerLoad, used);
    await selects.releaseAll(schedulerPort);
    return measured;
  };
  const select = await withLoad('full', () => measureRate(() => selects.one(), { inFlight: IN_FLIGHT, seconds }));
  note('measuring select_destinations alone');
  const range = { capacityPerSecond: select.perSecond, seconds, runs, note };
  const overLoad = await measureOverLoad(() => selects.one(), range, withLoad);
  return { builds, select, overLoad, schedulerLoad };
}

function atHalf({ at }: LatencyOverLoad): Rate {
  return at.get(50) as Rate;
}

async function startFleet(flags: BenchContext['flags'], hosts: number, addresses: Readonly<Record<string, string>>) {
  const env = {
    ...addresses,
    BERTH_AGENT_INVENTORY: 'VCPU=100000,MEMORY_MB=10000000,DISK_GB=1000000',
    BERTH_AGENT_FAKE_LATENCY_MS: '0',
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
  };
  const schedulerPort = await freePort();
  const many = (flag: string, kind: string, first: Readonly<Record<string, string>> = {}) =>
    Array.from({ length: Number(flags[flag] ?? 1) }, (_, n) => startBerth(kind, n === 0 ? { ...env, ...first } : env));
  const agentPorts = await Promise.all(Array.from({ length: Math.ceil(hosts / HOSTS_PER_AGENT) }, () => freePort()));
  const agents = agentPorts.map((port, n) => {
    const count = Math.min(HOSTS_PER_AGENT, hosts - n * HOSTS_PER_AGENT);
    const own = { BERTH_AGENT_HOST: `rack${n}`, BERTH_AGENT_HOSTS: String(count), BERTH_HTTP_PORT: String(port) };
    return startBerth('compute-agent', { ...env, ...own });
  });
  const schedulers = many('schedulers', 'scheduler', { BERTH_HTTP_PORT: String(schedulerPort) });
  return { processes: [...schedulers, ...many('conductors', 'conductor'), ...agents], agentPorts, schedulerPort };
}

/** Rejects when a process ends; its errors on stderr give the cause. */
async function anyEnds(processes: readonly ChildProcess[]): Promise<never> {
  await Promise.race(processes.map((child) => once(child, 'exit')));
  throw new Error('a process of the fleet ended');
}

function stolen(rates: Readonly<Record<string, Rate>>): Results {
  const each = Object.entries(rates).map(([name, { stolenPercent }]) => [`${name}_stolen_percent`, stolenPercent]);
  return Object.fromEntries(each);
}

async function hostsReported(bus: Bus, hosts: number, note: (text: string) => void): Promise<void> {
  const client = new Client(bus, { clock, random: systemRandom, timeoutMs: 10_000, retryForMs: 0 });
  for (let seen = 0, told = -1; seen < hosts; told = seen) {
    const listed = await client.hosts().catch(() => undefined);
    seen = listed?.length ?? seen;
    if (seen !== told) note(`${seen} of ${hosts} hosts have reported`);
    if (seen < hosts) await sleep(clock, 500);
  }
}

/** The rate of builds from published request to ACTIVE. */
async function measureBuilds(bus: Bus, seconds: number): Promise<Rate> {
  const waiting = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const listening = await bus.subscribe('instance.active.#', (topic) => {
    const uuid = topic.slice(topic.lastIndexOf('.') + 1);
    waiting.get(uuid)?.resolve();
    waiting.delete(uuid);
  });
  const failing = await bus.subscribe('instance.error.#', (topic, { body }) => {
    const uuid = topic.slice(topic.lastIndexOf('.') + 1);
    const { fault } = instanceEventCodec.decode(body);
    waiting.get(uuid)?.reject(new Error(`a build failed: ${fault?.reason}: ${fault?.message}`));
    waiting.delete(uuid);
  });
  const build = async () => {
    const uuid = randomUUID();
    const active = new Promise<void>((resolve, reject) => waiting.set(uuid, { resolve, reject }));
    const request = { requestId: uuid, requestSpec: SPEC, count: 1, name: '', instanceUuids: [uuid] };
    await castTyped({ bus, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: uuid });
    await active;
  };
  const rate = await measureRate(build, { inFlight: IN_FLIGHT * 2, seconds });
  await Promise.all([listening.cancel(), failing.cancel()]);
  return rate;
}

/** Three-class claims on the fleet's hosts, directly on the store. */
async function claimsOnHosts(store: PlacementStore, seconds: number, inFlight?: number): Promise<Rate> {
  const claims: Allocations[] = [];
  await store.snapshot(({ hosts = [] }) => {
    claims.push(...hosts.map(({ providerUuid }) => ({ [providerUuid]: RESOURCES })));
  });
  return measureClaims(store, claims, seconds, inFlight);
}
