import { aFailure } from '#libs/testing/placement/placement';
import { aWorld, hostsOf, type TestScheduler, type World } from '../testing/world';

const SETTINGS = {
  quarantineFailures: 3,
  quarantineProjects: 2,
  quarantineMaxPercent: 25,
  quarantinePauseMs: 60_000,
  quarantineMaxPauseMs: 200_000,
};

let world: World;
let scheduler: TestScheduler;
beforeEach(async () => {
  world = aWorld();
  await world.report('bad');
  scheduler = await world.scheduler(SETTINGS);
});
afterEach(() => world.close());

/** Reports of the host that are refused, one after the other; or builds of a project that fail there. */
async function fail(times: number, projectId?: string, host = 'bad'): Promise<void> {
  for (let n = 0; n < times; n++) {
    await world.clock.advance(10);
    await world.placement.commit(aFailure({ host, atMs: world.clock.now(), halfLifeMs: 600_000, projectId }));
  }
  await world.clock.advance(10);
}

const select = (count = 1) => scheduler.select({ resources: { VCPU: 1 } }, count);
const reasons = async () =>
  (await select()).response.noValidHost?.filters.flatMap(({ reasons: of }) => Object.keys(of));

it('leaves out a host whose reports are refused one after the other, and says why', async () => {
  await fail(2);
  expect(hostsOf(await select())).toEqual(['bad']);
  await fail(1);
  expect(await reasons()).toEqual(['host_quarantined']);
  const [host] = scheduler.explain({}, 'bad').hosts;
  expect(host?.refusals).toEqual([expect.stringMatching(/compute: in quarantine, .*: 3 failures in a row/)]);
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

it('leaves out a host on which builds of several projects fail, and none for those of one', async () => {
  await fail(36, 'project-1');
  expect(hostsOf(await select())).toEqual(['bad']);
  expect(world.placement && (await world.placement.hosts(['bad']))[0]?.failures).toBeLessThanOrEqual(1);
  await fail(1, 'project-2');
  expect(await reasons()).toEqual(['host_quarantined']);
});

it('begins the count of projects anew when a build came to run there', async () => {
  await fail(1, 'project-1');
  await world.placement.commit({ kind: 'clear_failures', host: 'bad', atMs: world.clock.now() });
  await fail(1, 'project-2');
  expect(hostsOf(await select())).toEqual(['bad']);
  await fail(1, 'project-1');
  expect(await reasons()).toEqual(['host_quarantined']);
});

it('leaves out no more than a share of the fleet, those with most failures, whoever works together', async () => {
  const hosts = ['bad', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  for (const host of hosts.slice(1)) await world.report(host);
  for (const host of hosts) for (const project of ['project-1', 'project-2']) await fail(1, project, host);
  await fail(1, 'project-3', 'c');
  await fail(1, 'project-3', 'e');
  const { diagnosis } = scheduler.explain({});
  expect(diagnosis).toMatchObject({ hostsConsidered: 8, hostsPassed: 6 });
  expect(scheduler.explain({}, 'c').hosts[0]?.passed).toBe(false);
  expect(scheduler.explain({}, 'e').hosts[0]?.passed).toBe(false);
  await world.placement.commit({ kind: 'clear_failures', host: 'c', atMs: world.clock.now() });
  await world.clock.advance(10);
  expect(scheduler.explain({}).diagnosis).toMatchObject({ hostsPassed: 6 });
  expect(scheduler.explain({}, 'c').hosts[0]?.passed).toBe(true);
});
