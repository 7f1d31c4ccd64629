import { randomUUID } from 'node:crypto';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { mustCommit } from '#libs/testing/placement/placement';
import { aWorld, hostsOf, uuidOfHost, type World } from '../../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const ALL = { resources: { VCPU: 8 } };

/** A store that holds claims back until it is told to let go. */
function holdingClaims(store: PlacementStore) {
  let letGo = () => {};
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let claims = 0;
  const commit: PlacementStore['commit'] = async (command) => {
    if (command.kind === 'write_allocations') {
      claims += 1;
      await gate;
    }
    return store.commit(command);
  };
  const held = new Proxy(store, {
    get: (target, name) => {
      if (name === 'commit') return commit;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { store: held, letGo: () => letGo(), claims: () => claims };
}

/** Others make room on a host for an instance, which takes all of it. */
async function nominate(host: string, priority: number): Promise<string> {
  const consumerUuid = randomUUID();
  const root = uuidOfHost(host);
  const places = [{ rootUuid: root, allocations: { [root]: { VCPU: 8 } }, likelihood: 1 }];
  const untilMs = world.clock.now() + 60_000;
  const lease = { kind: 'nomination', consumerUuid, projectId: 'project-1', priority, untilMs, places } as const;
  await mustCommit(world.placement, { kind: 'write_lease', atMs: world.clock.now(), lease });
  return consumerUuid;
}

it('does not let a decision that was made before a nomination take its room, and decides it again', async () => {
  await world.report('h1');
  const held = holdingClaims(world.placement);
  const slow = await world.scheduler({}, held.store);
  const early = slow.select(ALL);
  expect(held.claims()).toBe(1);
  const preemptor = await nominate('h1', 50);
  held.letGo();
  const { response, conflicts } = await early;
  expect(conflicts).toBe(1);
  expect(response.noValidHost?.filters).toEqual([expect.objectContaining({ filter: 'nominated', refused: 1 })]);
  const quick = await world.scheduler();
  expect(hostsOf(await quick.select(ALL, [preemptor], 0, { priority: 50 }))).toEqual(['h1']);
});

it('goes elsewhere when there is room, and by a higher priority comes first', async () => {
  for (const host of ['h1', 'h2']) await world.report(host);
  const held = holdingClaims(world.placement);
  const slow = await world.scheduler({}, held.store);
  const early = slow.select({ ...ALL, forceHosts: [] });
  for (const host of ['h1', 'h2']) await nominate(host, host === 'h1' ? 50 : -1);
  held.letGo();
  expect(hostsOf(await early)).toEqual(['h2']);
  expect(hostsOf(await slow.select(ALL, 1, 0, { priority: 51 }))).toEqual(['h1']);
});
