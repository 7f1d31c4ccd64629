import { migrationUuidOf } from '#libs/domain/moves/migration';
import type { Running } from '#libs/runtime/service';
import { ConductorWorld } from './testing/conductor-world';

let world: ConductorWorld;
let conductor: Running;
const TURN_MS = 30_000;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 3, h2: 2, h3: 2 });
  conductor = await world.conductor((deps) => deps, { BERTH_CONDUCTOR_MOVE_TURN_TIMEOUT_MS: String(TURN_MS) });
});

afterEach(async () => {
  await world.closed(conductor);
});

/** Instances on h1. */
async function active(count: number): Promise<string[]> {
  await world.request(count);
  await world.clock.advance(0);
  return (await world.instances.list({}, undefined, 10)).map(({ uuid }) => uuid);
}

async function move(uuids: readonly string[], options: Parameters<ConductorWorld['moveInstances']>[1] = {}) {
  const moves = uuids.map((instanceUuid) => ({ instanceUuid, targetHost: '' }));
  const answered = world.moveInstances(moves, options).then(
    (response) => response,
    (error: { reason: string }) => error.reason,
  );
  await world.clock.advance(0);
  return answered;
}

const recordsOf = (uuids: readonly string[]) => world.instances.get([...uuids]);
const claimedOn = (uuids: readonly string[], own: string, kept: string) =>
  uuids.flatMap((uuid) => [`${uuid} ${own}`, `${migrationUuidOf(uuid)} ${kept}`]).sort();

it('claims all at once; each runs where it is until it is its turn', async () => {
  const uuids = await active(2);
  expect(await move(uuids)).toMatchObject({ moves: uuids.map((instanceUuid) => ({ instanceUuid, destHost: 'h2' })) });
  expect(await world.claims()).toEqual(claimedOn(uuids, 'h2', 'h1'));
  expect(await recordsOf(uuids)).toMatchObject([{ state: 'migrating' }, { state: 'migrating', host: 'h1' }]);
  expect(world.runs()).toEqual(uuids.map((uuid) => `${uuid} h1`).sort());
  expect((await world.view(uuids[0] ?? ''))?.migration).toMatchObject({ phase: 'claimed', destHost: 'h2' });

  await world.operate(uuids[0] ?? '', 'live_migrate');
  await world.clock.advance(0);
  expect(await recordsOf(uuids)).toMatchObject([
    { state: 'active', host: 'h2' },
    { state: 'migrating', host: 'h1' },
  ]);
  expect(world.harmed).toEqual([]);
});

it('answers a copy of a call with what is claimed, and refuses another one for the same instances', async () => {
  const uuids = await active(2);
  const first = await move(uuids, { plan: 'empty-h1' });
  const claims = await world.claims();
  expect(await move(uuids, { plan: 'empty-h1' })).toEqual(first);
  expect(await world.claims()).toEqual(claims);
  for (const other of [
    { plan: 'another' },
    { plan: 'empty-h1', leaveHosts: ['h2'] },
    { plan: 'empty-h1', dryRun: true },
  ])
    expect(await move(uuids, other)).toBe('instance_state');
  await world.operate(uuids[0] ?? '', 'live_migrate');
  await world.clock.advance(0);
  expect(await move(uuids, { plan: 'empty-h1' })).toBe('instance_state');
});

it('moves what is stopped cold beside what goes live, and leaves it stopped', async () => {
  const uuids = await active(2);
  const [stopped = '', running = ''] = uuids;
  await world.operate(stopped, 'stop');
  await world.clock.advance(0);
  await move(uuids);
  expect(await recordsOf([stopped, running])).toMatchObject([
    { state: 'resize', formerState: 'stopped', migration: { kind: 'migrate', phase: 'claimed' } },
    { state: 'migrating', migration: { kind: 'live_migrate', phase: 'claimed' } },
  ]);
  await world.operate(stopped, 'migrate', undefined, { confirmAfterMs: 1 });
  await world.operate(running, 'revert');
  await world.clock.advance(2_000);
  expect(await recordsOf([stopped, running])).toMatchObject([
    { state: 'stopped', host: 'h2', migration: undefined },
    { state: 'active', host: 'h1', migration: undefined },
  ]);
  expect(world.stopped).toEqual(new Set([`${stopped} h2`]));
});

it('gives back what was stopped and is not begun in time', async () => {
  const [uuid = ''] = await active(1);
  await world.operate(uuid, 'stop');
  await world.clock.advance(0);
  await move([uuid]);
  await world.clock.advance(TURN_MS + 2_000);
  const said = { fault: { reason: 'not_begun' }, migration: undefined };
  expect(await recordsOf([uuid])).toMatchObject([{ state: 'stopped', host: 'h1', ...said }]);
  expect(await world.claims()).toEqual([`${uuid} h1`]);
  expect(world.stopped).toEqual(new Set([`${uuid} h1`]));
});

it('keeps the name of the plan that a move is part of, and shows it', async () => {
  const [planned = '', other = ''] = await active(2);
  await move([planned], { plan: 'empty-h1' });
  await move([other]);
  expect((await world.view(planned))?.migration).toMatchObject({ phase: 'claimed', plan: 'empty-h1' });
  expect((await world.view(other))?.migration).toMatchObject({ phase: 'claimed', plan: undefined });
});

it('claims none when one finds no host', async () => {
  const uuids = await active(3);
  expect(await move(uuids)).toMatchObject({ moves: [], refusal: '0 of 3 hosts fit' });
  expect(await recordsOf(uuids)).toMatchObject([{ state: 'active' }, { state: 'active' }, { state: 'active' }]);
  expect(await world.claims()).toEqual(uuids.map((uuid) => `${uuid} h1`).sort());
});

it('says where they would go, and changes nothing', async () => {
  const uuids = await active(1);
  expect(await move(uuids, { dryRun: true, leaveHosts: ['h2'] })).toMatchObject({ moves: [{ destHost: 'h3' }] });
  expect(await recordsOf(uuids)).toMatchObject([{ state: 'active', version: 3 }]);
});

it('gives back what waits, when it is reverted or its turn does not come', async () => {
  const uuids = await active(2);
  await move(uuids);
  await world.operate(uuids[0] ?? '', 'revert');
  await world.clock.advance(0);
  expect(await recordsOf(uuids)).toMatchObject([{ state: 'active', host: 'h1' }, { state: 'migrating' }]);
  await world.clock.advance(TURN_MS + 2_000);
  expect(await recordsOf(uuids)).toMatchObject([
    { state: 'active' },
    { state: 'active', fault: { reason: 'not_begun' } },
  ]);
  expect(await world.claims()).toEqual(uuids.map((uuid) => `${uuid} h1`).sort());
  expect(world.runs()).toEqual(uuids.map((uuid) => `${uuid} h1`).sort());
  expect(world.harmed).toEqual([]);
});

describe('an affinity group', () => {
  beforeEach(() => {
    world.group = { id: 'web', policy: 'affinity', maxPerHost: 1 };
  });

  const backOn = (host: string) => ({ state: 'active', host, migration: undefined });

  it.each(['is reverted', 'can not be handed over'])('goes back as one when a member of it %s', async (how) => {
    const uuids = await active(2);
    const [first = '', second = ''] = uuids;
    await move(uuids);
    if (how === 'is reverted') await world.operate(first, 'revert');
    else {
      world.behaviour.set('h1', 'is silent');
      await world.operate(first, 'live_migrate');
      await world.clock.advance(0);
      const { attempt, claimToken } = world.powerOrders.at(-1) ?? { attempt: 0, claimToken: 0 };
      const said = { attempt, claimToken, restsOnEpoch: 0, restsOnPosition: 0, migrationUuid: migrationUuidOf(first) };
      const fault = { powerState: 'running', reason: 'driver_failed', message: '' } as const;
      world.behaviour.delete('h1');
      await world.sendPowerReport({ instanceUuid: first, host: 'h1', ...said, ...fault, ...world.nextPosition('h1') });
    }
    await world.clock.advance(1_000);
    const [one, other] = await Promise.all([first, second].map(async (uuid) => (await recordsOf([uuid]))[0]));
    expect([one, other]).toMatchObject([backOn('h1'), { ...backOn('h1'), fault: { reason: 'group_goes_back' } }]);
    expect(await world.claims()).toEqual(uuids.map((uuid) => `${uuid} h1`).sort());
    expect(world.harmed).toEqual([]);
  });

  it('goes back as one though the conductor dies between its members', async () => {
    const uuids = await active(2);
    await move(uuids);
    await conductor.close();
    conductor = await world.conductor((deps) => {
      let isDead = false;
      const update: typeof deps.instances.update = async (...args) => {
        if (isDead) return new Promise(() => {});
        isDead = true;
        return deps.instances.update(...args);
      };
      return { ...deps, instances: { ...deps.instances, update } };
    });
    void world.operate(uuids[0] ?? '', 'revert').catch(() => {});
    await world.clock.advance(0);
    conductor = await world.conductor();
    await world.clock.advance(TURN_MS);
    const wentAlong = { ...backOn('h1'), fault: { reason: 'group_goes_back' } };
    expect(await recordsOf(uuids)).toMatchObject([backOn('h1'), wentAlong]);
    expect(await world.claims()).toEqual(uuids.map((uuid) => `${uuid} h1`).sort());
  });

  it('leaves those of it that have left where they run', async () => {
    const uuids = await active(2);
    const [first = '', second = ''] = uuids;
    await move(uuids);
    await world.operate(first, 'live_migrate');
    await world.clock.advance(0);
    await world.operate(second, 'revert');
    await world.clock.advance(1_000);
    expect((await recordsOf([first]))[0]).toMatchObject(backOn('h2'));
    expect((await recordsOf([second]))[0]).toMatchObject(backOn('h1'));
    expect(world.harmed).toEqual([]);
  });
});

it('leaves to the audit what was claimed by a conductor that died before it was on record', async () => {
  const uuids = await active(2);
  await conductor.close();
  conductor = await world.conductor((deps) => {
    const update: typeof deps.instances.update = () => new Promise(() => {});
    return { ...deps, instances: { ...deps.instances, update } };
  });
  void move(uuids);
  await world.clock.advance(0);
  expect(await world.claims()).toEqual(claimedOn(uuids, 'h2', 'h1'));
  conductor = await world.conductor();
  await world.clock.advance(60_000);
  expect(await world.claims()).toEqual(uuids.map((uuid) => `${uuid} h1`).sort());
  expect(await recordsOf(uuids)).toMatchObject([{ state: 'active' }, { state: 'active', host: 'h1' }]);
  expect(world.harmed).toEqual([]);
});

it('refuses what can not be moved, what is named twice, and who is no operator', async () => {
  const [uuid = ''] = await active(1);
  expect(await move([uuid, uuid])).toBe('duplicate_uuid');
  await world.operate(uuid, 'shelve');
  await world.clock.advance(0);
  expect(await move([uuid])).toBe('instance_state');
});
