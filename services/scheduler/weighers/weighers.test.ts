import { inventory } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';
import { aFailure } from '#libs/testing/placement/placement';
import type { SchedulerConfig } from '../options';
import { aWorld, type World } from '../testing/world';
import { normalise } from './weigher';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

/** The part of one weigher in each host's weight. */
async function shares(weigher: string, spec: Partial<RequestSpec> = {}, config: Partial<SchedulerConfig> = {}) {
  const scheduler = await world.scheduler(config);
  const { hosts } = scheduler.explain({ resources: { VCPU: 1 }, ...spec });
  return Object.fromEntries(hosts.map(({ host, weights }) => [host, weights[weigher]]));
}

describe('cpu, ram and disk', () => {
  it.each([
    ['cpu', 'VCPU'],
    ['ram', 'MEMORY_MB'],
    ['disk', 'DISK_GB'],
  ])('%s weighs the share of %s that stays free, whatever the size of the host', async (weigher, resourceClass) => {
    await world.report('small', { inventories: { [resourceClass]: inventory(10) } });
    await world.report('large', { inventories: { [resourceClass]: inventory(100, { allocationRatio: 2 }) } });
    await world.occupy('large', { [resourceClass]: 96 });
    const resources = { [resourceClass]: 4 };
    expect(await shares(weigher, { resources })).toEqual({ small: 0.6, large: 0.5 });
  });

  it('have no part for hosts without the class, nor with weight 0', async () => {
    await world.report('plain', { inventories: { VCPU: inventory(4) } });
    await world.report('disky', { inventories: { VCPU: inventory(4), DISK_GB: inventory(10) } });
    expect(await shares('disk')).toEqual({ plain: 0, disky: 1 });
    expect(await shares('cpu', {}, { weightCpu: 0 })).toEqual({ plain: undefined, disky: undefined });
  });

  it('a negative weight prefers full hosts', async () => {
    await world.report('full');
    await world.occupy('full', { VCPU: 6 });
    await world.report('empty');
    expect(await shares('cpu', {}, { weightCpu: -2 })).toEqual({ full: -0.25, empty: -1.75 });
  });
});

describe('weights by aggregate', () => {
  it("are the least that the host's aggregates say, and what is configured when they say no number", async () => {
    for (const host of ['plain', 'packed', 'both', 'broken']) {
      await world.report(host);
      await world.occupy(host, { VCPU: 3 });
    }
    await world.aggregate('packed', { cpu_weight_multiplier: '-2' }, 'packed', 'both');
    await world.aggregate('more', { cpu_weight_multiplier: '3' }, 'both');
    await world.aggregate('broken', { cpu_weight_multiplier: 'many', disk_weight_multiplier: '0' }, 'broken');
    expect(await shares('cpu')).toEqual({ plain: 0.5, packed: -1, both: -1, broken: 0.5 });
    expect(await shares('cpu', {}, { weightCpu: 0 })).toEqual({
      plain: undefined,
      packed: -1,
      both: -1,
      broken: undefined,
    });
    expect(await shares('disk')).toMatchObject({ plain: 1, broken: undefined });
  });
});

describe('io_ops', () => {
  it('avoids hosts with builds in progress', async () => {
    await world.report('busy', { ioOps: 4 });
    await world.report('swamped', { ioOps: 40 });
    await world.report('idle');
    expect(await shares('io_ops')).toEqual({ busy: -0.5, swamped: -1, idle: 0 });
  });
});

describe('num_instances', () => {
  it('spreads by the number of instances, whatever their size', async () => {
    await world.report('many');
    await world.report('one');
    await world.report('idle');
    for (let i = 0; i < 5; i++) await world.occupy('many', { VCPU: 1 });
    await world.occupy('one', { VCPU: 7 });
    expect(await shares('num_instances', {}, { weightNumInstances: -10 })).toEqual({ many: -0.5, one: -0.1, idle: 0 });
  });
});

describe('build_failures', () => {
  it('avoids hosts that failed, less and less as time passes', async () => {
    await world.report('good');
    await world.report('bad');
    const config = { failureHalfLifeMs: 60_000, weightBuildFailures: 4 };
    for (let i = 0; i < 2; i++) {
      await world.placement.commit(aFailure({ host: 'bad', halfLifeMs: 60_000, atMs: world.clock.now() }));
    }
    expect(await shares('build_failures', {}, config)).toEqual({ good: 4, bad: 2 });
    await world.clock.advance(60_000);
    expect(await shares('build_failures', {}, config)).toEqual({ good: 4, bad: 3 });
    await world.clock.advance(600_000);
    expect(await shares('build_failures', {}, config)).toEqual({ good: 4, bad: 4 });
  });

  it('fades in a scheduler that hears nothing new of the host', async () => {
    await world.report('bad');
    await world.placement.commit(aFailure({ host: 'bad', halfLifeMs: 60_000, atMs: world.clock.now() }));
    const scheduler = await world.scheduler({ failureHalfLifeMs: 60_000 });
    expect(scheduler.host('bad')?.recentFailures).toBe(1);
    await world.clock.advance(120_000);
    expect(scheduler.host('bad')?.recentFailures).toBe(0.25);
  });
});

describe('preferred_traits', () => {
  it('counts the preferred traits that a host has', async () => {
    await world.report('both', { traits: ['CUSTOM_A', 'CUSTOM_B'] });
    await world.report('one', { traits: ['CUSTOM_A'] });
    await world.report('none');
    expect(await shares('preferred_traits', { preferredTraits: ['CUSTOM_A', 'CUSTOM_B'] })).toEqual({
      both: 4,
      one: 2,
      none: 0,
    });
  });
});

describe('preferred_resources', () => {
  it('counts the preferred classes of which the host has the whole amount', async () => {
    await world.report('rich', { inventories: { VCPU: inventory(9), CUSTOM_GOLD: inventory(2) } });
    await world.report('half', { inventories: { VCPU: inventory(5), CUSTOM_GOLD: inventory(2) } });
    await world.report('poor', { inventories: { VCPU: inventory(1) } });
    const spec = { resources: { VCPU: 1 }, preferredResources: { VCPU: 8, CUSTOM_GOLD: 1 } };
    expect(await shares('preferred_resources', spec)).toEqual({ rich: 4, half: 2, poor: 0 });
  });
});

describe('soft_affinity and soft_anti_affinity', () => {
  const soft = (policy: 'soft-affinity' | 'soft-anti-affinity') => ({ id: 'g', policy, maxPerHost: 1 });

  it('prefer, or avoid, hosts with members of the group', async () => {
    for (const host of ['two', 'one', 'none']) await world.report(host);
    for (const host of ['two', 'two', 'one']) await world.occupy(host, { VCPU: 1 }, soft('soft-affinity'));
    expect(await shares('soft_affinity', { group: soft('soft-affinity') })).toEqual({ two: 8, one: 4, none: 0 });
    expect(await shares('soft_anti_affinity', { group: soft('soft-anti-affinity') })).toEqual({
      two: 0,
      one: 4,
      none: 8,
    });
    expect(await shares('soft_affinity')).toEqual({ two: undefined, one: undefined, none: undefined });
  });
});

it('the weight of a host is the sum of its parts, and the best host comes first', async () => {
  await world.report('bad', { ioOps: 8 });
  await world.report('good', { traits: ['CUSTOM_A'] });
  const scheduler = await world.scheduler();
  const { hosts } = scheduler.explain({ resources: { VCPU: 1 }, preferredTraits: ['CUSTOM_A'] });
  expect(hosts.map(({ host }) => host)).toEqual(['good', 'bad']);
  for (const { weight, weights } of hosts) {
    expect(weight).toBeCloseTo(Object.values(weights).reduce((sum, share) => sum + share, 0));
  }
});

it.each([
  [5, 0, 10, 0.5],
  [-1, 0, 10, 0],
  [11, 0, 10, 1],
  [0, -4, 0, 1],
  [3, 2, 2, 0],
])('%d between %d and %d is %d', (raw, lower, upper, expected) => {
  expect(normalise(raw, lower, upper)).toBe(expected);
});
