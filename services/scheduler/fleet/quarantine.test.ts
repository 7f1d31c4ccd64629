import { aFailure } from '#libs/testing/placement/placement';
import { aWorld, hostsOf, type TestScheduler, type World } from '../testing/world';

const SETTINGS = { quarantineFailures: 3, quarantinePauseMs: 60_000, quarantineMaxPauseMs: 200_000 };

let world: World;
let scheduler: TestScheduler;
beforeEach(async () => {
  world = aWorld();
  await world.report('bad');
  scheduler = await world.scheduler(SETTINGS);
});
afterEach(() => world.close());

/** Builds that fail on the host, one after the other. */
async function fail(times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    await world.clock.advance(10);
    await world.placement.commit(aFailure({ host: 'bad', atMs: world.clock.now(), reason: 'timed_out: no answer' }));
  }
  await world.clock.advance(10);
}

const select = (count = 1) => scheduler.select({ resources: { VCPU: 1 } }, count);
const reasons = async () =>
  (await select()).response.noValidHost?.filters.flatMap(({ reasons: of }) => Object.keys(of));

it('leaves out a host on which builds fail one after the other, and says why', async () => {
  await fail(2);
  expect(hostsOf(await select())).toEqual(['bad']);
  await fail(1);
  expect(await reasons()).toEqual(['host_quarantined']);
  const [host] = scheduler.explain({}, 'bad').hosts;
  expect(host?.refusals).toEqual([
    expect.stringMatching(/compute: in quarantine, .*: 3 failures in a row, the last: timed_out: no answer/),
  ]);
});

it('gives it one build after the pause, as a probe, and no other while that is under way', async () => {
  await fail(3);
  await world.clock.advance(60_000);
  expect((await select(2)).response.destinations).toEqual([]);
  expect(hostsOf(await select())).toEqual(['bad']);
  expect(await reasons()).toEqual(['host_quarantined']);
});

it('doubles the pause with each probe that fails, up to the longest', async () => {
  await fail(4);
  await world.clock.advance(119_000);
  expect(await reasons()).toEqual(['host_quarantined']);
  await world.clock.advance(1_000);
  expect(hostsOf(await select())).toEqual(['bad']);
  await fail(10);
  await world.clock.advance(199_000);
  expect(await reasons()).toEqual(['host_quarantined']);
  await world.clock.advance(1_000);
  expect(hostsOf(await select())).toEqual(['bad']);
});

it('trusts it again when its failures are cleared', async () => {
  await fail(5);
  await world.placement.commit({ kind: 'clear_failures', host: 'bad', atMs: world.clock.now() });
  await world.clock.advance(10);
  expect(hostsOf(await select(2))).toEqual(['bad', 'bad']);
});

it('is never in quarantine where operators do not want it', async () => {
  await scheduler.close();
  scheduler = await world.scheduler({ ...SETTINGS, quarantineFailures: 0 });
  await fail(20);
  expect(hostsOf(await select())).toEqual(['bad']);
});
