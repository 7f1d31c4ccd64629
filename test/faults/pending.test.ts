import { CONDUCTORS, TestFleet } from './fleet/test-fleet';

/* Requests that wait for capacity, and take it from others, on real servers, with the rights that are deployed. */

const PLACES = 20;
const WAITS = { waitForCapacityMs: 150_000, isRequeued: true };

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await TestFleet.start({
    BERTH_AGENT_INVENTORY: `VCPU=${PLACES / 10},MEMORY_MB=65536,DISK_GB=1000`,
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
    BERTH_CONDUCTOR_MAX_PRIORITY: '100',
  });
});
afterAll(() => fleet.stop());

const recordsOf = (uuids: readonly string[]) => fleet.instances.get(uuids);

async function countOf(uuids: readonly string[], state: string): Promise<number> {
  return (await recordsOf(uuids)).filter((record) => record.state === state).length;
}

function until(uuids: readonly string[], count: number, state: string): Promise<void> {
  return fleet.eventually(`${count} are ${state}`, async () => (await countOf(uuids, state)) === count);
}

let running: string[];
let waiting: string[];

it('waits through the death of all conductors, and is built when something ends', async () => {
  running = await fleet.request(PLACES, 1, WAITS);
  await until(running, PLACES, 'active');
  waiting = await fleet.request(3, 1, WAITS);
  await until(waiting, 3, 'pending');
  for (const name of CONDUCTORS) await fleet.kill(name);
  await fleet.terminate(running.splice(0, 2));
  for (const name of CONDUCTORS) fleet.launch(name);
  await until(waiting, 2, 'active');
  expect(await countOf(waiting, 'pending')).toBe(1);
});

it('takes the place of one of a lower priority, which waits again, though the keeper of the queue dies meanwhile', async () => {
  const [urgent = ''] = await fleet.request(1, 1, { ...WAITS, priority: 50, mayPreempt: true });
  await fleet.eventually('it is on record', async () => (await recordsOf([urgent])).length === 1);
  await fleet.kill('conductor-1');
  await until([urgent], 1, 'active');
  fleet.launch('conductor-1');
  const others = await recordsOf([...running, ...waiting]);
  const preempted = others.filter(({ attempts }) => attempts.at(-1)?.outcome === 'preempted');
  expect(preempted.map(({ state, attempts }) => [state, attempts.at(-1)?.reason])).toEqual([
    ['pending', `preempted by ${urgent}, of priority 50`],
  ]);
  await fleet.terminate([urgent]);
  await until([...running, ...waiting], PLACES, 'active');
});

it('ends by its time limit', async () => {
  await fleet.terminate(running.splice(0, 2));
  await until(waiting, 3, 'active');
  const limited = await fleet.request(1, 1, { ...WAITS, timeLimitMs: 1_500 });
  await until(limited, 1, 'deleted');
  expect((await recordsOf(limited))[0]?.fault?.reason).toBe('time_limit');
});
