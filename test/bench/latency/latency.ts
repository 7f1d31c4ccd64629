import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { sleep } from '#libs/domain/clock';
import { requestSpec } from '#libs/domain/request-spec';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { percentile } from '#libs/runtime/percentiles';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { freePort } from '#libs/testing/servers/server-process';
import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { endAllBerth, endBerth, isReady, startBerth } from '../berth-process';
import { type Bench, type BenchContext, measureAtRate, measureRate, type Results, round } from '../harness';
import { fillFlat } from '../placement-fleet';
import { rawRpcRate } from '../raw-rpc';
import { type Breakdown, breakDown, type ClientTimes, PARTS, type Part } from './breakdown';
import { processLoad } from './process-load';
import { QueueLength } from './queue-length';
import { Selects } from './selects';
import { SocketTimes, sharedNow } from './socket-times';
import { type SchedulerTrace, TRACE_FILE } from './trace-scheduler';

const SPEC = requestSpecCodec.encode(
  requestSpec({ VCPU: 1, MEMORY_MB: 16, DISK_GB: 1 }, { projectId: 'bench', userId: 'bench' }),
);
const RAW_PAYLOAD = { requestBytes: 132, answerBytes: 435 };
const IN_FLIGHT = 128;
const clock = systemClock();

/**
 * Where the time of a select goes at a given load. Client and scheduler note times of the clock that all processes of a
 * machine share: the scheduler by `trace-scheduler.ts`, which is loaded into it, the client here. Redis says how long its
 * script ran; the broker's queue follows from its mean length (Little's law). Bare calls at the same rate follow.
 */
export const latencyBench: Bench = {
  name: 'latency',
  purpose: 'where the time of a select goes at a load, part by part, on one clock',
  flags: {
    load: '0.5, of the rate that is reached with 128 in flight',
    rate: 'of selects a second, instead of a load',
    hosts: '1000',
    seconds: '10',
    fsync: 'always, of Redis; or everysec, no',
    prefetch: "256, of the scheduler's calls",
    'semi-space': '64 MiB, of the scheduler',
  },
  async run(context) {
    const { flags } = context;
    const folder = mkdtempSync(join(tmpdir(), 'berth-latency-'));
    const [rabbitmq, redis] = await Promise.all([
      startRabbitmq(),
      startRedis({ appendOnly: true, appendfsync: flags['fsync'] ?? 'always' }),
    ]);
    try {
      const file = join(folder, 'trace.json');
      const measured = await measure({ busUrl: rabbitmq.url, storeUrl: redis.url, file }, context);
      const trace = JSON.parse(readFileSync(file, 'utf8')) as SchedulerTrace;
      context.note('measuring bare calls at that rate');
      const bare = await rawRpcRate(rabbitmq.url, { ...RAW_PAYLOAD, acked: true }, (call) =>
        measureAtRate(call, { perSecond: measured.perSecond, seconds: measured.seconds / 2 }),
      );
      const all = breakDown(measured.clients, trace);
      drawBars(all, context);
      return {
        rate_per_s: round(measured.perSecond),
        ...resultsOf(all),
        store_script_mean_ms: round(measured.scriptMs),
        broker_queue_mean_ms: round(measured.queuedMs),
        ...measured.load,
        raw_rpc_p50_ms: bare.p50Ms,
        raw_rpc_p99_ms: bare.p99Ms,
        stolen_percent: measured.stolenPercent,
      };
    } finally {
      await endAllBerth();
      await Promise.all([rabbitmq.stop(), redis.stop()]);
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

interface Servers {
  readonly busUrl: string;
  readonly storeUrl: string;
  /** The scheduler's trace. */
  readonly file: string;
}

async function measure({ busUrl, storeUrl, file }: Servers, { flags, ...context }: BenchContext) {
  const sockets = new SocketTimes();
  sockets.watch();
  const seconds = Number(flags['seconds'] ?? 10);
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const addresses = { BERTH_BUS_URL: busUrl, BERTH_STORE_URL: storeUrl };
  const store = await openPlacementStore(readConfig(placementOptions, addresses), around);
  const bus = await openBus({ ...readConfig(busOptions, {}), busUrl }, around);
  const redis = new Redis(storeUrl);
  const queue = await QueueLength.open(busUrl);
  try {
    await fillFlat(store, Number(flags['hosts'] ?? 1_000));
    const { scheduler, port } = await startTraced(addresses, file, flags);
    const selects = new Selects(bus, store, SPEC);
    context.note('measuring the rate that is reached, which warms up as well');
    const full = await measureRate(() => selects.one(), { inFlight: IN_FLIGHT, seconds });
    await selects.releaseAll(port);
    const perSecond = Number(flags['rate'] ?? full.perSecond * Number(flags['load'] ?? 0.5));
    context.note(`measuring at ${round(perSecond)} of ${full.perSecond} a second`);
    const clients: ClientTimes[] = [];
    const before = await scriptsRun(redis);
    queue.begin();
    const { measured: rate, load } = await processLoad(port, 'scheduler', () =>
      measureAtRate(() => timedSelect(selects, sockets, clients), { perSecond, seconds }),
    );
    const queuedMs = (1_000 * queue.meanLength()) / perSecond;
    const after = await scriptsRun(redis);
    await endBerth(scheduler, 'SIGTERM');
    const scriptMs = (after.usec - before.usec) / 1_000 / Math.max(1, after.calls - before.calls);
    // The warm-up's are left out.
    const counted = clients.slice(-rate.count);
    return { clients: counted, perSecond, seconds, scriptMs, queuedMs, load, stolenPercent: rate.stolenPercent };
  } finally {
    redis.disconnect();
    await Promise.allSettled([queue.close(), bus.close(), store.close()]);
  }
}

async function startTraced(addresses: Readonly<Record<string, string>>, file: string, flags: BenchContext['flags']) {
  const port = await freePort();
  const scheduler = startBerth('scheduler', {
    ...addresses,
    NODE_OPTIONS: `--max-semi-space-size=${flags['semi-space'] ?? 64} --require ${join(__dirname, 'trace-scheduler.js')}`,
    [TRACE_FILE]: file,
    BERTH_HTTP_PORT: String(port),
    BERTH_SCHEDULER_PREFETCH: flags['prefetch'] ?? '256',
    // The fleet has no agents.
    BERTH_SCHEDULER_HOST_TIMEOUT_MS: '86400000',
  });
  while (!(await isReady(port))) {
    if (scheduler.exitCode !== null) throw new Error('the scheduler ended');
    await sleep(clock, 100);
  }
  return { scheduler, port };
}

async function timedSelect(selects: Selects, sockets: SocketTimes, clients: ClientTimes[]): Promise<void> {
  const requestId = systemRandom.uuid();
  const times = { requestId, startedMs: sharedNow(), writtenMs: 0, readMs: 0, endedMs: 0 };
  sockets.onNextWrite((atMs) => {
    times.writtenMs = atMs;
  });
  await selects.one(requestId);
  times.readMs = sockets.lastReadMs;
  times.endedMs = sharedNow();
  clients.push(times);
}

/** Runs of scripts on a Redis so far, and their time. */
async function scriptsRun(redis: Redis): Promise<{ readonly calls: number; readonly usec: number }> {
  const stats = await redis.info('commandstats');
  const [, calls = 0, usec = 0] = (/cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(stats) ?? []).map(Number);
  return { calls, usec };
}

function resultsOf(all: readonly Breakdown[]): Results {
  const names = ['whole', ...(Object.keys(PARTS) as Part[]), 'collecting'] as const;
  return Object.assign(
    { selects: all.length },
    ...names.map((name) => {
      const ms = all.map((one) => one[name]);
      return {
        [`${name}_mean_ms`]: round(meanOf(ms)),
        [`${name}_p50_ms`]: percentile(ms, 50),
        [`${name}_p99_ms`]: percentile(ms, 99),
      };
    }),
  ) as Results;
}

/** The mean of each part, as bars. */
function drawBars(all: readonly Breakdown[], context: BenchContext): void {
  const wholeMs = meanOf(all.map(({ whole }) => whole));
  context.note(`a select takes ${round(wholeMs)} ms in the mean`);
  for (const part of Object.keys(PARTS) as Part[]) {
    const ms = meanOf(all.map((one) => one[part]));
    const bar = '█'.repeat(Math.round((40 * ms) / wholeMs));
    context.note(`${PARTS[part].padEnd(70)} ${round(ms).toString().padStart(6)} ms ${bar}`);
  }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
