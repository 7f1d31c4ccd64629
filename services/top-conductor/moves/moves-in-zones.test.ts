import type { Client } from '#libs/client/client';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { SelectDestinationsRequest } from '#libs/contracts/selection';
import type { InstanceRow } from '#libs/domain/instance';
import { groupOf } from '../requests/reservations';
import { chosenInZones, refusedBy, TopWorld } from '../testing/top-world';

/* Moves of members of a group that spreads over zones to another cell: cell a has z1 and z2, cell b has z2 and z3. */

const ZONES: Readonly<Record<string, readonly string[]>> = { a: ['z1', 'z2'], b: ['z2', 'z3'] };
const ALL = ['z1', 'z2', 'z3'];
const WEB = { group: { id: 'web', policy: undefined, maxPerHost: 0 } } as const;

let world: TopWorld;
let client: Client;
/** The scheduler's zones for new members, and for moved ones. */
let zoneOfNew: string;
let zoneOfMoved: string;
let mover: InstanceRow;

beforeEach(async () => {
  world = new TopWorld();
  const spread = { by: 'availability_zone', maxSkew: 1 };
  const stored = { projectId: 'project-1', metadata: {}, createdAtMs: 1, memberCount: 0, maxPerHost: 1 } as const;
  world.groups = [{ ...stored, name: 'web', policy: 'soft-anti-affinity', spread }];
  world.cells = ['a', 'b'].map(cellView);
  world.select = select;
  world.a.obeys = true;
  world.b.obeys = true;
  await world.open();
  client = world.client();
  zoneOfMoved = 'z3';
  mover = await memberIn('z1');
  await world.a.says(mover, { state: 'stopped', host: 'h1-a', version: 5 });
  await world.clock.advance(0);
});
afterEach(async () => {
  await client.close();
  await world.close();
});

function select({ instanceUuids, cell, choosesZone, requestSpec }: SelectDestinationsRequest) {
  const { availabilityZone = '' } = requestSpecCodec.decode(requestSpec);
  const zone = cell === undefined ? zoneOfNew : choosesZone ? zoneOfMoved : availabilityZone;
  const where = cell ?? (ZONES['a']?.includes(zone) ? 'a' : 'b');
  return chosenInZones(ALL, Object.fromEntries(instanceUuids.map((uuid) => [uuid, `${where} ${zone}`])));
}

function cellView(name: string) {
  const zones = ZONES[name] ?? [];
  const free = { VCPU: { most: 9, total: 9 } };
  const classes = zones.map((zone) => ({ zone, hostCount: 1, traits: NONE, someTraits: NONE, free }));
  const counts = { hostCount: 2, availableCount: 2, instanceCount: 0, selectedCount: 0, wrongGuessCount: 0 };
  const summary = { digest: 1, ...counts, commonTraits: NONE, classes, refused: [], zones, isAbridged: false };
  const known = { reason: '', changedAtMs: 1, isReachable: true, unreachableReason: '', summaryAgeMs: 0 };
  return { ...known, ...counts, name, state: 'enabled', summaryBytes: 1, summary } as const;
}

/** A member that a scheduler sends to a zone. */
async function memberIn(zone: string): Promise<InstanceRow> {
  zoneOfNew = zone;
  const requestId = await world.request(1, WEB);
  await world.clock.advance(0);
  const [one] = await world.instances.list({ requestId }, undefined, 1);
  if (!one) throw new Error('there is no instance');
  return one;
}

async function move(to = 'b'): Promise<void> {
  const moving = client.operate(mover.uuid, 'migrate', { targetCell: to });
  await world.clock.advance(0);
  expect(await moving).toMatchObject({ state: 'migrating' });
}

const record = async () => (await world.instances.get([mover.uuid]))[0];
const stateIn = (cell: 'a' | 'b') => world[cell].records.get(mover.uuid)?.state;

/** The cells and zones in which the top's store counts members. */
async function counted(): Promise<string[]> {
  const consumers = await world.placement.consumers((await world.all()).map(({ uuid }) => uuid));
  return consumers.map(({ groupHost, groupDomain }) => `${groupHost} ${groupDomain?.domain}`).sort();
}

it('goes to a zone of the other cell, and is counted there when it has arrived', async () => {
  await move();
  expect(await counted()).toEqual(['a z1']);
  await world.clock.advance(5_000);
  expect(await record()).toMatchObject({ state: 'stopped', host: 'h1-b', fault: undefined, cell: { zone: 'z3' } });
  expect((await record())?.cell).toMatchObject({ name: 'b', left: { name: 'a', isGone: true } });
  expect([stateIn('a'), stateIn('b')]).toEqual(['deleted', 'stopped']);
  expect(await counted()).toEqual(['b z3']);
  const told = world.b.requests.at(-1);
  expect(told && requestSpecCodec.decode(told.requestSpec).availabilityZone).toBe('z3');
  expect(world.asked.filter(({ cell }) => cell === 'b').map((one) => one.choosesZone ?? false)).toEqual([true, false]);
});

it('may stay in its zone, where both cells have it', async () => {
  zoneOfMoved = 'z1';
  await move();
  await world.clock.advance(5_000);
  expect(await record()).toMatchObject({ state: 'stopped', cell: { name: 'b', zone: 'z1' } });
  expect(await counted()).toEqual(['b z1']);
});

it('is not moved while it runs', async () => {
  await world.a.says(mover, { state: 'active', version: 6 });
  await world.clock.advance(0);
  const moving = client.operate(mover.uuid, 'migrate', { targetCell: 'b' });
  const message = expect.stringContaining('STOPPED it is moved');
  await expect(moving).rejects.toMatchObject({ reason: 'bound_to_cell', message });
});

it('is not built where the group would be uneven', async () => {
  world.select = () => refusedBy('cell_spread');
  await move();
  await world.clock.advance(0);
  expect(await record()).toMatchObject({ state: 'stopped', cell: { name: 'a', zone: 'z1' } });
  expect((await record())?.fault).toMatchObject({ reason: 'group_is_uneven' });
  expect(world.b.requests).toEqual([]);
});

it('goes back to a place that it never left when others come to the zone first', async () => {
  world.b.stops = false;
  await move();
  await world.clock.advance(2_000);
  expect(stateIn('b')).toBe('active');
  await memberIn('z3');
  await world.b.says(mover, { state: 'stopped', version: 9, host: 'h1-b' });
  await world.clock.advance(10_000);
  expect(await record()).toMatchObject({ state: 'stopped', cell: { name: 'a', zone: 'z1' } });
  expect((await record())?.fault).toMatchObject({ reason: 'group_is_uneven' });
  expect([stateIn('a'), stateIn('b')]).toEqual(['stopped', 'deleted']);
  expect(await counted()).toEqual(['a z1', 'b z3']);
});

it('keeps its place on its way, so that it may come back when it can not be built', async () => {
  world.b.builds = false;
  await move();
  const second = await memberIn('z1');
  expect(second).toMatchObject({ state: 'scheduling', fault: { reason: 'group_is_uneven' } });
  await world.clock.advance(10_000);
  expect(await record()).toMatchObject({ state: 'stopped', cell: { name: 'a' }, fault: { reason: 'not_arrived' } });
  expect(await counted()).toContain('a z1');
});

it('has arrived when the conductor that counted it there stands still before it writes that down', async () => {
  const slow = slowArrival('after');
  await move();
  await world.clock.advance(5_000);
  expect(await record()).toMatchObject({ state: 'migrating', cell: { name: 'a', zone: 'z1' } });
  expect(await counted()).toEqual(['b z3']);
  await world.start();
  await world.clock.advance(15_000);
  expect(await record()).toMatchObject({ state: 'stopped', cell: { name: 'b', zone: 'z3' } });
  slow.goesOn();
  await world.clock.advance(10_000);
  expect(await record()).toMatchObject({ state: 'stopped', cell: { name: 'b', zone: 'z3' } });
  expect(await counted()).toEqual(['b z3']);
});

it('has arrived when it is undone after it was counted there', async () => {
  const slow = slowArrival('after');
  await move();
  await world.clock.advance(5_000);
  await undoneByAnother();
  expect(await record()).toMatchObject({ state: 'stopped', cell: { name: 'b', zone: 'z3' } });
  slow.goesOn();
  await world.clock.advance(10_000);
  expect(await record()).toMatchObject({ state: 'stopped', cell: { name: 'b', zone: 'z3' } });
  expect(await counted()).toEqual(['b z3']);
});

it('is refused by the commit when it was undone after what it holds was read', async () => {
  const slow = slowArrival('before');
  await move();
  await world.clock.advance(5_000);
  await undoneByAnother();
  slow.goesOn();
  await world.clock.advance(10_000);
  expect(await record()).toMatchObject({ state: 'stopped', cell: { name: 'a', zone: 'z1' } });
  expect((await record())?.fault).toMatchObject({ reason: 'move_timed_out' });
  expect(await counted()).toEqual(['a z1']);
});

/** Pauses the first conductor that counts a member in z3 before its commit, or after. */
function slowArrival(when: 'before' | 'after') {
  const commit = world.placement.commit.bind(world.placement);
  let goesOn = () => {};
  const until = new Promise<void>((resolve) => {
    goesOn = resolve;
  });
  let isFirst = true;
  world.placement.commit = async (command) => {
    const writes = command.kind === 'write_allocations' ? command.consumers : [];
    const isSlow = isFirst && writes.some(({ group }) => group?.spread?.domain === 'z3');
    if (!isSlow) return commit(command);
    isFirst = false;
    if (when === 'before') await until;
    const result = await commit(command);
    if (when === 'after') await until;
    return result;
  };
  return { goesOn };
}

/** Another conductor finds the move undone, and continues it. */
async function undoneByAnother(): Promise<void> {
  const now = await record();
  if (!now?.cell?.move) throw new Error('it is not moved');
  const fault = { reason: 'move_timed_out', message: 'a test' };
  const cell = { ...now.cell, move: { ...now.cell.move, phase: 'undoing', fault } } as const;
  await world.instances.update({ ...now, cell, dueAtMs: world.clock.now(), version: now.version + 1 });
  await world.start();
  await world.clock.advance(10_000);
}

it('is not put back by those who settle reservations', async () => {
  world.b.obeys = false;
  await move();
  await world.clock.advance(2_000);
  await world.b.says(mover, { state: 'building', version: 1 });
  const [held] = await world.placement.consumers([mover.uuid]);
  if (!held) throw new Error('nothing is reserved');
  const now = await record();
  const group = now && groupOf(now);
  if (group?.policy === undefined || !now) throw new Error('it is of no group');
  const { uuid, projectId, userId, allocations } = held;
  const who = { uuid, projectId, userId, consumerType: 'INSTANCE', owner: 'conductor' } as const;
  const rules = { id: group.id, policy: 'soft-affinity', maxPerHost: 0, spread: group.spread } as const;
  const membership = { group: rules, host: 'b', spread: { domain: 'z3', among: ALL } };
  const there = { ...who, allocations, mappings: {}, expect: { kind: 'any' }, group: membership } as const;
  await world.placement.commit({ kind: 'write_allocations', atMs: world.clock.now(), consumers: [there] });
  await world.clock.advance(80_000);
  expect(await record()).toMatchObject({ state: 'migrating', cell: { move: { phase: 'building' } } });
  expect(await counted()).toEqual(['b z3']);
});

const NONE: ReadonlySet<string> = new Set();
