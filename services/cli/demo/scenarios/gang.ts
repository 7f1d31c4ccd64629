import type { InstanceEvent } from '#libs/contracts/instance';
import { countBy } from '../../views/format';
import { requestFor } from '../workload';
import type { Scenario, Stage } from './stage';

const WHOLE_HOST = { VCPU: 16, MEMORY_MB: 16_384 };

/** A leader and three workers that must run together in one rack, which has a host that can't build. */
export const gang: Scenario = {
  name: 'gang',
  purpose:
    'a gang in one rack: a leader and workers run together, and when one can not be built, the others are undone',
  fleet: { hosts: 6, shape: { VCPU: 16, MEMORY_MB: 32_768 }, settings: { BERTH_SCHEDULER_QUARANTINE_FAILURES: '0' } },

  async play(stage) {
    const hosts = [...stage.fleet.drivers.keys()];
    const [small, large] = [hosts.slice(0, 2), hosts.slice(2)];
    await putIntoRack(stage, 'r1', small);
    await putIntoRack(stage, 'r2', large);
    stage.tell(`rack r1 has ${small.length} hosts, rack r2 has ${large.length}`);
    const broken = large.at(-1) ?? '';
    stage.fleet.drivers.get(broken)?.setFailureRate(1);
    stage.tell(`every build on ${broken} fails, and nobody knows`);

    stage.tell('a leader and three workers are asked for, each as large as a host, all in one rack');
    await build(stage, 3);
    await stage.until('the one that failed says why, the others that their gang has failed', async () => {
      const faults = (await stage.instances()).map(({ fault }) => fault?.reason);
      const undone = faults.filter((fault) => fault === 'gang_failed').length;
      return undone === 3 && faults.includes('hosts_exhausted');
    });
    const [told] = (await stage.instances()).filter(({ fault }) => fault?.reason === 'gang_failed');
    stage.tell(stage.context.terminal.colours.dim(told?.fault?.message ?? ''));
    await stage.until('what was built of the others is destroyed, and holds nothing', async () => {
      const fleet = await stage.fleet.client.hosts();
      return (await runningOn(stage)).length === 0 && fleet.every(({ resources }) => resources['VCPU']?.used === 0);
    });
    await stage.show('none of the gang stays');

    stage.fleet.drivers.get(broken)?.setFailureRate(0);
    stage.tell(`${broken} is repaired, and the same is asked for again`);
    await build(stage, 3);
    await stage.until('the leader and its workers run, and all of them in rack r2', async () => {
      return (await runningOn(stage)).toSorted().join() === large.toSorted().join();
    });
    stage.tell('another gang of this size is asked for');
    const [refused] = await build(stage, 3);
    stage.tell(stage.context.terminal.colours.dim(refused?.fault?.message ?? ''));
    stage.check('it says which rack lacks how much', /no rack has room .* lacks/.test(refused?.fault?.message ?? ''));
  },
};

async function putIntoRack({ fleet }: Stage, rack: string, hosts: readonly string[]): Promise<void> {
  await fleet.client.aggregates.create(rack, { rack });
  for (const host of hosts) await fleet.client.aggregates.addHost(rack, host);
}

async function build(stage: Stage, workers: number): Promise<readonly InstanceEvent[]> {
  const leader = requestFor('leader', WHOLE_HOST, 'demo');
  const { spec } = requestFor('worker', { VCPU: 16, MEMORY_MB: 8_192 }, 'demo');
  const furtherMembers = [{ spec, count: workers, name: 'worker' }];
  const request = { ...leader, furtherMembers, within: { levels: ['rack'], required: 1 } };
  const events = await stage.fleet.client.buildAndWait(request, { timeoutMs: 20_000 });
  const counts = countBy(events, ({ state }) => state.toUpperCase()).map(([state, count]) => `${count} ${state}`);
  stage.tell(`they end: ${counts.join(', ')}`);
  return events;
}

/** The host of each instance that runs. */
async function runningOn({ fleet }: Stage): Promise<readonly string[]> {
  const running = [...fleet.drivers].map(async ([host, driver]) => (await driver.list()).map(() => host));
  return (await Promise.all(running)).flat();
}
