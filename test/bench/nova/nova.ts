import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import {
  type Bench,
  type BenchContext,
  measureRun,
  medianOfCalm,
  type Rate,
  type Results,
  rateResults,
  round,
} from '../harness';
import { OsloProcess, selectAtOnce } from './callers';
import { aBenchCloud, fanoutsRead, hostNamesOf, type MeasuredScheduler, startBerths, startStock } from './nova-fleet';

const ECHO_TOPIC = 'echo';

/** Nova's scheduler RPC: a stock nova-scheduler, Berth's, and bare calls, in turn on one broker. */
export const novaBench: Bench = {
  name: 'nova',
  purpose:
    "select_destinations of Nova's scheduler RPC, answered by a stock nova-scheduler and by Berth in turn, beside bare calls",
  flags: {
    hosts: '1000,10000, sizes of fleets',
    callers: '1,4, processes that call at once',
    seconds: '10, of each measurement',
    rounds: '3, turns of each',
    stock: 'true; 0 leaves the stock scheduler out',
    fsync: 'always, of Redis; or everysec, no',
  },
  async run(context) {
    const results: Record<string, number | string> = {};
    for (const size of numbers(context.flags['hosts'] ?? '1000,10000')) {
      Object.assign(results, await onFleet(size, context));
    }
    return results;
  },
};

const numbers = (list: string) => list.split(',').map(Number);

async function onFleet(hostCount: number, context: BenchContext): Promise<Results> {
  const { flags } = context;
  const callerCounts = numbers(flags['callers'] ?? '1,4');
  const rabbitmq = await startRabbitmq();
  const redis = await startRedis({ appendOnly: true, appendfsync: flags['fsync'] ?? 'always' });
  const cloud = await aBenchCloud({ rabbitmq: rabbitmq.url, redis: redis.url }, hostCount);
  const echo = OsloProcess.start(rabbitmq.url);
  const callers = Array.from({ length: Math.max(...callerCounts) }, () => OsloProcess.start(rabbitmq.url));
  const schedulers: Record<string, MeasuredScheduler> = {};
  try {
    await echo.echo(ECHO_TOPIC);
    schedulers['berth'] = await startBerths(cloud);
    if (flags['stock'] !== '0') schedulers['stock'] = await startStock(cloud, rabbitmq);
    for (const { topic } of Object.values(schedulers)) {
      await callers[0]?.sync(topic, hostNamesOf(cloud));
      await fanoutsRead(rabbitmq, topic);
    }
    context.note(`${hostCount} hosts: ready`);
    const results: Record<string, number | string> = {};
    for (const count of callerCounts) {
      const prefix = `hosts_${hostCount}_c${count}`;
      Object.assign(results, await inTurn(prefix, callers.slice(0, count), schedulers, context));
    }
    return results;
  } finally {
    await Promise.all([echo, ...callers, ...Object.values(schedulers)].map((one) => one.stop()));
    await cloud.close();
    await Promise.all([rabbitmq.stop(), redis.stop()]);
  }
}

/** Rates and latencies of each scheduler and of bare calls, and their ratios. */
async function inTurn(
  prefix: string,
  callers: readonly OsloProcess[],
  schedulers: Readonly<Record<string, MeasuredScheduler>>,
  { flags, ...context }: BenchContext,
): Promise<Results> {
  const seconds = Number(flags['seconds'] ?? 10);
  const topics = {
    ...Object.fromEntries(Object.entries(schedulers).map(([name, { topic }]) => [name, topic])),
    echo: ECHO_TOPIC,
  };
  const rates = new Map<string, Rate[]>();
  const cpuMs = new Map<string, number>();
  for (const topic of Object.values(topics)) await selectAtOnce(callers, topic, seconds / 2);
  for (let n = 0; n < Number(flags['rounds'] ?? 3); n++) {
    for (const [name, topic] of Object.entries(topics)) {
      const scheduler = schedulers[name];
      const before = await scheduler?.cpuSeconds();
      const rate = await measureRun(() => selectAtOnce(callers, topic, seconds));
      const usedMs = 1_000 * ((await scheduler?.cpuSeconds()) ?? 0) - 1_000 * (before ?? 0);
      context.note(
        `${prefix}_${name}: ${rate.perSecond}/s, p50 ${rate.p50Ms} ms, ${rate.count} calls, ${rate.stolenPercent} % stolen`,
      );
      rates.set(name, [...(rates.get(name) ?? []), rate]);
      cpuMs.set(name, (cpuMs.get(name) ?? 0) + usedMs);
    }
  }
  const results: Record<string, number | string> = {};
  const medians = new Map([...rates].map(([name, some]) => [name, medianOfCalm(some)]));
  for (const [name, median] of medians) {
    const calls = rates.get(name)?.reduce((sum, { count }) => sum + count, 0) ?? 0;
    Object.assign(results, rateResults(`${prefix}_${name}`, median), { [`${prefix}_${name}_calls`]: calls });
    if (name in schedulers) results[`${prefix}_${name}_cpu_ms`] = round((cpuMs.get(name) ?? 0) / calls);
  }
  const [berth, stock, echo] = ['berth', 'stock', 'echo'].map((name) => medians.get(name));
  if (berth && echo) results[`${prefix}_echo_ratio`] = round(berth.perSecond / echo.perSecond);
  if (berth && stock) {
    results[`${prefix}_times_stock`] = round(berth.perSecond / stock.perSecond);
    results[`${prefix}_cpu_times_stock`] = round(
      Number(results[`${prefix}_stock_cpu_ms`]) / Number(results[`${prefix}_berth_cpu_ms`]),
    );
  }
  return results;
}
