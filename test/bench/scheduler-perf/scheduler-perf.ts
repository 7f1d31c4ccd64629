import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { sleep } from '#libs/domain/clock';
import { inventory } from '#libs/domain/inventory';
import { requestSpec } from '#libs/domain/request-spec';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { freePort } from '#libs/testing/servers/server-process';
import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { endAllBerth, isReady, startBerth } from '../berth-process';
import { type Bench, type BenchContext, measureRate, type Results, round } from '../harness';
import { Selects } from '../latency/selects';
import { fillFlat } from '../placement-fleet';
import { rawRpcRate } from '../raw-rpc';
import { HOST, NOT_TRANSLATED, ROWS, type Row } from './rows';

const IN_FLIGHT = 128;
/** Bare calls on the same broker, of the sizes of a select. */
const RAW_CALLS = { requestBytes: 132, answerBytes: 435, acked: true };
/** The host that all instances of a row name; it has room for them. */
const NAMED_HOST = 'host-0';
const clock = systemClock();

/**
 * Rows of kube-scheduler's own benchmark as requests to Berth: hosts and instances of its sizes, one select for each pod,
 * claimed durably, beside its published threshold. A pod that is bound there and an instance that is claimed here are not
 * the same work: neither is started.
 */
export const schedulerPerfBench: Bench = {
  name: 'scheduler-perf',
  purpose: "rows of kube-scheduler's scheduler_perf as selects, beside their published thresholds",
  flags: {
    row: 'Basic, a part of the names of the rows to run; all by default',
    scale: '1; 0.1 runs a tenth of the hosts and of the instances',
    fsync: 'always, of Redis; or everysec, no',
  },
  async run(context) {
    const { flags } = context;
    const rows = ROWS.filter(({ name }) => name.includes(flags['row'] ?? ''));
    if (rows.length === 0) throw new Error(`no row has '${flags['row']}' in its name`);
    const results: Record<string, number | string> = { scale: Number(flags['scale'] ?? 1) };
    for (const row of rows) Object.assign(results, await measureRow(row, context));
    if (flags['row'] === undefined) {
      for (const [name, why] of Object.entries(NOT_TRANSLATED)) results[`${name} not translated`] = why;
    }
    return results;
  },
};

async function measureRow(row: Row, context: BenchContext): Promise<Results> {
  const scale = Number(context.flags['scale'] ?? 1);
  const count = (whole: number) => Math.ceil(whole * scale);
  const [rabbitmq, redis] = await Promise.all([
    startRabbitmq(),
    startRedis({ appendOnly: true, appendfsync: context.flags['fsync'] ?? 'always' }),
  ]);
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const addresses = { BERTH_BUS_URL: rabbitmq.url, BERTH_STORE_URL: redis.url };
  const store = await openPlacementStore(readConfig(placementOptions, addresses), around);
  const bus = await openBus({ ...readConfig(busOptions, {}), busUrl: rabbitmq.url }, around);
  try {
    await fillFlat(store, count(row.hosts), inventoriesOf(row));
    await startScheduler(addresses);
    const selects = new Selects(bus, store, requestSpecCodec.encode(specOf(row)));
    context.note(`${row.name}: ${count(row.hosts)} hosts, ${count(row.measured)} instances`);
    await selectAll(selects, count(row.placedBefore));
    const startedMs = performance.now();
    await selectAll(selects, count(row.measured));
    const elapsedMs = performance.now() - startedMs;
    const raw = await rawRpcRate(rabbitmq.url, RAW_CALLS, (call) =>
      measureRate(call, { inFlight: IN_FLIGHT, seconds: 2 }),
    );
    const perSecond = (1_000 * count(row.measured)) / elapsedMs;
    return {
      [`${row.name} per_s`]: round(perSecond),
      [`${row.name} raw_rpc_acked_per_s`]: raw.perSecond,
      ...(row.threshold !== undefined && {
        [`${row.name} threshold_per_s`]: row.threshold,
        [`${row.name} times_threshold`]: round(perSecond / row.threshold),
      }),
      ...(row.without !== undefined && { [`${row.name} without`]: row.without }),
    };
  } finally {
    await endAllBerth();
    await Promise.allSettled([bus.close(), store.close()]);
    await Promise.all([rabbitmq.stop(), redis.stop()]);
  }
}

function inventoriesOf({ kind, measured }: Row) {
  const most = kind === 'named_host' ? measured : 0;
  return {
    VCPU: inventory(Math.max(HOST.processor, most)),
    MEMORY_MB: inventory(Math.max(HOST.memoryMb, most)),
  };
}

function specOf({ kind, processor, memoryMb }: Row) {
  const group = { id: 'row', policy: 'anti-affinity', maxPerHost: 1 } as const;
  return requestSpec(
    { VCPU: processor, MEMORY_MB: memoryMb },
    {
      projectId: 'bench',
      userId: 'bench',
      ...(kind === 'anti_affinity' && { group }),
      ...(kind === 'named_host' && { forceHosts: [NAMED_HOST] }),
    },
  );
}

async function startScheduler(addresses: Readonly<Record<string, string>>): Promise<void> {
  const port = await freePort();
  // The fleet has no agents.
  const own = { BERTH_HTTP_PORT: String(port), BERTH_SCHEDULER_HOST_TIMEOUT_MS: '86400000' };
  const scheduler = startBerth('scheduler', { ...addresses, ...own });
  while (!(await isReady(port))) {
    if (scheduler.exitCode !== null) throw new Error('the scheduler ended');
    await sleep(clock, 100);
  }
}

async function selectAll(selects: Selects, count: number): Promise<void> {
  let started = 0;
  const worker = async () => {
    while (started < count) {
      started += 1;
      await selects.one();
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}
