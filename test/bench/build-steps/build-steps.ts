import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { castTyped } from '#libs/bus/typed-calls';
import { Client } from '#libs/client/client';
import { buildRequestCodec } from '#libs/contracts/conductor';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { requestSpec } from '#libs/domain/request-spec';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { endAllBerth, startBerth } from '../berth-process';
import { type Bench, type Results, round } from '../harness';
import { type Counts, countMessages } from './count-messages';
import { countStoreCommands } from './count-store-commands';

const SPEC = requestSpecCodec.encode(
  requestSpec({ VCPU: 1, MEMORY_MB: 16, DISK_GB: 1 }, { projectId: 'bench', userId: 'bench' }),
);
const HOSTS = 4;
const TIMEOUT_MS = 30_000;
const SETTLE_MS = 3_000;

/**
 * All that a build costs Redis and the broker, from its request to ACTIVE and the reports that follow: builds one after
 * the other, beside the same time at rest. The broker's firehose and Redis' MONITOR count, so that nothing is missed.
 */
export const buildStepsBench: Bench = {
  name: 'build-steps',
  purpose: 'commands of Redis and messages of the broker that one build takes',
  flags: { builds: '40, one after the other' },
  async run({ flags, ...context }) {
    const [rabbitmq, redis] = await Promise.all([startRabbitmq(), startRedis({ appendOnly: true })]);
    const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
    const bus = await openBus({ ...readConfig(busOptions, {}), busUrl: rabbitmq.url }, around);
    const [messages, commands] = [await countMessages(rabbitmq), await countStoreCommands(redis.url)];
    try {
      startAll({ BERTH_BUS_URL: rabbitmq.url, BERTH_STORE_URL: redis.url });
      const client = new Client(bus, { ...around, timeoutMs: TIMEOUT_MS, retryForMs: 0 });
      while (((await client.hosts().catch(() => [])) ?? []).length < HOSTS) await sleep(200);
      const active = new Map<string, () => void>();
      const listening = await bus.subscribe('instance.active.#', (topic) => {
        active.get(topic.slice(topic.lastIndexOf('.') + 1))?.();
      });
      const build = async () => {
        const uuid = randomUUID();
        const isActive = new Promise<void>((resolve) => active.set(uuid, resolve));
        const request = { requestId: uuid, requestSpec: SPEC, count: 1, name: '', instanceUuids: [uuid] };
        await castTyped({ bus, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: uuid });
        await isActive;
      };
      context.note('the first builds, until all queues are there');
      for (let n = 0; n < 5; n++) await build();
      await sleep(SETTLE_MS);
      const builds = Number(flags['builds'] ?? 40);
      const counters = [messages, commands];
      for (const counter of counters) counter.take();
      const startedMs = performance.now();
      for (let n = 0; n < builds; n++) await build();
      await sleep(SETTLE_MS);
      const elapsedMs = performance.now() - startedMs;
      const used = counters.map((counter) => counter.take());
      context.note('the same time at rest');
      await sleep(elapsedMs);
      const atRest = counters.map((counter) => counter.take());
      await listening.cancel();
      const [sent = [], run = []] = used.map((counts, n) => ofOneBuild(counts, atRest[n] as Counts, builds));
      return Object.fromEntries([...named('message', sent), ...named('store_command', run)]);
    } finally {
      await endAllBerth();
      await Promise.allSettled([messages.close(), commands.close(), bus.close()]);
      await Promise.all([rabbitmq.stop(), redis.stop()]);
    }
  },
};

function startAll(addresses: Readonly<Record<string, string>>): void {
  startBerth('scheduler', addresses);
  startBerth('conductor', addresses);
  startBerth('compute-agent', {
    ...addresses,
    BERTH_AGENT_HOST: 'rack',
    BERTH_AGENT_HOSTS: String(HOSTS),
    BERTH_AGENT_INVENTORY: 'VCPU=100000,MEMORY_MB=10000000,DISK_GB=1000000',
    BERTH_AGENT_FAKE_LATENCY_MS: '0',
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
  });
}

/** Counts for one build, beyond rest, in the order of their size; what a build needs less than once in ten is left out. */
function ofOneBuild(counts: Counts, atRest: Counts, builds: number): [name: string, count: number][] {
  return [...counts]
    .map(([name, count]): [string, number] => [name, (count - (atRest.get(name) ?? 0)) / builds])
    .filter(([, count]) => count > 0.1)
    .sort(([, a], [, b]) => b - a);
}

function named(kind: string, counts: readonly (readonly [string, number])[]): [string, Results[string]][] {
  const sum = counts.reduce((all, [, count]) => all + count, 0);
  return [
    [`${kind}s_of_a_build`, round(sum)],
    ...counts.map(([name, count]): [string, number] => [`${kind} ${name}`, round(count)]),
  ];
}
