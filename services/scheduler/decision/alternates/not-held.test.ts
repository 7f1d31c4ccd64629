import { randomUUID } from 'node:crypto';
import type { CommitResult, PlacementStore } from '#libs/placement/port/placement-store';
import { aWrite, mustCommit } from '#libs/testing/placement/placement';
import { aWorld, hostsOf, uuidOfHost, type World } from '../../testing/world';

let world: World;
beforeEach(async () => {
  world = aWorld();
  for (const host of ['h1', 'h2']) await world.report(host);
});
afterEach(() => world.close());

const FULL: CommitResult = { kind: 'full', subject: 'lease', most: 1 };

/** The store of the world, which answers some commands otherwise. */
function answering(answer: (command: Parameters<PlacementStore['commit']>[0]) => CommitResult | undefined) {
  const { placement } = world;
  const commit: PlacementStore['commit'] = async (command) => answer(command) ?? placement.commit(command);
  return new Proxy(placement, {
    get: (target, name) => {
      const value: unknown = name === 'commit' ? commit : Reflect.get(target, name, target);
      return typeof value === 'function' && name !== 'commit' ? value.bind(target) : value;
    },
  });
}

it('selects, and says that alternates are not leased, when the store keeps as many leases as it may', async () => {
  const store = answering(({ kind }) => (kind === 'write_lease' ? FULL : undefined));
  const scheduler = await world.scheduler({}, store);
  const uuid = randomUUID();
  expect(
    hostsOf(await scheduler.select({ resources: { VCPU: 1 } }, [uuid], 1, { alternatesHeld: 'leased' })),
  ).toHaveLength(1);
  expect(scheduler.unheld).toEqual([`alternates of ${uuid}: full`]);
});

it('says that alternates are not reserved when the store refuses that for what nobody expects', async () => {
  const uuid = randomUUID();
  const refused: CommitResult = { kind: 'generation', subject: 'consumer', uuid, present: 1 };
  const store = answering((command) => {
    const isReserving = command.kind === 'write_allocations' && command.consumers.every((one) => one.uuid !== uuid);
    return isReserving ? refused : undefined;
  });
  const scheduler = await world.scheduler({}, store);
  await scheduler.select({ resources: { VCPU: 1 } }, [uuid], 1, { alternatesHeld: 'reserved' });
  expect(scheduler.unheld).toEqual([`reservation of ${uuid}: generation`]);
});

it('says nothing of alternates that are full: others are not asked for', async () => {
  const scheduler = await world.scheduler();
  const [uuid] = [randomUUID()];
  await world.occupy('h2', { VCPU: 6 });
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  await scheduler.select({ resources: { VCPU: 4 } }, [uuid], 1, { alternatesHeld: 'reserved' });
  expect(scheduler.unheld).toEqual([]);
});

it('names whose place could be taken, and says that the room is not kept', async () => {
  for (const host of ['h1', 'h2']) {
    const write = aWrite({ [uuidOfHost(host)]: { VCPU: 8 } }, { uuid: randomUUID(), priority: 1 });
    await mustCommit(world.placement, { kind: 'write_allocations', atMs: world.clock.now(), consumers: [write] });
  }
  const store = answering(({ kind }) => (kind === 'write_lease' ? FULL : undefined));
  const scheduler = await world.scheduler({}, store);
  const uuid = randomUUID();
  const asked = { priority: 50, mayPreempt: true };
  const { response } = await scheduler.select({ resources: { VCPU: 2 } }, [uuid], 0, asked);
  expect(response.preemption?.victims).toHaveLength(1);
  expect(scheduler.unheld).toEqual([`nomination of ${uuid}: full`]);
});
