import { BUILD_RESULTS } from '#libs/contracts/queues';
import { TestFleet } from './fleet';

const BUILDS = 300;
jest.setTimeout(180_000);

let fleet: TestFleet;
beforeEach(async () => {
  fleet = await TestFleet.start();
});
afterEach(() => fleet.stop());

it.each(['scheduler-1', 'conductor-1', 'agent-a'])(
  'comes to the same end when %s is killed in the middle of 300 builds and started again',
  async (name) => {
    const uuids = await fleet.request(BUILDS);
    await fleet.atRest(uuids, BUILDS / 4);
    await fleet.kill(name);
    fleet.launch(name);
    expect(await fleet.problems(uuids)).toEqual([]);
  },
);

it('moves the builds in flight of a dead agent to other hosts, and has what it built late destroyed', async () => {
  const uuids = await fleet.request(BUILDS);
  await fleet.atRest(uuids, BUILDS / 4);
  await fleet.kill('agent-a');
  await fleet.atRest(uuids);
  fleet.launch('agent-a');
  expect(await fleet.problems(uuids)).toEqual([]);
  const instances = await fleet.instances.get(uuids);
  const hasTimedOut = instances.filter(({ attempts }) => attempts.some(({ outcome }) => outcome === 'timed_out'));
  expect(hasTimedOut.length).toBeGreaterThan(0);
});

it('loses no build when RabbitMQ is killed and comes back', async () => {
  const uuids = await fleet.request(BUILDS);
  await fleet.atRest(uuids, BUILDS / 4);
  await fleet.rabbitmq.kill('SIGKILL');
  await fleet.rabbitmq.restart();
  expect(await fleet.problems(uuids)).toEqual([]);
});

it('loses no build and no claim when Redis is killed and comes back', async () => {
  const uuids = await fleet.request(BUILDS);
  await fleet.atRest(uuids, BUILDS / 4);
  await fleet.redis.kill('SIGKILL');
  await fleet.redis.restart();
  expect(await fleet.problems(uuids)).toEqual([]);
});

it('builds each request once when every one is published three times in a random order', async () => {
  expect(await fleet.problems(await fleet.request(BUILDS, 3))).toEqual([]);
});

it('comes to the same end when what hosts report arrives twice and in a random order', async () => {
  const uuids = await fleet.request(BUILDS);
  await fleet.atRest(uuids, BUILDS / 4);
  await Promise.all([fleet.kill('conductor-1'), fleet.kill('conductor-2')]);
  // What was with the dead conductors is in the queue again, and hosts go on with what they were told.
  await fleet.eventually('reports wait', async () => (await fleet.bus.depth(BUILD_RESULTS.name)) > 5);
  expect(await fleet.shuffle(BUILD_RESULTS.name, 2)).toBeGreaterThan(5);
  for (const name of ['conductor-1', 'conductor-2']) fleet.launch(name);
  expect(await fleet.problems(uuids)).toEqual([]);
});
