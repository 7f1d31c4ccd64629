import type { Running } from '#libs/runtime/service';
import { ConductorWorld } from './testing/conductor-world';

/*
 * Hosts that die while an instance is moved from h1 to h2, in each phase. h3 lives.
 */

let world: ConductorWorld;
let conductor: Running;
let uuid: string;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 4, h2: 4, h3: 4 });
  conductor = await world.conductor((deps) => deps, { auditIntervalMs: 5_000, auditGraceMs: 2_000 });
  await world.request();
  await world.clock.advance(0);
  ({ uuid } = await world.only());
});

afterEach(async () => {
  await world.closed(conductor);
});

const HOSTS = ['h1', 'h2', 'h3'];

/** Machines die at once; schedulers take them as down a little later. */
function die(...hosts: readonly string[]): void {
  for (const host of hosts) world.behaviour.set(host, 'is dead');
}

async function takenAsDown(...hosts: readonly string[]): Promise<void> {
  await world.clock.advance(10);
  for (const host of HOSTS) if (!hosts.includes(host)) await world.setUp(host, true);
  const atMs = world.clock.now();
  await world.placement.commit({ kind: 'sweep_hosts', atMs, silentSinceMs: atMs - 1, limit: 10 });
}

async function operate(operation: Parameters<ConductorWorld['operate']>[1]): Promise<string> {
  const answered = world.operate(uuid, operation).then(
    (view) => view.state,
    (error: { reason: string; message: string }) => `${error.reason}: ${error.message}`,
  );
  await world.clock.advance(0);
  return answered;
}

/** Where it runs, of hosts that live. */
function runsOn(dead: readonly string[]): readonly string[] {
  return world
    .runs()
    .map((place) => place.split(' ')[1] ?? '')
    .filter((host) => !dead.includes(host));
}

const PHASES = {
  'handing over': async (dead: readonly string[]) => {
    die(...dead);
    await operate('migrate');
  },
  arriving: async (dead: readonly string[]) => {
    world.behaviour.set('h2', 'is dead');
    await operate('migrate');
    die(...dead);
    if (!dead.includes('h2')) await world.comesBack('h2');
  },
  'waiting to be confirmed': async (dead: readonly string[]) => {
    await operate('migrate');
    die(...dead);
  },
  confirming: async (dead: readonly string[]) => {
    await operate('migrate');
    die(...dead);
    await operate('confirm');
  },
  leaving: async (dead: readonly string[]) => {
    await operate('migrate');
    die(...dead);
    await operate('revert');
  },
} as const;
const DEAD = { 'its source': ['h1'], 'its destination': ['h2'], both: ['h1', 'h2'] } as const;

type Phase = keyof typeof PHASES;
type Dies = keyof typeof DEAD;

/**
 * Where it is in the end, by itself: on a host that lives, where there is a copy that lives; else where it was, and is evacuated. What waits
 * to be confirmed does so until somebody decides.
 */
const RESTS: Readonly<Record<Phase, Readonly<Record<Dies, string>>>> = {
  'handing over': { 'its source': 'unknown h1', 'its destination': 'active h1', both: 'unknown h1' },
  arriving: { 'its source': 'verify_resize h2', 'its destination': 'active h1', both: 'unknown h1' },
  'waiting to be confirmed': {
    'its source': 'verify_resize h2',
    'its destination': 'verify_resize h2',
    both: 'verify_resize h2',
  },
  confirming: { 'its source': 'active h2', 'its destination': 'unknown h2', both: 'unknown h2' },
  leaving: { 'its source': 'verify_resize h2', 'its destination': 'active h1', both: 'unknown h1' },
};

const rows = Object.keys(PHASES).flatMap((phase) =>
  Object.keys(DEAD).flatMap((dies) => [{ phase: phase as Phase, dies: dies as Dies }]),
);

async function restOf(phase: Phase, dies: Dies): Promise<readonly string[]> {
  const dead: readonly string[] = DEAD[dies];
  await PHASES[phase](dead);
  await takenAsDown(...dead);
  await world.clock.advance(60_000);
  const { state, host, migration } = await world.only();
  expect(`${state} ${host}`).toBe(RESTS[phase][dies]);
  expect(migration?.phase).toBe(state === 'verify_resize' ? 'arrived' : undefined);
  expect(runsOn(dead).length).toBeLessThanOrEqual(1);
  expect(world.harmed).toEqual([]);
  return dead;
}

it.each(rows)('comes to rest on a host that lives when $dies dies for good: $phase', async ({ phase, dies }) => {
  const dead = await restOf(phase, dies);
  const isOnDead = async () => dead.includes((await world.only()).host ?? '');
  const isMoved = (await world.only()).state === 'verify_resize';
  const way = (await isOnDead()) ? 'evacuate' : isMoved ? 'confirm' : undefined;
  const answered = way === undefined ? '' : await operate(way);
  expect(answered).not.toContain(':');
  await world.clock.advance(60_000);
  const { state, host = '', migration } = await world.only();
  expect([state, migration, dead.includes(host)]).toEqual(['active', undefined, false]);
  expect(runsOn(dead)).toEqual([host]);
  expect(await world.claims()).toEqual([`${uuid} ${host}`]);
  expect(await Promise.all(dead.map((one) => world.deleteHost(one)))).toEqual(dead.map(() => 'deleted'));
  expect(world.harmed).toEqual([]);
});

it.each(rows)('is one copy when $dies comes back: $phase', async ({ phase, dies }) => {
  const dead = await restOf(phase, dies);
  for (const host of dead) await world.comesBack(host);
  await world.clock.advance(60_000);
  const { state, host } = await world.only();
  expect(state).toBe(
    phase === 'waiting to be confirmed' || RESTS[phase][dies].startsWith('v') ? 'verify_resize' : 'active',
  );
  expect(world.runs().filter((place) => !world.stopped.has(place))).toEqual([`${uuid} ${host}`]);
  expect(world.harmed).toEqual([]);
});

it('runs where it went back to when that host is back, though the order to go on was lost', async () => {
  await restOf('arriving', 'both');
  world.behaviour.delete('h1');
  await world.setUp('h1', true);
  const kept = world.runningInstance(uuid, 'h1', { attempt: 1, powerState: 'shutdown' });
  await world.sendDiscrepancy(world.discrepancy('h1', { present: [kept] }));
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1' });
  expect([world.stopped.size, world.harmed]).toEqual([0, []]);
});

it('stops what the host that it went back to can not run, and says why', async () => {
  await restOf('arriving', 'both');
  const { attempts, claimToken = 0 } = await world.only();
  const order = world.orders.at(-1);
  if (!order) throw new Error('nobody was ordered');
  await world.report({ ...order, host: 'h1', attempt: attempts.at(-1)?.number ?? 0, claimToken }, 'failed');
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h1', fault: { reason: 'not_started' } });
});

it.each([
  ['at once, when the store knows the epoch', 0, 0],
  ['when it is overdue, until the store knows the epoch', 2, 12_000],
])('orders its source again that refuses an order of an earlier epoch: %s', async (_when, epoch, waitMs) => {
  await operate('migrate');
  const arrived = world.orders.at(-1);
  world.heedsDestroy = false;
  await operate('revert');
  world.behaviour.set('h1', 'is silent');
  if (arrived) await world.report(arrived, 'destroyed');
  world.running.get(uuid)?.delete('h2');
  await world.clock.advance(1);
  const order = world.orders.at(-1);
  if (!order?.arrival?.inPlace) throw new Error('its source was not ordered');
  world.behaviour.delete('h1');
  const { instanceUuid, host, attempt, claimToken, alternates } = order;
  const refused = { outcome: 'refused', reason: 'earlier_epoch', message: '' } as const;
  await world.sendReport({ instanceUuid, host, attempt, claimToken, alternates, epoch, position: 99, ...refused });
  await world.clock.advance(1);
  expect((await world.only()).state).toBe(epoch === 0 ? 'active' : 'revert_resize');
  await world.clock.advance(waitMs);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', migration: undefined });
  expect([world.runs(), world.stopped.size, world.harmed]).toEqual([[`${uuid} h1`], 0, []]);
});

it('orders its source again once for each epoch, though it says of every order that it is of an earlier one', async () => {
  await operate('migrate');
  const arrived = world.orders.at(-1);
  world.heedsDestroy = false;
  await operate('revert');
  world.behaviour.set('h1', 'is silent');
  if (arrived) await world.report(arrived, 'destroyed');
  await world.clock.advance(1);
  const order = world.orders.at(-1);
  if (!order?.arrival?.inPlace) throw new Error('its source was not ordered');
  const { instanceUuid, host, attempt, claimToken, alternates } = order;
  const refused = { outcome: 'refused', reason: 'earlier_epoch', message: '' } as const;
  const before = world.orders.length;
  for (let position = 99; position < 109; position++) {
    await world.sendReport({ instanceUuid, host, attempt, claimToken, alternates, epoch: 0, position, ...refused });
    await world.clock.advance(1);
  }
  expect(world.orders.length - before).toBe(1);
  expect(await world.only()).toMatchObject({ state: 'revert_resize', host: 'h1' });
  world.behaviour.delete('h1');
  await world.clock.advance(12_000);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', migration: undefined });
});

it('destroys nothing that lives for a host that is down: neither by a revert, nor by a confirmation', async () => {
  await operate('migrate');
  die('h1');
  await takenAsDown('h1');
  expect(await operate('revert')).toContain('host_down: instance');
  die('h2');
  await world.comesBack('h1');
  await takenAsDown('h2');
  expect(await operate('confirm')).toContain('revert it, or evacuate it');
  expect(world.runs().sort()).toEqual([`${uuid} h1`, `${uuid} h2`]);
  expect(await operate('revert')).toBe('active');
  await world.clock.advance(1_000);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', migration: undefined });
});

it('keeps what its destination runs when its source dies unseen, until the source answers', async () => {
  await operate('migrate');
  die('h1');
  await operate('revert');
  await world.clock.advance(60_000);
  const { state, host, fault } = await world.only();
  expect({ state, host, fault }).toMatchObject({
    state: 'verify_resize',
    host: 'h2',
    fault: { reason: 'source_silent' },
  });
  expect([world.destroys, world.harmed]).toEqual([[], []]);
  await world.comesBack('h1');
  expect(await operate('revert')).toBe('revert_resize');
  await world.clock.advance(10_000);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1' });
});

it('goes back instead of being confirmed by its time, when its host is down', async () => {
  void world.operate(uuid, 'migrate', undefined, { confirmAfterMs: 20_000 });
  await world.clock.advance(0);
  die('h2');
  await takenAsDown('h2');
  await world.clock.advance(60_000);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', fault: { reason: 'host_down' } });
});

it.each(['shelve', 'terminate'] as const)('ends what is to leave a host that has died: %s', async (how) => {
  die('h1');
  if (how === 'shelve') await operate('shelve');
  else await world.terminate(uuid);
  await world.clock.advance(0);
  await takenAsDown('h1');
  await world.clock.advance(15_000);
  expect((await world.only()).state).toBe(how === 'shelve' ? 'shelved_offloaded' : 'deleted');
  expect(await world.claims()).toEqual([]);
  expect(await world.deleteHost('h1')).toBe('deleted');
});

it.each(['while it runs', 'while it is built'])(
  'ends all of a gang that is terminated when a host of it has died %s',
  async (when) => {
    if (when === 'while it is built') die('h1', 'h2');
    await world.request(6, undefined, undefined, { minCount: 6 });
    await world.clock.advance(0);
    die('h1', 'h2');
    const gang = (await world.all()).filter((one) => one.uuid !== uuid);
    expect(new Set(gang.map(({ host }) => host)).size).toBeGreaterThan(1);
    for (const one of gang) await world.terminate(one.uuid);
    await world.clock.advance(0);
    await takenAsDown('h1', 'h2');
    await world.clock.advance(60_000);
    const states = (await world.all()).filter((one) => one.uuid !== uuid).map(({ state }) => state);
    expect(states).toEqual(gang.map(() => 'deleted'));
    expect(await world.claims()).toHaveLength(1);
  },
);

it('says what holds a host that is to be deleted, and the way out', async () => {
  await operate('migrate');
  die('h1');
  await takenAsDown('h1');
  const kept = `instance ${uuid} (verify_resize on h2) keeps its place on h1 to go back to: berth instance confirm ${uuid}`;
  expect(await world.deleteHost('h1')).toMatchObject({ message: expect.stringContaining(kept) });
  die('h2');
  await takenAsDown('h1', 'h2');
  expect(await world.deleteHost('h2')).toMatchObject({
    message: expect.stringContaining(`${uuid} (verify_resize); take it back to h1 (berth instance revert ${uuid})`),
  });
});
