import type { BerthError } from '#libs/domain/errors';
import type { Running } from '#libs/runtime/service';
import { ConductorWorld } from './testing/conductor-world';

let world: ConductorWorld;
let conductors: Running[];

beforeEach(async () => {
  world = new ConductorWorld();
  world.group = { id: 'web', policy: 'soft-anti-affinity', maxPerHost: 1 };
  await world.open({ h1: 3, h2: 3, h3: 3 });
  conductors = [await world.conductor(), await world.conductor()];
});

afterEach(async () => {
  await world.closed(...conductors);
});

async function members(count: number): Promise<string[]> {
  await world.request(count);
  await world.clock.advance(0);
  return (await world.instances.list({}, undefined, 10)).map(({ uuid }) => uuid);
}

/** The outcome of a cold migration: 'taken', or the refusal. */
async function migrate(uuid: string): Promise<string> {
  const answered = world.operate(uuid, 'migrate').then(
    () => 'taken',
    ({ reason, message }: BerthError) => `${reason}: ${message}`,
  );
  await world.clock.advance(0);
  return answered;
}

it('interrupts no more members than the budget of their group allows, and names those it waits for', async () => {
  const [one = '', two = ''] = await members(3);
  world.groupMetadata = { max_unavailable: '1' };
  world.behaviour.set('h2', 'late');
  expect(await migrate(one)).toBe('taken');
  const { name } = (await world.view(one)) ?? {};
  expect(await migrate(two)).toBe(
    `disruption_budget: the budget of group web (max_unavailable=1) allows no disruption now: 2 members of 3 are available; it waits for ${name} (resize)`,
  );
  const order = world.orders.findLast(({ instanceUuid }) => instanceUuid === one);
  if (order) await world.report(order, 'active');
  await world.clock.advance(0);
  expect(await migrate(two)).toBe('taken');
});

it('lets one of two through that begin at the same time', async () => {
  const [one = '', two = ''] = await members(2);
  world.groupMetadata = { min_available: '1' };
  world.behaviour.set('h2', 'late');
  const outcomes = await Promise.all([migrate(one), migrate(two)]);
  expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(1);
});

it('moves live what it may not interrupt, and cold what does not run anyway', async () => {
  const [one = '', two = ''] = await members(2);
  world.groupMetadata = { min_available: '100%' };
  expect(await migrate(one)).toMatch(/^disruption_budget: /);
  void world.operate(one, 'live_migrate');
  void world.operate(two, 'stop');
  await world.clock.advance(0);
  expect(await migrate(two)).toBe('taken');
  expect(await world.instances.get([one, two])).toMatchObject([{ host: 'h2' }, { host: 'h2' }]);
});

it('counts a member that waits for its turn as available, and its turn as a disruption', async () => {
  const all = await members(3);
  world.groupMetadata = { min_available: '2' };
  world.behaviour.set('h2', 'late');
  world.behaviour.set('h3', 'late');
  const moves = all.map((instanceUuid) => ({ instanceUuid, targetHost: '' }));
  const claiming = world.moveInstances(moves, { operation: 'migrate' });
  await world.clock.advance(0);
  expect((await claiming).refusal).toBe('');
  const outcomes: string[] = [];
  for (const uuid of all) outcomes.push(await migrate(uuid));
  expect(outcomes.map((outcome) => outcome.split(':')[0])).toEqual(['taken', 'disruption_budget', 'disruption_budget']);
});

it('binds nobody without a budget, or without a stored group', async () => {
  const [one = '', two = ''] = await members(2);
  expect(await migrate(one)).toBe('taken');
  world.groupMetadata = { preemption: 'never' };
  expect(await migrate(two)).toBe('taken');
});
