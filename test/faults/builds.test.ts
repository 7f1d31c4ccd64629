import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BUILD_RESULTS } from '#libs/contracts/queues';
import { systemClock } from '#libs/runtime/system';
import { printFigure } from './fleet/figures';
import { TestFleet } from './fleet/test-fleet';

/* Processes and servers are killed in the middle of builds and terminations, and restarted. */

const BUILDS = 150;

const clock = systemClock();
let fleet: TestFleet;
let last: readonly string[] = [];
beforeAll(async () => {
  fleet = await TestFleet.start({}, { rabbitmq: {} });
});
afterAll(() => fleet?.stop());

/** Requests builds, and terminates those of the test before; resolves in the middle of it. */
async function begin(copies = 1): Promise<string[]> {
  const terminating = fleet.terminate(last);
  const uuids = await fleet.request(BUILDS, copies);
  last = uuids;
  await terminating;
  await fleet.atRest(uuids, BUILDS / 4);
  return uuids;
}

/** Problems left once the fleet has settled; prints the time that this took. */
async function problemsAfter(fault: string, uuids: readonly string[]): Promise<string[]> {
  const overAtMs = clock.elapsed();
  const problems = await fleet.problems(uuids);
  printFigure(fault, { right: clock.elapsed() - overAtMs });
  return problems;
}

it.each(['scheduler-1', 'conductor-1', 'agent-a'])(
  'comes to the same end when %s is killed and started again',
  async (name) => {
    const uuids = await begin();
    await fleet.kill(name);
    fleet.launch(name);
    expect(await problemsAfter(`${name} is killed`, uuids)).toEqual([]);
  },
);

it('moves the builds in flight of a dead agent to other hosts, and has what it built late destroyed', async () => {
  const uuids = await begin();
  await fleet.kill('agent-a');
  await fleet.atRest(uuids);
  fleet.launch('agent-a');
  expect(await problemsAfter('an agent is away for longer than builds may take', uuids)).toEqual([]);
  const instances = await fleet.instances.get(uuids);
  const hasTimedOut = instances.filter(({ attempts }) => attempts.some(({ outcome }) => outcome === 'timed_out'));
  expect(hasTimedOut.length).toBeGreaterThan(0);
});

it('loses no build when RabbitMQ is killed and comes back', async () => {
  const uuids = await begin();
  await fleet.rabbitmq.kill('SIGKILL');
  await fleet.rabbitmq.restart();
  expect(await problemsAfter('RabbitMQ is killed', uuids)).toEqual([]);
});

it('loses no build and no claim when Redis is killed and comes back', async () => {
  const uuids = await begin();
  await fleet.redis.kill('SIGKILL');
  await fleet.redis.restart();
  expect(await problemsAfter('Redis is killed', uuids)).toEqual([]);
});

it('builds each request once when every one is published three times in a random order', async () => {
  expect(await fleet.problems(await begin(3))).toEqual([]);
});

it('comes to the same end when what hosts report arrives twice and in a random order', async () => {
  const uuids = await begin();
  await Promise.all([fleet.kill('conductor-1'), fleet.kill('conductor-2')]);
  // Messages of the dead conductors are in the queue again, and hosts go on with their orders.
  await fleet.eventually('reports wait', async () => (await fleet.bus.depth(BUILD_RESULTS.name)) > 5);
  expect(await fleet.shuffle(BUILD_RESULTS.name, 2)).toBeGreaterThan(5);
  for (const name of ['conductor-1', 'conductor-2']) fleet.launch(name);
  expect(await problemsAfter('all conductors are killed', uuids)).toEqual([]);
});

it('shows what ran on a machine that is gone, first as unknown, then, when its agent comes back without it, as lost', async () => {
  const uuids = await begin();
  expect(await fleet.problems(uuids)).toEqual([]);
  const isGone = (host: string) => host.startsWith('agent-b');
  const gone = fleet.runs().flatMap((one) => (isGone(one.split(' ')[1] ?? '') ? [one.split(' ')[0] ?? ''] : []));
  const allAre = (what: string) =>
    fleet.eventually(`they are ${what}`, async () => {
      const states = (await fleet.instances.get(gone)).map(({ state, fault }) => `${state} ${fault?.reason ?? ''}`);
      return states.every((state) => state.startsWith(what)) || states;
    });
  const lostAtMs = clock.elapsed();
  await fleet.kill('agent-b');
  for (const host of readdirSync(fleet.stateDir).filter(isGone))
    rmSync(join(fleet.stateDir, host), { recursive: true });
  await allAre('unknown');
  const unknownMs = clock.elapsed() - lostAtMs;
  const backAtMs = clock.elapsed();
  fleet.launch('agent-b');
  await allAre('error instance_lost');
  printFigure("an agent's machine is lost", { unknown: unknownMs, lost: clock.elapsed() - backAtMs });
  fleet.forget(gone);
  expect(await fleet.problems(uuids)).toEqual([]);
});
