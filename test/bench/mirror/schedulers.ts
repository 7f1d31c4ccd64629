import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { requestSpecCodec } from '#libs/contracts/request-spec';
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
import { endAllBerth, endBerth, isReady, metricsAt, startBerth, sumOf } from '../berth-process';
import { type Bench, measureAtRate, type Results, round } from '../harness';
import { Selects } from '../latency/selects';
import { fillFlat } from '../placement-fleet';

const SPEC = requestSpecCodec.encode(
  requestSpec({ VCPU: 1, MEMORY_MB: 16, DISK_GB: 1 }, { projectId: 'bench', userId: 'bench' }),
);

interface Figures {
  readonly schedulerUs: number;
  readonly redisUs: number;
  readonly perSecond: number;
}

/**
 * The processor time of a select in cells of one and more schedulers, each asked at the same rate: a select costs the
 * scheduler that decides it the same in all of them, and each of the others what it pays for a claim of another one. So
 * this tells how far a cell grows with its schedulers, on a machine that has fewer processors than they would need.
 */
export const schedulersBench: Bench = {
  name: 'schedulers',
  purpose: 'processor time of a select with one, two and three schedulers, each asked at the same rate',
  flags: {
    schedulers: '1,2,3',
    rate: '500, of selects a second of each scheduler',
    hosts: '1000',
    seconds: '6, of each measurement, after a warm-up as long',
    rounds: '1, in turn; the median of each',
  },
  async run({ flags, ...context }) {
    const counts = (flags['schedulers'] ?? '1,2,3').split(',').map(Number);
    const [rabbitmq, redis] = await Promise.all([
      startRabbitmq(),
      startRedis({ appendOnly: true, appendfsync: 'everysec' }),
    ]);
    const figures = new Map<number, Figures[]>(counts.map((count) => [count, []]));
    try {
      const cell = await Cell.open(rabbitmq.url, redis.url, Number(flags['hosts'] ?? 1_000));
      try {
        const load = { rate: Number(flags['rate'] ?? 500), seconds: Number(flags['seconds'] ?? 6) };
        for (let n = 0; n < Number(flags['rounds'] ?? 1); n++) {
          for (const count of counts) {
            const one = await cell.measure(count, load);
            context.note(`${count}: ${round(one.schedulerUs)} us of schedulers, ${round(one.redisUs)} us of Redis`);
            figures.get(count)?.push(one);
          }
        }
      } finally {
        await cell.close();
      }
    } finally {
      await endAllBerth();
      await Promise.all([rabbitmq.stop(), redis.stop()]);
    }
    return resultsOf(figures);
  },
};

function resultsOf(figures: ReadonlyMap<number, readonly Figures[]>): Results {
  const results: Record<string, number> = {};
  const median = (count: number, of: (one: Figures) => number) => percentile((figures.get(count) ?? []).map(of), 50);
  const alone = figures.has(1) ? median(1, ({ schedulerUs }) => schedulerUs) : undefined;
  for (const count of figures.keys()) {
    const us = median(count, ({ schedulerUs }) => schedulerUs);
    results[`select_with_${count}_cpu_us`] = round(us);
    results[`select_with_${count}_redis_cpu_us`] = round(median(count, ({ redisUs }) => redisUs));
    results[`select_with_${count}_per_s`] = round(median(count, ({ perSecond }) => perSecond));
    if (alone === undefined || count === 1) continue;
    results[`foreign_claim_of_${count}_cpu_us`] = round((us - alone) / (count - 1));
    // As many processors as schedulers, and nothing else is scarce.
    results[`growth_to_${count}`] = round((count * alone) / us);
  }
  return results;
}

/** A fleet on a broker and a Redis, and selects on it. */
class Cell {
  private constructor(
    private readonly addresses: Readonly<Record<string, string>>,
    private readonly selects: Selects,
    private readonly redis: Redis,
    private readonly closeAll: () => Promise<unknown>,
  ) {}

  static async open(busUrl: string, storeUrl: string, hosts: number): Promise<Cell> {
    const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
    const addresses = { BERTH_BUS_URL: busUrl, BERTH_STORE_URL: storeUrl };
    const store = await openPlacementStore(readConfig(placementOptions, addresses), around);
    const bus = await openBus({ ...readConfig(busOptions, {}), busUrl }, around);
    await fillFlat(store, hosts);
    const redis = new Redis(storeUrl);
    return new Cell(addresses, new Selects(bus, store, SPEC), redis, () => {
      redis.disconnect();
      return Promise.allSettled([bus.close(), store.close()]);
    });
  }

  /** Processor time for a select, beyond that of the same time at rest. */
  async measure(
    count: number,
    { rate, seconds }: { readonly rate: number; readonly seconds: number },
  ): Promise<Figures> {
    const schedulers = await Promise.all(Array.from({ length: count }, () => this.#start()));
    const used = async () => {
      const each = await Promise.all(
        schedulers.map(async ({ port }) => sumOf(await metricsAt(`127.0.0.1:${port}`), 'process_cpu_seconds_total')),
      );
      const redisSeconds = [...(await this.redis.info('cpu')).matchAll(/^used_cpu_(?:sys|user):(\S+)/gm)];
      return { schedulers: sumOfAll(each), redis: sumOfAll(redisSeconds.map(([, value]) => Number(value))) };
    };
    const load = (forSeconds: number) =>
      measureAtRate(() => this.selects.one(), { perSecond: count * rate, seconds: forSeconds });
    try {
      await load(seconds);
      const atRest = await used();
      await sleep(seconds * 1_000);
      const before = await used();
      // A rate is measured after a warm-up of half its time, which counts as well.
      const { count: measured, perSecond } = await load(seconds);
      const after = await used();
      const selects = 1.5 * measured;
      const rest = { schedulers: before.schedulers - atRest.schedulers, redis: before.redis - atRest.redis };
      return {
        schedulerUs: (1e6 * (after.schedulers - before.schedulers - 1.5 * rest.schedulers)) / selects,
        redisUs: (1e6 * (after.redis - before.redis - 1.5 * rest.redis)) / selects,
        perSecond,
      };
    } finally {
      await this.selects.releaseAll((schedulers[0] as Started).port);
      await Promise.all(schedulers.map(({ child }) => endBerth(child, 'SIGTERM')));
    }
  }

  async close(): Promise<void> {
    await this.closeAll();
  }

  async #start(): Promise<Started> {
    const port = await freePort();
    const child = startBerth('scheduler', {
      ...this.addresses,
      BERTH_HTTP_PORT: String(port),
      // The fleet has no agents.
      BERTH_SCHEDULER_HOST_TIMEOUT_MS: '86400000',
    });
    while (!(await isReady(port))) {
      if (child.exitCode !== null) throw new Error('a scheduler ended');
      await sleep(100);
    }
    return { child, port };
  }
}

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
}

function sumOfAll(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
