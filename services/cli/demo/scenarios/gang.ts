import { countBy } from '../../views/format';
import { requestFor } from '../workload';
import type { Scenario, Stage } from './stage';

const WHOLE_HOST = { VCPU: 16, MEMORY_MB: 16_384 };

/** Four workers that must run together, on four hosts, one of which can't build. */
export const gang: Scenario = {
  name: 'gang',
  purpose: 'a gang, workers that must run together: when one can not be built, the others are undone',
  fleet: { hosts: 4, shape: { VCPU: 16, MEMORY_MB: 32_768 }, settings: { BERTH_SCHEDULER_QUARANTINE_FAILURES: '0' } },

  async play(stage) {
    const [host, broken] = [...stage.fleet.drivers].at(-1) ?? [];
    broken?.setFailureRate(1);
    stage.tell(`every build on ${host} fails, and nobody knows`);

    stage.tell('a gang of four is asked for, each as large as a host, and four must become ACTIVE');
    await build(stage, 4);
    await stage.until('the one that failed says why, the others that their gang has failed', async () => {
      const faults = (await stage.instances()).map(({ fault }) => fault?.reason);
      const undone = faults.filter((fault) => fault === 'gang_failed').length;
      return undone === 3 && faults.includes('hosts_exhausted');
    });
    const [told] = (await stage.instances()).filter(({ fault }) => fault?.reason === 'gang_failed');
    stage.tell(stage.context.terminal.colours.dim(told?.fault?.message ?? ''));
    await stage.until('what was built of the others is destroyed, and holds nothing', async () => {
      const hosts = await stage.fleet.client.hosts();
      return (await runningCount(stage)) === 0 && hosts.every(({ resources }) => resources['VCPU']?.used === 0);
    });
    await stage.show('none of the gang stays');

    stage.tell('the same is asked for again, and three are enough');
    await build(stage, 3);
    await stage.until('three run, and stay', async () => (await runningCount(stage)) === 3);
  },
};

async function build(stage: Stage, minCount: number): Promise<void> {
  const request = { ...requestFor('worker', WHOLE_HOST, 'demo'), count: 4, minCount };
  const events = await stage.fleet.client.buildAndWait(request, { timeoutMs: 20_000 });
  const counts = countBy(events, ({ state }) => state.toUpperCase()).map(([state, count]) => `${count} ${state}`);
  stage.tell(`they end: ${counts.join(', ')}`);
}

async function runningCount({ fleet }: Stage): Promise<number> {
  const running = await Promise.all([...fleet.drivers.values()].map((driver) => driver.list()));
  return running.flat().length;
}
