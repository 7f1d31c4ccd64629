import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { inventory } from '#libs/domain/inventory';
import { histories } from '../testing/arbitrary-fleet';
import { aWorld, INVENTORIES, type TestScheduler, uuidOfHost, type World } from '../testing/world';
import { Fleet } from './fleet';
import type { FleetSnapshot } from './fleet-snapshot';
import { type HostState, isSameState } from './host-state';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const follow = async ({ mirror }: TestScheduler) =>
  mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });

function hostsOf(snapshot: FleetSnapshot): HostState[] {
  const hosts: HostState[] = [];
  snapshot.hosts.forEach((_index, host) => hosts.push(host));
  return hosts;
}

const namesOf = (snapshot: FleetSnapshot) => hostsOf(snapshot).map(({ host }) => host.name);

it('follows a fleet that grows, and forgets no host', async () => {
  for (let i = 0; i < 1_000; i++) await world.report(`host-${i}`);
  const scheduler = await world.scheduler();
  const { fleet } = scheduler;
  const before = fleet.snapshot(world.clock.now());
  expect([before.hostCount, namesOf(before).length]).toEqual([1_000, 1_000]);
  for (let i = 1_000; i < 1_100; i++) await world.report(`host-${i}`);
  await follow(scheduler);
  const after = fleet.snapshot(world.clock.now());
  expect([after.hostCount, namesOf(after).length]).toEqual([1_100, 1_100]);
  expect(fleet.names(world.clock.now())).toHaveLength(1_100);
  expect([before.hostCount, namesOf(before).length]).toEqual([1_000, 1_000]);
});

it('drops a host whose provider is gone, and gives its place to the next one', async () => {
  for (const host of ['a', 'b']) await world.report(host);
  const scheduler = await world.scheduler();
  const { fleet } = scheduler;
  const both = fleet.snapshot(world.clock.now());
  await world.placement.commit({ kind: 'delete_provider', uuid: uuidOfHost('a'), atMs: world.clock.now() });
  await follow(scheduler);
  expect(namesOf(fleet.snapshot(world.clock.now()))).toEqual(['b']);
  expect(fleet.names(world.clock.now())).toEqual(['b']);
  await world.report('c', { inventories: { CUSTOM_TIN: inventory(1) } });
  await follow(scheduler);
  expect(namesOf(fleet.snapshot(world.clock.now()))).toEqual(['c', 'b']);
  expect(scheduler.host('c')?.index).toBe(0);
  expect(namesOf(both)).toEqual(['a', 'b']);
});

it('is the same snapshot while nothing changes, and shares every host that is the same', async () => {
  for (const host of ['a', 'b']) await world.report(host);
  const scheduler = await world.scheduler();
  const before = scheduler.fleet.snapshot(world.clock.now());
  expect(scheduler.fleet.snapshot(world.clock.now())).toBe(before);
  await world.occupy('a', { VCPU: 1 });
  await follow(scheduler);
  const after = scheduler.fleet.snapshot(world.clock.now());
  expect([after.at(0) === before.at(0), after.at(1) === before.at(1)]).toEqual([false, true]);
});

it('counts a claim on its way against its host until it is answered, in snapshots taken since', async () => {
  await world.report('a');
  const scheduler = await world.scheduler();
  const { fleet } = scheduler;
  const before = fleet.snapshot(world.clock.now());
  const rootUuid = uuidOfHost('a');
  const allocations = { [rootUuid]: { VCPU: INVENTORIES['VCPU']?.total ?? 0 } };
  const claim = { consumerUuid: randomUUID(), hostIndex: 0, rootUuid, allocations, group: undefined };
  fleet.hold([claim], before.assume(claim));
  expect(scheduler.host('a')).toMatchObject({ instances: 1, buildsInProgress: 1, free: { VCPU: 0 } });
  await world.report('a', { ioOps: 2 });
  await follow(scheduler);
  expect(scheduler.host('a')).toMatchObject({ instances: 1, buildsInProgress: 3, free: { VCPU: 0 } });
  const answered = fleet.pending.whenAnswered();
  fleet.settle([claim]);
  await answered;
  expect(scheduler.host('a')).toMatchObject({ instances: 0, buildsInProgress: 2, free: { VCPU: 8 } });
  expect(before.at(0)).toMatchObject({ instances: 0, buildsInProgress: 0, free: { VCPU: 8 } });
});

/** States that differ between what a fleet shows and what one shows that has just begun with the same claims on their way. */
function differences(scheduler: TestScheduler, nowMs: number): string[] {
  const fresh = new Fleet(scheduler.mirror, scheduler.config);
  for (const claim of scheduler.fleet.pending) fresh.pending.add(claim);
  const anew = new Map(hostsOf(fresh.snapshot(nowMs)).map((state) => [state.host.name, state]));
  fresh.close();
  const kept = new Map(hostsOf(scheduler.fleet.snapshot(nowMs)).map((state) => [state.host.name, state]));
  return [...new Set([...kept.keys(), ...anew.keys()])].filter((name) => {
    const [a, b] = [kept.get(name), anew.get(name)];
    return !a || !b || !isSameState(a, b);
  });
}

it('shows what a fleet shows that has just begun, whatever happened, and assumes what it reads once a claim is held', async () => {
  const claims = fc.array(fc.tuple(fc.nat({ max: 6 }), fc.integer({ min: 1, max: 3 })), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(histories(30), claims, async (history, claimed) => {
      world = aWorld();
      const scheduler = await world.scheduler();
      const { fleet } = scheduler;
      const nowMs = () => world.clock.now();
      for (const happening of history) {
        await happening.run(world);
        await follow(scheduler);
        const [next, amount] = claimed.pop() ?? [0, 0];
        const state = fleet.snapshot(nowMs()).at(next);
        if (state && amount > 0) {
          const taken = state.providers?.all ?? [state.root];
          const allocations = Object.fromEntries(
            taken.map(({ uuid, inventories }) => [
              uuid,
              Object.fromEntries(Object.keys(inventories).map((name) => [name, amount])),
            ]),
          );
          const rootUuid = state.root.uuid;
          const claim = { consumerUuid: randomUUID(), hostIndex: next, rootUuid, allocations, group: undefined };
          fleet.hold([claim], fleet.snapshot(nowMs()).assume(claim));
        }
        expect(differences(scheduler, nowMs())).toEqual([]);
      }
      fleet.settle([...fleet.pending]);
      expect(differences(scheduler, nowMs())).toEqual([]);
      await world.close();
    }),
    { numRuns: 60 },
  );
});
