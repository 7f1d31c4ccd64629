import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import { aRequestSpec } from '#libs/testing/request-spec';
import { shapeOf } from '../ranking/shape';
import { aWorld, INVENTORIES, uuidOfHost, type World } from '../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const shape = shapeOf(aRequestSpec({ resources: { VCPU: 1 } }), 1);

it('grows past its first room, before and after decisions, and forgets no host', async () => {
  for (let i = 0; i < 1_000; i++) await world.report(`host-${i}`);
  const { fleet, rankings, mirror } = await world.scheduler();
  expect(rankings.of(shape).passedCount).toBe(1_000);
  for (let i = 1_000; i < 1_100; i++) await world.report(`host-${i}`);
  await mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  fleet.refresh(world.clock.now());
  expect(fleet.hostCount).toBe(1_100);
  expect(rankings.of(shape).passedCount).toBe(1_100);
  expect(fleet.names()).toHaveLength(1_100);
});

it('drops a host whose provider is gone, and gives its place to the next one', async () => {
  for (const host of ['a', 'b']) await world.report(host);
  const { fleet, rankings, mirror } = await world.scheduler();
  const ranking = rankings.of(shape);
  await world.placement.commit({ kind: 'delete_provider', uuid: uuidOfHost('a'), atMs: world.clock.now() });
  await mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  fleet.refresh(world.clock.now());
  ranking.refresh();
  expect(fleet.names()).toEqual(['b']);
  expect(ranking.passedCount).toBe(1);
  await world.report('c', { inventories: { CUSTOM_TIN: inventory(1) } });
  await mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  fleet.refresh(world.clock.now());
  expect(fleet.indexCount).toBe(2);
  expect(rankings.of(shape).passedCount).toBe(1);
  expect(fleet.byName('c')?.index).toBe(0);
});

it('forgets the least lately asked shapes when ranked hosts become too many', async () => {
  await world.report('a');
  const { rankings } = await world.scheduler({ rankedHosts: 2 * 1_024 });
  const shapes = [1, 2, 3].map((VCPU) => shapeOf(aRequestSpec({ resources: { VCPU } }), 1));
  const [first, second, third] = shapes.map((one) => rankings.of(one));
  expect(rankings.count).toBe(2);
  const [one, two, three] = shapes;
  if (!one || !two || !three) throw new Error('no shapes');
  expect(rankings.of(three)).toBe(third);
  expect(rankings.of(two)).toBe(second);
  expect(rankings.of(one)).not.toBe(first);
});

it('counts a claim on its way against its host until it is answered', async () => {
  await world.report('a');
  const { fleet, rankings } = await world.scheduler();
  const rootUuid = uuidOfHost('a');
  const allocations = { [rootUuid]: { VCPU: INVENTORIES['VCPU']?.total ?? 0 } };
  const claim = { consumerUuid: randomUUID(), rootUuid, allocations, groupId: undefined };
  fleet.hold(claim);
  expect(fleet.byName('a')).toMatchObject({ instances: 1, buildsInProgress: 1 });
  expect(rankings.of(shape).passedCount).toBe(0);
  const answered = fleet.pending.whenAnswered();
  fleet.settle([claim]);
  await answered;
  fleet.refresh(world.clock.now());
  expect(rankings.of(shape).passedCount).toBe(1);
});

it('shapes of requests that list the same in another order share ranks', () => {
  const key = (spec: Parameters<typeof aRequestSpec>[0]) => shapeOf(aRequestSpec(spec), 1).key;
  expect(key({ resources: { VCPU: 1, DISK_GB: 2 }, requiredTraits: ['CUSTOM_A', 'CUSTOM_B'] })).toBe(
    key({ resources: { DISK_GB: 2, VCPU: 1 }, requiredTraits: ['CUSTOM_B', 'CUSTOM_A'] }),
  );
  expect(key({ projectId: 'other', ignoreHosts: ['a'] })).toBe(key({}));
  expect(key({ resources: { VCPU: 2 } })).not.toBe(key({ resources: { VCPU: 1 } }));
});
