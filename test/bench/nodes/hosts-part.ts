import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import type { Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { Client } from '#libs/client/client';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
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
import { endAllBerth, isReady, startBerth } from '../berth-process';
import { type BenchContext, measureAtRate, measureRate, type Results, rateResults, round } from '../harness';
import { rawRpcRate } from '../raw-rpc';
import { ServerLoad } from './server-load';

const HOSTS_PER_AGENT = 10_000;
/** Resources of each host; one instance takes half. */
const SHAPE = { VCPU: 8, MEMORY_MB: 32_768, DISK_GB: 400 };
const HALF: Resources = { VCPU: 4, MEMORY_MB: 16_384, DISK_GB: 200 };
const SMALL = requestSpecCodec.encode(
  requestSpec({ VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 }, { projectId: 'bench', userId: 'bench' }),
);
/** The sizes in the benchmark of builds. */
const RAW_PAYLOAD = { requestBytes: 132, answerBytes: 435, acked: true };
const IN_FLIGHT = 128;
const CLAIMS_AT_ONCE = 256;
const GIVEN_UP_AFTER_MS = 1_800_000;
const clock = systemClock();

/** One scheduler with very many hosts of fake agents: the time to learn of them, their cost, and its selects. */
export async function measureHosts(context: BenchContext): Promise<Results> {
  const { flags } = context;
  const note = (text: string) => context.note(text);
  const hostCount = Number(flags['hosts'] ?? 100_000);
  const seconds = Number(flags['seconds'] ?? 60);
  const selectSeconds = Number(flags['select-seconds'] ?? 10);
  const reportIntervalMs = Number(flags['host-report-interval-ms'] ?? 60_000);
  const [rabbitmq, redis] = await Promise.all([startRabbitmq({ hasMetrics: true }), startRedis({ appendOnly: true })]);
  const addresses = { BERTH_BUS_URL: rabbitmq.url, BERTH_STORE_URL: redis.url };
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const bus = await openBus({ ...readConfig(busOptions, {}), busUrl: rabbitmq.url }, around);
  const store = await openPlacementStore(readConfig(placementOptions, addresses), around);
  const schedulerEnv = {
    ...addresses,
    // The claims here have no instances on the hosts: nobody shall look for them.
    BERTH_SCHEDULER_DISCREPANCY_GRACE_MS: '3600000',
    BERTH_SCHEDULER_HOST_TIMEOUT_MS: String(10 * reportIntervalMs),
  };
  try {
    const raw = await rawRpcRate(rabbitmq.url, RAW_PAYLOAD, (call) =>
      measureRate(call, { inFlight: IN_FLIGHT, seconds: selectSeconds / 2 }),
    );
    const schedulerPort = await freePort();
    const scheduler = startBerth('scheduler', { ...schedulerEnv, BERTH_HTTP_PORT: String(schedulerPort) });
    const agentPorts = await startAgents(hostCount, addresses, reportIntervalMs);
    const processes = { scheduler: scheduler.pid ?? 0 };
    const load = await ServerLoad.open({ rabbitmq, redisUrl: redis.url, schedulerPort, processes });
    note(`${agentPorts.length} agents start with ${hostCount} hosts`);
    const startedS = await allReady(bus, agentPorts, hostCount, note);
    note(`all hosts have reported; at rest for ${seconds} s`);
    // During the first reports, second reports of other hosts fell due.
    await sleep(reportIntervalMs);
    const rest = await load.atRest(seconds);
    const empty = await load.memory();
    note('an instance that has half of it is claimed on each host');
    const claimedS = await claimHalf(store);
    const full = await load.memory();
    note('measuring select_destinations');
    let unavailable = 0;
    const selectSome = () => selectOne(bus, () => unavailable++);
    const select = await measureRate(selectSome, { inFlight: IN_FLIGHT, seconds: selectSeconds });
    const half = await measureAtRate(selectSome, { perSecond: select.perSecond / 2, seconds: selectSeconds });
    note('starting a second scheduler, which reads all that is there');
    const secondS = await startAgain(schedulerEnv);
    await load.close();
    return {
      hosts: hostCount,
      host_agents: agentPorts.length,
      host_report_interval_ms: reportIntervalMs,
      all_reported_s: round(startedS),
      scheduler_start_s: round(secondS),
      ...under('hosts', rest),
      ...under('hosts_empty', empty),
      half_claims_per_s: round(hostCount / claimedS),
      ...under('hosts_half_full', full),
      ...rateResults('raw_rpc_acked', raw),
      ...rateResults('hosts_select', select),
      hosts_select_acked_ratio: round(select.perSecond / raw.perSecond),
      ...rateResults('hosts_select_half_load', half),
      hosts_select_unavailable: unavailable,
    };
  } finally {
    await endAllBerth();
    await Promise.allSettled([bus.close(), store.close()]);
    await Promise.all([rabbitmq.stop(), redis.stop()]);
  }
}

async function startAgents(
  hostCount: number,
  addresses: Readonly<Record<string, string>>,
  reportIntervalMs: number,
): Promise<number[]> {
  const ports: number[] = [];
  for (let from = 0; from < hostCount; from += HOSTS_PER_AGENT) {
    const port = await freePort();
    ports.push(port);
    startBerth('compute-agent', {
      ...addresses,
      BERTH_HTTP_PORT: String(port),
      BERTH_AGENT_HOST: `rack${ports.length}`,
      BERTH_AGENT_HOSTS: String(Math.min(HOSTS_PER_AGENT, hostCount - from)),
      BERTH_AGENT_INVENTORY: Object.entries(SHAPE)
        .map(([name, total]) => `${name}=${total}`)
        .join(','),
      BERTH_AGENT_REPORT_INTERVAL_MS: String(reportIntervalMs),
    });
  }
  return ports;
}

/** Seconds until every agent has reported all its hosts, and the scheduler shows them. */
async function allReady(
  bus: Bus,
  ports: readonly number[],
  hostCount: number,
  note: (text: string) => void,
): Promise<number> {
  const startedMs = performance.now();
  for (let told = -1; ; ) {
    const ready = (await Promise.all(ports.map(isReady))).filter(Boolean).length;
    if (ready === ports.length) break;
    if (performance.now() - startedMs > GIVEN_UP_AFTER_MS) throw new Error(`only ${ready} agents became ready`);
    if (ready > told) note(`${ready} of ${ports.length} agents are ready`);
    told = ready;
    await sleep(500);
  }
  const client = new Client(bus, { clock, random: systemRandom, timeoutMs: 60_000, retryForMs: 0 });
  // A scheduler with a large backlog may refuse for now.
  const seen = async () => (await client.hosts().catch(() => [])).length;
  while ((await seen()) < hostCount) await sleep(1_000);
  return (performance.now() - startedMs) / 1_000;
}

/** Seconds to claim half of each host. */
async function claimHalf(store: PlacementStore): Promise<number> {
  const providers: string[] = [];
  await store.snapshot(({ hosts = [] }) => void providers.push(...hosts.map(({ providerUuid }) => providerUuid)));
  const startedMs = performance.now();
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < providers.length; n = next++) {
      const result = await store.commit({
        kind: 'write_allocations',
        atMs: clock.now(),
        consumers: [
          {
            uuid: randomUUID(),
            projectId: 'bench',
            userId: 'bench',
            consumerType: 'INSTANCE',
            owner: 'conductor',
            allocations: { [providers[n] ?? '']: HALF },
            mappings: {},
            expect: { kind: 'absent' },
          },
        ],
      });
      if (result.kind !== 'committed') throw new Error(`a claim was not made: ${result.kind}`);
    }
  };
  await Promise.all(Array.from({ length: CLAIMS_AT_ONCE }, worker));
  return (performance.now() - startedMs) / 1_000;
}

/** @param onFailure  called for each answer that asks for a retry; it counts as an answer in the rate */
async function selectOne(bus: Bus, onFailure: () => void): Promise<void> {
  const request = { requestId: randomUUID(), requestSpec: SMALL, instanceUuids: [randomUUID()], numAlternates: 2 };
  const options = { timeoutMs: 60_000 };
  const answer = await callMethod({ bus, queue: RPC_SCHEDULER }, selectDestinationsMethod, request, options).catch(
    (thrown: unknown) => {
      if (!isRetryable(BerthError.from(thrown))) throw thrown;
      onFailure();
    },
  );
  if (answer?.destinations.length === 0) throw new Error('no valid host: the fleet is too small for this benchmark');
}

/** Seconds until a newly started scheduler is ready. */
async function startAgain(env: Readonly<Record<string, string>>): Promise<number> {
  const port = await freePort();
  const startedMs = performance.now();
  startBerth('scheduler', { ...env, BERTH_HTTP_PORT: String(port) });
  while (!(await isReady(port))) await sleep(100);
  return (performance.now() - startedMs) / 1_000;
}

function under(prefix: string, results: Results): Results {
  return Object.fromEntries(Object.entries(results).map(([name, value]) => [`${prefix}_${name}`, value]));
}
