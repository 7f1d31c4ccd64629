import type { SpecFields } from '#libs/client/client';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { SCENARIO_SETTINGS } from '../../../services/cli/demo/scenarios/stage';
import { type EmbeddedFleet, startEmbedded } from '../../../services/cli/embedded/fleet';
import { type Operation, type Outcome, rehearse, summarize } from '../../../services/rehearsal/main';
import { perform } from '../../../services/rehearsal/operations/perform';
import type { Bench, BenchContext, Results } from '../harness';

const clock = systemClock();
const SPEC: SpecFields = { projectId: 'project-1', userId: 'u', resources: { VCPU: 1 } };
const LATENCY_MS = 800;
const LIMIT = { timeoutMs: 60_000 };
const [DRAINED, OTHER] = ['host-1', 'host-2'];
const EMPTY = { kind: 'empty', hosts: [DRAINED] } as const;

/** Ten operations, each on a fleet of its own. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  drain: { kind: 'drain', hosts: [DRAINED], parallel: 1, ...LIMIT },
  drain_parallel: { kind: 'drain', hosts: [DRAINED], parallel: 4, ...LIMIT },
  drain_two: { kind: 'drain', hosts: [DRAINED, OTHER], parallel: 4, ...LIMIT },
  lose: { kind: 'lose', hosts: [DRAINED], evacuation: { parallel: 4, ...LIMIT } },
  lose_two: { kind: 'lose', hosts: [DRAINED, OTHER], evacuation: { parallel: 10, ...LIMIT } },
  delete: { kind: 'delete', hosts: [DRAINED], parallel: 4, ...LIMIT },
  upgrade: { kind: 'upgrade', hosts: [DRAINED, OTHER], parallel: 4, stoppedMs: 2_000, ...LIMIT },
  rebalance: { kind: 'rebalance', goal: EMPTY, parallel: 4, ...LIMIT },
  build: { kind: 'build', request: { spec: SPEC, count: 20, name: 'more' }, ...LIMIT },
  gang: { kind: 'build', request: { spec: SPEC, count: 12, minCount: 8, name: 'gang' }, ...LIMIT },
};

/** Operations as they were rehearsed against what then happened on the fleet in this process: time, moves and refusals. */
export const rehearseBench: Bench = {
  name: 'rehearse',
  purpose: 'ten operations, rehearsed and then done on a fleet in this process: seconds, moves and refusals of both',
  flags: { hosts: '8', instances: '60', seeds: '20' },
  async run(context: BenchContext): Promise<Results> {
    const rows: Record<string, string> = {};
    const ratios: number[] = [];
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      const { predicted, real } = await compare(operation, context.flags);
      ratios.push(predicted.seconds.median / real.seconds);
      const { seconds, moved, refused, built } = predicted;
      rows[name] =
        `${range(seconds.least, seconds.most)} s (median ${seconds.median}) rehearsed, ${real.seconds.toFixed(1)} s real; ` +
        `moved ${range(moved.least, moved.most)} and ${real.moved}; built ${range(built.least, built.most)} and ${real.built}; ` +
        `refused ${range(refused.least, refused.most)} and ${real.refused}`;
      context.note(`${name}: ${rows[name]}`);
    }
    const sorted = ratios.toSorted((a, b) => a - b);
    const percent = (ratio: number) => Number(((ratio - 1) * 100).toFixed(0));
    return {
      ...rows,
      median_to_real_least_percent: percent(sorted[0] ?? 0),
      median_to_real_middle_percent: percent(sorted[Math.floor(sorted.length / 2)] ?? 0),
      median_to_real_most_percent: percent(sorted.at(-1) ?? 0),
    };
  },
};

async function compare(operation: Operation, flags: BenchContext['flags']) {
  const [hosts, instances, seedCount] = (['hosts', 'instances', 'seeds'] as const).map((name) =>
    Number(flags[name] ?? rehearseBench.flags[name]),
  ) as [number, number, number];
  const context = { env: SCENARIO_SETTINGS, clock, random: systemRandom, interrupted: new AbortController().signal };
  const size = { schedulers: 1, conductors: 2, hosts, shape: { VCPU: 16 }, hasOwnAgents: true };
  const fleet = await startEmbedded(context, { ...size, failureRate: 0, latencyMs: LATENCY_MS });
  try {
    await fleet.client.buildAndWait({ spec: SPEC, count: instances }, LIMIT);
    const work = {
      snapshot: await fleet.snapshot(),
      fork: { settings: SCENARIO_SETTINGS },
      options: { operation, kills: [], limitMs: 3_600_000 },
    };
    const outcomes: Outcome[] = [];
    const seeds = Array.from({ length: seedCount }, (_, n) => n + 1);
    for await (const outcome of rehearse(work, seeds, 1)) outcomes.push(outcome);
    return { predicted: summarize(outcomes).metrics, real: await really(fleet, operation) };
  } finally {
    await fleet.close();
  }
}

async function really(fleet: EmbeddedFleet, operation: Operation) {
  const { client, machines } = fleet;
  const before = new Map((await client.instances()).map(({ uuid, host }) => [uuid, host]));
  let refused = 0;
  const startedMs = clock.elapsed();
  for (const host of operation.kind === 'lose' ? operation.hosts : []) await machines.get(host)?.kill();
  const performer = {
    client,
    clock,
    signal: new AbortController().signal,
    onRefused: () => refused++,
    switchOff: (host: string) => void machines.get(host)?.kill(),
    stop(host: string, forMs: number) {
      void machines.get(host)?.kill();
      clock.after(forMs, () => void machines.get(host)?.revive());
    },
    breakServer() {},
  };
  await perform(performer, operation);
  const seconds = (clock.elapsed() - startedMs) / 1_000;
  const after = await client.instances();
  const moved = after.filter(({ uuid, host }) => before.has(uuid) && host !== '' && before.get(uuid) !== host).length;
  const built = after.filter(({ uuid, state }) => !before.has(uuid) && state === 'active').length;
  return { seconds, moved, built, refused };
}

function range(least: number, most: number): string {
  return least === most ? String(least) : `${least} to ${most}`;
}
