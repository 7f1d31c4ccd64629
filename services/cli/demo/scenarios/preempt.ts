import { requestFor } from '../workload';
import type { Scenario, Stage } from './stage';

const SMALL = { VCPU: 2, MEMORY_MB: 2_048 };
const LARGE = { VCPU: 8, MEMORY_MB: 8_192 };
/** Low priority: they may be preempted, and wait for capacity again. */
const BATCH = { priority: -10, waitForCapacityMs: 600_000, isRequeued: true };
/** High priority, and short. */
const URGENT = { priority: 50, waitForCapacityMs: 600_000, mayPreempt: true, timeLimitMs: 6_000 };

/** A full fleet: requests wait for capacity, an urgent one preempts others, which wait and come back. */
export const preempt: Scenario = {
  name: 'preempt',
  purpose: 'the fleet is full: some wait, an urgent one takes the place of others, and they come back',
  fleet: {
    hosts: 3,
    shape: { VCPU: 16, MEMORY_MB: 32_768 },
    settings: { BERTH_CONDUCTOR_MAX_PRIORITY: '100', BERTH_CONDUCTOR_PENDING_INTERVAL_MS: '200' },
  },

  async play(stage) {
    const { client } = stage.fleet;
    const batch = async (count: number) => {
      for (let n = 0; n < count; n++) await client.build({ ...requestFor('batch', SMALL, 'batch'), admission: BATCH });
    };
    await batch(24);
    await stage.until('24 instances of a batch, of priority -10, fill three hosts', async () => {
      return (await countOf(stage, 'active')) === 24;
    });
    await batch(2);
    await stage.until('2 more wait for room, PENDING', async () => (await countOf(stage, 'pending')) === 2);
    for (const { name, waiting } of await stage.instances()) {
      if (waiting) stage.tell(`  ${name}: place ${waiting.place}, waits for ${waiting.waitsFor.join(', ')}`);
    }
    await stage.show('full');

    const { spec } = requestFor('urgent', LARGE, 'urgent');
    const { preemption } = await client.explain(spec, { priority: URGENT.priority, mayPreempt: true });
    const { host = 'nowhere', victims = [] } = preemption ?? {};
    stage.tell(
      `an urgent one of 8 VCPU, of priority 50: explain says that ${victims.length} would make room on ${host}`,
    );
    const { instanceUuids } = await client.build({ ...requestFor('urgent', LARGE, 'urgent'), admission: URGENT });
    const urgent = async () => (await stage.instances()).find(({ uuid }) => instanceUuids.includes(uuid))?.state;
    await stage.until('it is ACTIVE where they were, once they had released what they held', async () => {
      return (await urgent()) === 'active';
    });
    const preempted = (await stage.instances()).filter(({ attempts }) => attempts.at(-1)?.outcome === 'preempted');
    stage.tell(`${preempted.length} wait again; the first says: ${preempted[0]?.attempts.at(-1)?.reason}`);
    await stage.show('urgent first');

    await stage.until('its time limit ends it', async () => (await urgent()) === 'deleted');
    await stage.until('all of the batch that fit are back, and 2 wait as before', async () => {
      return (await countOf(stage, 'active')) === 24 && (await countOf(stage, 'pending')) === 2;
    });
  },
};

async function countOf(stage: Stage, state: 'active' | 'pending'): Promise<number> {
  return (await stage.instances()).filter((instance) => instance.state === state).length;
}
