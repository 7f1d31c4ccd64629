import { drainHost } from '#libs/client/drain/drain-host';
import { type Operation, type Outcome, rehearse as rehearseAll, summarize } from '../../../rehearsal/main';
import { bar } from '../../views/table';
import { SCENARIO_SETTINGS, type Scenario, type Stage } from './stage';

/** A drain is rehearsed, and then done; the death of a host is only rehearsed: what would find no other. */
export const rehearse: Scenario = {
  name: 'rehearse',
  purpose:
    'what a drain would do is told before it is done, and is what then happens; so is what a dead host would leave',
  fleet: { hosts: 4, shape: { VCPU: 8, MEMORY_MB: 16_384 } },

  async play(stage) {
    const { client } = stage.fleet;
    const group = { id: 'quorum', policy: 'anti-affinity', maxPerHost: 1 } as const;
    const members = await stage.build(3, { VCPU: 2, MEMORY_MB: 2_048 }, { group });
    await stage.build(7, { VCPU: 2, MEMORY_MB: 2_048 });
    const { host } = await client.instance(members[0] ?? '');
    const there = (await client.instances({ host })).length;
    await stage.show('before');

    stage.tell(`berth rehearse drain ${host} --parallel 1`);
    const drained = await rehearseOn(stage, { kind: 'drain', hosts: [host], parallel: 1, timeoutMs: LIMIT_MS });
    const { seconds, moved, refused } = drained.metrics;
    stage.tell(
      `${SEEDS} times: ${moved.median} move, ${refused.most} refused, in ${seconds.least} to ${seconds.most} s`,
    );
    stage.check('nothing of the fleet has changed', (await client.instances({ host })).length === there);

    stage.tell(`berth host drain ${host} --parallel 1`);
    const { clock, interrupted: signal } = stage.context;
    const startedMs = clock.elapsed();
    const parts = { client, clock, signal, onProgress: () => {} };
    const real = await drainHost(parts, { host, reason: 'drained', parallel: 1, timeoutMs: LIMIT_MS });
    const left = real.filter(({ stays }) => stays === undefined).length;
    stage.tell(`${left} have moved, in ${((clock.elapsed() - startedMs) / 1_000).toFixed(1)} s`);
    stage.check('so many move as was told', left === moved.least && left === moved.most);

    const [dying = ''] = (await client.hosts()).map((one) => one.host).filter((name) => name !== host);
    stage.tell(`berth rehearse lose ${dying} --evacuate`);
    const evacuation = { parallel: 10, timeoutMs: LIMIT_MS };
    const lost = await rehearseOn(stage, { kind: 'lose', hosts: [dying], evacuation });
    const { median: without } = lost.metrics.refused;
    stage.tell(`${lost.metrics.moved.median} would be built on the others, ${without} would find none`);
    for (const { name, why } of lost.refused.slice(0, 2)) stage.tell(`${name}: ${why}`);
    stage.check('some would find no host', without > 0);
    const isAsItWas = (await client.instances({ state: 'active' })).length === 10;
    stage.check('all run, as before: it was rehearsed only', isAsItWas);
    stage.tell(`the others would be this full: ${useOf(stage, lost.after)}`);
  },
};

const SEEDS = 10;
const LIMIT_MS = 20_000;

async function rehearseOn({ fleet }: Stage, operation: Operation) {
  const snapshot = await fleet.snapshot();
  const options = { operation, kills: [], limitMs: 3_600_000 };
  const outcomes: Outcome[] = [];
  const seeds = Array.from({ length: SEEDS }, (_, n) => n + 1);
  for await (const outcome of rehearseAll({ snapshot, fork: { settings: SCENARIO_SETTINGS }, options }, seeds, 1)) {
    outcomes.push(outcome);
  }
  return summarize(outcomes);
}

function useOf({ context: { terminal } }: Stage, { used, capacity }: ReturnType<typeof summarize>['after']): string {
  return bar(terminal, used['VCPU'] ?? 0, capacity['VCPU'] ?? 0, 16);
}
