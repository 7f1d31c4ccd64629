import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { SelectDestinationsRequest } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { hasBeenActive, type InstanceRow } from '#libs/domain/instance';
import { chosen, chosenInZones, refusedBy, TopWorld } from '../testing/top-world';

/* Server groups that spread over the zones of all cells. */

const ZONES = ['z1', 'z2', 'z3'];
const CELL_OF: Readonly<Record<string, string>> = { z1: 'a', z2: 'a', z3: 'b' };
const placeIn = (zone: string) => `${CELL_OF[zone]} ${zone}`;
const WEB = { group: { id: 'web', policy: undefined, maxPerHost: 0 } } as const;

let world: TopWorld;

beforeEach(async () => {
  world = new TopWorld();
  const spread = { by: 'availability_zone', maxSkew: 1 };
  const stored = { projectId: 'project-1', metadata: {}, createdAtMs: 1, memberCount: 0, maxPerHost: 1 } as const;
  world.groups = [{ ...stored, name: 'web', policy: 'soft-anti-affinity', spread }];
  world.select = inTurn();
  await world.open();
});
afterEach(() => world.close());

/** Hosts in z1, z2, z3, z1, ... for any request. */
function inTurn() {
  return ({ instanceUuids }: SelectDestinationsRequest) =>
    into(
      instanceUuids.map((_uuid, n) => ZONES[n % 3] ?? ''),
      instanceUuids,
    );
}

function into(zones: readonly string[], uuids: readonly string[]) {
  return chosenInZones(ZONES, Object.fromEntries(uuids.map((uuid, n) => [uuid, placeIn(zones[n] ?? '')])));
}

/** A scheduler with these answers in order; the last one repeats. */
function answers(...zones: readonly string[]): void {
  const left = [...zones];
  world.select = ({ instanceUuids, cell }) =>
    cell ? chosen(cell, instanceUuids) : into([(left.length > 1 ? left.shift() : left[0]) ?? ''], instanceUuids);
}

/** The zones counted in the top's store. */
async function counted(): Promise<string[]> {
  const consumers = await world.placement.consumers((await world.all()).map(({ uuid }) => uuid));
  return consumers.flatMap(({ groupDomain }) => groupDomain?.domain ?? []).sort();
}

async function requestOne(fields = {}): Promise<InstanceRow> {
  const requestId = await world.request(1, WEB, fields);
  const [one] = await world.instances.list({ requestId }, undefined, 1);
  if (!one) throw new Error('there is no instance');
  return one;
}

const recordOf = async ({ uuid }: InstanceRow) => (await world.instances.get([uuid]))[0];

it('each zone is a request of its own to its cell, which is told the zone, and members are counted at the top', async () => {
  await world.request(4, WEB);
  const told = (cell: 'a' | 'b') =>
    world[cell].requests.map(({ requestSpec, count }) => {
      const { availabilityZone, group } = requestSpecCodec.decode(requestSpec);
      return [availabilityZone, group?.id, count];
    });
  expect(told('a')).toEqual([
    ['z1', 'top:web', 2],
    ['z2', 'top:web', 1],
  ]);
  expect(told('b')).toEqual([['z3', 'top:web', 1]]);
  expect(new Set(world.a.requests.map(({ requestId }) => requestId)).size).toBe(2);
  expect((await world.all()).map(({ cell }) => `${cell?.name} ${cell?.zone}`).sort()).toEqual([
    'a z1',
    'a z1',
    'a z2',
    'b z3',
  ]);
  expect(await counted()).toEqual(['z1', 'z1', 'z2', 'z3']);
});

it('a part that its cell refuses is in ERROR, and the parts beside it are not', async () => {
  await world.request(4, WEB);
  const [inZ1, inZ2] = world.a.requests;
  if (!inZ1 || !inZ2) throw new Error('there are no requests');
  await world.a.refuses(inZ2);
  await world.clock.advance(0);
  const failed = (await world.all()).filter(({ state }) => state === 'error');
  expect(failed).toMatchObject([{ cell: { zone: 'z2' }, fault: { reason: 'scripted' } }]);
  await world.a.refuses(inZ1);
  await world.clock.advance(0);
  expect((await world.all()).filter(({ state }) => state === 'error')).toHaveLength(3);
  expect(await counted()).toEqual(['z3']);
});

it('what would make the group uneven is asked for again of a scheduler that has seen the others, and given back', async () => {
  answers('z1');
  await requestOne();
  answers('z1', 'z3');
  const second = await requestOne();
  expect(second.cell).toMatchObject({ name: 'b', zone: 'z3' });
  expect(world.asked.map(({ minRevision }) => minRevision ?? 0).map((revision) => revision > 0)).toEqual([
    false,
    false,
    true,
  ]);
  expect(world.a.released).toEqual([second.uuid]);
  expect(await counted()).toEqual(['z1', 'z3']);
});

it('members that others come before each time wait, hold nothing, and go on later', async () => {
  answers('z1');
  await requestOne();
  const second = await requestOne();
  expect(second).toMatchObject({ state: 'scheduling', fault: { reason: 'group_is_uneven' } });
  expect(second.cell).toBeUndefined();
  expect(world.a.released).toContain(second.uuid);
  expect(await counted()).toEqual(['z1']);
  answers('z2');
  await world.clock.advance(15_000);
  expect((await recordOf(second))?.cell).toMatchObject({ name: 'a', zone: 'z2' });
});

it('of several members all are counted, or none', async () => {
  answers('z1');
  await requestOne();
  const asked = world.asked.length;
  world.select = ({ instanceUuids, minRevision }) =>
    into(minRevision ? ['z2', 'z3', 'z1'] : ['z2', 'z1', 'z1'], instanceUuids);
  await world.request(3, WEB);
  expect(world.asked).toHaveLength(asked + 2);
  expect(await counted()).toEqual(['z1', 'z1', 'z2', 'z3']);
});

it('what fails, ends or is shelved gives its place back', async () => {
  await world.request(3, WEB);
  const [one, two, three] = (await world.all()).sort((x, y) => ((x.cell?.zone ?? '') < (y.cell?.zone ?? '') ? -1 : 1));
  if (!one || !two || !three) throw new Error('there are no instances');
  const fault = new BerthError('failed_precondition', 'hosts_exhausted', 'no host left');
  await world.a.says(one, { state: 'error', fault });
  await world.clock.advance(0);
  expect(await counted()).toEqual(['z2', 'z3']);
  await world.a.says(two, { state: 'shelved_offloaded' });
  await world.clock.advance(0);
  expect(await counted()).toEqual(['z3']);
  await world.terminate(three.uuid);
  await world.b.says(three, { state: 'deleted', version: 9 });
  await world.clock.advance(0);
  expect(await counted()).toEqual([]);
});

it('what comes back from the shelf takes its place again, unless others have come there', async () => {
  const free = { VCPU: { most: 9, total: 9 } };
  const classes = ZONES.map((zone) => ({ zone, hostCount: 1, traits: NONE, someTraits: NONE, free }));
  const summary = {
    digest: 1,
    hostCount: 3,
    availableCount: 3,
    instanceCount: 0,
    commonTraits: NONE,
    classes,
    refused: [],
    isAbridged: false,
    zones: ZONES,
  };
  const known = {
    reason: '',
    changedAtMs: 1,
    isReachable: true,
    unreachableReason: '',
    summaryAgeMs: 0,
    selectedCount: 0,
  };
  const view = { ...known, name: 'a', state: 'enabled', wrongGuessCount: 0, summaryBytes: 1 } as const;
  world.cells = [{ ...view, summary }];
  answers('z1');
  const shelved = await requestOne();
  await world.a.says(shelved, { state: 'shelved_offloaded' });
  await world.clock.advance(0);
  const other = await requestOne();
  const client = world.client();
  const unshelve = () => client.operate(shelved.uuid, 'unshelve');
  await expect(unshelve()).rejects.toMatchObject({ reason: 'group_is_uneven' });
  await world.a.says(other, { state: 'deleted', version: 9 });
  await world.clock.advance(0);
  world.cells = [{ ...view, summary: { ...summary, zones: ['z9', 'z2', 'z3'] } }];
  await expect(unshelve()).rejects.toMatchObject({ reason: 'no_such_zone' });
  world.cells = [{ ...view, summary }];
  await unshelve();
  expect(await counted()).toEqual(['z1']);
  await client.close();
});

it('while others may be on their way it waits; then it is in ERROR', async () => {
  world.select = () => refusedBy('cell_spread');
  const waiting = await requestOne();
  expect(waiting).toMatchObject({ state: 'scheduling', fault: { reason: 'no_valid_host' } });
  await world.clock.advance(40_000);
  expect(await recordOf(waiting)).toMatchObject({ state: 'error', fault: { reason: 'no_valid_host' } });
});

it('what waits for capacity waits at the top, for any zone', async () => {
  world.select = () => refusedBy('cell_capacity');
  const admission = { priority: 0, isProtected: false, mayPreempt: false, waitForCapacityMs: 600_000, timeLimitMs: 0 };
  const waiting = await requestOne({ admission });
  await world.clock.advance(60_000);
  expect(await recordOf(waiting)).toMatchObject({ state: 'scheduling' });
  expect((await recordOf(waiting))?.cell).toBeUndefined();
  expect([...world.a.requests, ...world.b.requests]).toEqual([]);
  answers('z3');
  await world.clock.advance(15_000);
  expect((await recordOf(waiting))?.cell).toMatchObject({ name: 'b', zone: 'z3' });
});

it('of a gang in two zones of one cell the top sees to it that enough become ACTIVE', async () => {
  world.select = ({ instanceUuids }) => into(['z1', 'z2'], instanceUuids);
  await world.request(2, WEB, { minCount: 2 });
  expect(world.a.requests).toMatchObject([{ minCount: 0 }, { minCount: 0 }]);
  const [first, second] = await world.all();
  if (!first || !second) throw new Error('there are no instances');
  const fault = new BerthError('failed_precondition', 'hosts_exhausted', 'no host left');
  await world.a.says({ ...first, requestId: first.cell?.requestId ?? first.requestId }, { state: 'error', fault });
  await world.clock.advance(0);
  expect(hasBeenActive(second)).toBe(false);
  expect(await recordOf(second)).toMatchObject({ state: 'deleting', fault: { reason: 'gang_failed' } });
  expect(world.a.terminated).toEqual([second.uuid]);
});

it('a gang of one zone is its cell’s, and those that no zone has room for end', async () => {
  world.select = ({ instanceUuids }) => into(['z1'], instanceUuids.slice(0, 1));
  await world.request(2, WEB, { minCount: 1 });
  expect(world.a.requests).toMatchObject([{ minCount: 1, count: 1 }]);
  expect((await world.all()).map(({ state }) => state).sort()).toEqual(['error', 'scheduling']);
});

it('places of a conductor that died before it wrote down a cell are given up; with a cell they stay', async () => {
  await world.request(2, WEB);
  const [lost, kept] = await world.all();
  if (!lost || !kept) throw new Error('there are no instances');
  const due = { dueAtMs: world.clock.now() };
  await world.instances.update({ ...lost, ...due, cell: undefined, version: lost.version + 1 });
  const cell = kept.cell && { ...kept.cell, isHandedOver: false };
  await world.instances.update({ ...kept, ...due, cell, version: kept.version + 1 });
  answers('z3');
  await world.clock.advance(15_000);
  expect((await recordOf(lost))?.cell).toMatchObject({ name: 'b', zone: 'z3' });
  expect((await recordOf(kept))?.cell).toMatchObject({ name: 'a', zone: kept.cell?.zone });
  const asked = world.asked.find((request) => request.cell === 'a');
  const told = world.a.requests.at(-1);
  expect(told?.instanceUuids).toEqual([kept.uuid]);
  for (const again of [asked, told]) {
    expect(again && requestSpecCodec.decode(again.requestSpec).availabilityZone).toBe(kept.cell?.zone);
  }
  expect(await counted()).toEqual([kept.cell?.zone ?? '', 'z3'].sort());
});

it('a place that the store has lost is counted again', async () => {
  answers('z1');
  const { uuid, projectId, userId } = await requestOne();
  const [held] = await world.placement.consumers([uuid]);
  const who = { uuid, projectId, userId, consumerType: 'INSTANCE', owner: 'conductor' } as const;
  const without = { ...who, allocations: held?.allocations ?? {}, mappings: {}, expect: { kind: 'any' } } as const;
  await world.placement.commit({
    kind: 'write_allocations',
    atMs: world.clock.now(),
    consumers: [without],
    force: true,
  });
  expect(await counted()).toEqual([]);
  await world.clock.advance(90_000);
  expect(await counted()).toEqual(['z1']);
});

it('of two conductors that choose zones for the same instance the one that writes its choice down is counted', async () => {
  let answerLate = (_zone: string) => {};
  world.select = ({ instanceUuids }) =>
    new Promise((resolve) => {
      answerLate = (zone) => resolve(into([zone], instanceUuids));
    });
  const instance = await requestOne();
  const answerFirst = answerLate;
  // Meanwhile it is due, and another conductor handles it.
  answers('z1');
  await world.instances.update({ ...instance, dueAtMs: world.clock.now(), version: instance.version + 1 });
  await world.start();
  await world.clock.advance(1_000);
  expect((await recordOf(instance))?.cell).toMatchObject({ name: 'a', zone: 'z1' });
  expect(await counted()).toEqual(['z1']);
  answerFirst('z3');
  await world.clock.advance(0);
  expect((await recordOf(instance))?.cell).toMatchObject({ name: 'a', zone: 'z1' });
  expect(await counted()).toEqual(['z1']);
});

const NONE: ReadonlySet<string> = new Set();
