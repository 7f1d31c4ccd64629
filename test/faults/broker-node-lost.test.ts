import { systemClock } from '#libs/runtime/system';
import { printFigure } from './fleet/figures';
import { CONDUCTORS, SCHEDULERS, TestFleet } from './fleet/test-fleet';

/* Three brokers are one cluster, and the one that an agent, a scheduler and a conductor are connected to is lost in the middle of builds. */

const BUILDS = 20;

const clock = systemClock();
let fleet: TestFleet;
afterEach(() => fleet?.stop());

const settings = { BERTH_AGENT_FAKE_FAILURE_RATE: '0' };

/** Kills the broker of an agent, a scheduler and a conductor amid builds, and has all connect to another. */
async function loseBroker(): Promise<string[]> {
  const uuids = await fleet.request(BUILDS);
  await fleet.atRest(uuids, BUILDS / 4);
  const [, lost, other] = fleet.brokers;
  await lost?.kill('SIGKILL');
  // As a balancer does.
  for (const name of [...SCHEDULERS, ...CONDUCTORS, 'agent-a', 'agent-b']) {
    fleet.proxies?.of(name, 'broker').pointTo(other?.port ?? 0);
    fleet.proxies?.of(name, 'broker').drop();
  }
  return uuids;
}

it('builds on when one broker of a cluster is lost, and loses nothing', async () => {
  fleet = await TestFleet.start(settings, { hasProxies: true, brokerCount: 3 });
  const uuids = await loseBroker();
  const lostAtMs = clock.elapsed();
  const meanwhile = await fleet.request(BUILDS / 2);
  expect(await fleet.problems([...uuids, ...meanwhile])).toEqual([]);
  printFigure('A broker of three is lost', { right: clock.elapsed() - lostAtMs });

  const backAtMs = clock.elapsed();
  await fleet.brokers[1]?.restart();
  expect(await fleet.problems([...uuids, ...meanwhile])).toEqual([]);
  printFigure('A broker of three is back', { right: clock.elapsed() - backAtMs });
});

it('loses nothing when the queues of calls and orders were on the lost broker alone, and goes on when it is back', async () => {
  fleet = await TestFleet.start(settings, { hasProxies: true, brokerCount: 3, isReplicated: false });
  const uuids = await loseBroker();
  const meanwhile = await fleet.request(BUILDS / 2);
  await fleet.brokers[1]?.restart();
  const backAtMs = clock.elapsed();
  expect(await fleet.problems([...uuids, ...meanwhile])).toEqual([]);
  printFigure('A broker of three is back, without BERTH_BROKER_CLUSTER', { right: clock.elapsed() - backAtMs });
});
