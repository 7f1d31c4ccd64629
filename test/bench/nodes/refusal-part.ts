import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { Client } from '#libs/client/client';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { percentile } from '#libs/runtime/percentiles';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { type BenchContext, measureAtRate, type Results, round } from '../harness';
import { PoolServers } from './pool-servers';

const SPEC = { resources: { CUSTOM_BAREMETAL_GOLD: 1 }, projectId: 'bench', userId: 'bench' };
const SCHEDULERS = 2;
const GIVEN_UP_AFTER_MS = 10_000;
const clock = systemClock();

/**
 * Puts nodes into maintenance at a steady rate, and measures the time from the change, stamped in the node's record, to
 * the first answer of one of two schedulers that refuses the node, and to the first after which none passes it any
 * more. A scheduler is asked again as soon as it has answered, so that a bare `explain` is part of each figure.
 */
export async function measureRefusals(context: BenchContext): Promise<Results> {
  const { flags } = context;
  const perSecond = Number(flags['changes-per-s'] ?? 10);
  const seconds = Number(flags['refusal-seconds'] ?? 20);
  const nodeCount = Number(flags['refusal-nodes'] ?? 1_000);
  const agentCount = 4;
  const servers = await PoolServers.start({ nodeCount, agentCount, reportIntervalMs: 20_000 });
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const bus = await openBus({ ...readConfig(busOptions, {}), busUrl: servers.rabbitmq.url }, around);
  const client = new Client(bus, { clock, random: systemRandom, timeoutMs: 20_000, retryForMs: 0 });
  try {
    for (let n = 0; n < SCHEDULERS; n++) servers.startScheduler();
    servers.startAgents();
    await servers.allServed((text) => context.note(text));
    const passes = async (host: string) => (await client.explain(SPEC, { host })).hosts[0]?.passed === true;
    const { names } = servers;
    const explain = await measureAtRate((n) => passes(names.at(-1 - (n % agentCount)) ?? ''), {
      perSecond,
      seconds: 5,
    });
    context.note(`${perSecond} nodes a second go into maintenance`);
    const took: Took[] = [];
    let next = 0;
    const maintainNext = async () => took.push(await refusalOf(client, names[next++] ?? '', passes));
    await measureAtRate(maintainNext, { perSecond, seconds });
    // The warm-up comes first, and takes half as long.
    const counted = took.slice(took.length / 3);
    const at = (rank: number, read: (one: Took) => number) => round(percentile(counted.map(read), rank));
    return {
      refusal_nodes: nodeCount,
      refusal_changes: counted.length,
      refusal_changes_per_s: perSecond,
      refusal_bare_explain_p50_ms: explain.p50Ms,
      refusal_bare_explain_p99_ms: explain.p99Ms,
      refusal_first_p50_ms: at(50, ({ firstMs }) => firstMs),
      refusal_first_p99_ms: at(99, ({ firstMs }) => firstMs),
      refusal_by_all_p50_ms: at(50, ({ byAllMs }) => byAllMs),
      refusal_by_all_p99_ms: at(99, ({ byAllMs }) => byAllMs),
    };
  } finally {
    await bus.close();
    await servers.stop();
  }
}

interface Took {
  readonly firstMs: number;
  readonly byAllMs: number;
}

async function refusalOf(client: Client, host: string, passes: (host: string) => Promise<boolean>): Promise<Took> {
  const watched = watchRefusals(host, passes);
  const { updatedAtMs } = await client.operateNode(host, { verb: 'maintain', reason: 'a new disk' });
  const { firstAtMs, byAllAtMs } = await watched;
  return { firstMs: firstAtMs - updatedAtMs, byAllMs: byAllAtMs - updatedAtMs };
}

/** Waits until as many consecutive answers refuse the node as there are schedulers: they take turns. */
async function watchRefusals(host: string, passes: (host: string) => Promise<boolean>) {
  const untilMs = clock.elapsed() + GIVEN_UP_AFTER_MS;
  let firstAtMs = 0;
  let byAllAtMs = 0;
  for (let inARow = 0; inARow < 2 * SCHEDULERS; ) {
    if (clock.elapsed() > untilMs) throw new Error(`${host} is in maintenance, and schedulers let it pass`);
    if (await passes(host)) {
      inARow = 0;
      continue;
    }
    const nowMs = clock.now();
    if (firstAtMs === 0) firstAtMs = nowMs;
    if (inARow === 0) byAllAtMs = nowMs;
    inARow++;
  }
  return { firstAtMs, byAllAtMs };
}
