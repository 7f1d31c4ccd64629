import type { HostDiscrepancy } from '#libs/contracts/compute';
import type { RunningInstance } from '#libs/contracts/stats';
import type { Attempt, Instance, InstanceRow } from '#libs/domain/instance';
import { MIGRATION_CONSUMER, migrationUuidOf } from '#libs/domain/moves/migration';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import type { Running } from '#libs/runtime/service';
import { anInstance } from '#libs/testing/instances/instance';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { type LostWrites, mayBeForgotten } from './lost-writes';
import { ConductorWorld } from './testing/conductor-world';

/* A record that is older than what was done for its instance: the store went back to an earlier copy of itself. */

let world: ConductorWorld;
let conductor: Running;
let uuid: string;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 10, h2: 10 });
  uuid = world.random.uuid();
});

afterEach(async () => {
  await world.closed(conductor);
});

/** The store goes on from a copy that has this record. */
async function restored(fields: Partial<InstanceRow> = {}, settings: Record<string, string> = {}): Promise<void> {
  const nowMs = world.clock.now();
  const times = { createdAtMs: nowMs, updatedAtMs: nowMs, dueAtMs: nowMs + 1 };
  const requestSpec = anEncodedSpec({ resources: { VCPU: 1 } });
  await world.instances.create(uuid, [anInstance({ ...times, uuid, requestId: uuid, requestSpec, ...fields })]);
  await world.clock.advance(100);
  world.placement.goOn(world.clock.now());
  conductor = await world.conductor(undefined, settings);
  await world.clock.advance(1);
}

/** A host reports that it runs there, and shows what was sealed for a host. */
async function runsOn(host: string, attempt: number, sealedFor = host, claimToken = 0): Promise<void> {
  world.running.set(uuid, new Set([host]));
  const allocationRequest = world.allocationRequest(uuid, sealedFor);
  const unclaimed = [world.runningInstance(uuid, host, { allocationRequest, attempt, claimToken })];
  await world.sendDiscrepancy(world.discrepancy(host, { unclaimed }));
}

const OPEN: Attempt = {
  host: 'h1',
  number: 1,
  outcome: 'building',
  reason: '',
  startedAtMs: 0,
  endedAtMs: undefined,
};

it.each<[string, Partial<Instance>]>([
  ['being scheduled', {}],
  ['being built elsewhere', { state: 'building', host: 'h1', claimToken: 1, attempts: [OPEN] }],
  ['between two hosts', { state: 'building', host: 'h1', attempts: [{ ...OPEN, outcome: 'failed' }] }],
])('is ACTIVE where it was built since, though its record has it %s, and is built nowhere else', async (_, fields) => {
  await restored(fields);
  await world.disagreeTwice('h1', { missing: [uuid] });
  await world.clock.advance(4_000);
  await runsOn('h2', 2);
  await world.clock.advance(60_000);
  const [last] = (await world.only()).attempts.slice(-1);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h2', requestId: uuid });
  expect(last).toMatchObject({ host: 'h2', number: 2, outcome: 'active' });
  expect([world.runs(), await world.claims(), world.orders]).toEqual([[`${uuid} h2`], [`${uuid} h2`], []]);
});

it('takes its claim with it, which its older record has on another host', async () => {
  const request = world.opened(world.allocationRequest(uuid, 'h1'));
  const consumers = [claimWrite(request, { kind: 'absent' })];
  const claimed = await world.placement.commit({ kind: 'write_allocations', atMs: world.clock.now(), consumers });
  const claimToken = claimed.kind === 'committed' ? claimed.claimToken : 0;
  await restored({ state: 'building', host: 'h1', claimToken, attempts: [OPEN] });
  await runsOn('h2', 2);
  await world.clock.advance(60_000);
  expect([world.runs(), await world.claims()]).toEqual([[`${uuid} h2`], [`${uuid} h2`]]);
});

it('is in doubt, without a record, when its claim is the first of the store that went on', async () => {
  await restored({ state: 'deleted' });
  const request = world.opened(world.allocationRequest(world.random.uuid(), 'h1'));
  const consumers = [claimWrite(request, { kind: 'absent' })];
  const claimed = await world.placement.commit({ kind: 'write_allocations', atMs: world.clock.now(), consumers });
  const claimToken = claimed.kind === 'committed' ? claimed.claimToken : 0;
  const allocationRequest = world.allocationRequest(request.consumerUuid, 'h1');
  const unclaimed = [world.runningInstance(request.consumerUuid, 'h1', { allocationRequest, claimToken })];
  await world.sendDiscrepancy(world.discrepancy('h1', { unclaimed }));
  await world.clock.advance(100);
  expect((await world.all()).map((one) => one.uuid)).toEqual([uuid]);
});

it('is built when all hosts have said what runs there, and none that it does', async () => {
  await restored();
  await world.hearInFull('h1');
  await world.clock.advance(20_000);
  expect([world.orders, (await world.only()).state]).toEqual([[], 'scheduling']);
  expect(await world.instances.listDoubts()).toMatchObject([{ finding: 'unheard', host: 'h2', instanceUuid: '' }]);
  await world.hearInFull('h2');
  await world.clock.advance(10_000);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1' });
  expect([world.runs(), await world.claims()]).toEqual([[`${uuid} h1`], [`${uuid} h1`]]);
});

it('is looked at soon after it is certain, though it was taken as overdue before', async () => {
  const dueAtMs = world.clock.now() + 20_000;
  await restored({ dueAtMs }, { BERTH_CONDUCTOR_SCHEDULING_TIMEOUT_MS: '30000' });
  for (const host of ['h1', 'h2']) await world.hearInFull(host);
  await world.clock.advance(29_000);
  expect([world.orders, (await world.only()).state]).toEqual([[], 'scheduling']);
  await world.clock.advance(5_000);
  expect((await world.only()).state).toBe('active');
});

it.each([
  ['before the loss waits for all hosts', -1, [], 'scheduling'],
  ['after it does not', 1, ['h1'], 'active'],
])('of a request that was published %s', async (_what, publishedAfterMs, hosts, state) => {
  await world.clock.advance(100);
  const lostAtMs = world.clock.now();
  world.placement.goOn(lostAtMs);
  conductor = await world.conductor(undefined, {});
  await world.clock.advance(1_000);
  await world.request(1, uuid, lostAtMs + publishedAfterMs);
  await world.clock.advance(20_000);
  expect([world.orders.map(({ host }) => host), (await world.only()).state]).toEqual([hosts, state]);
});

it('of a request that was published before the store was new waits for all hosts, and is found where it runs', async () => {
  const wipedAtMs = world.clock.now();
  world = new ConductorWorld();
  await world.open({ h1: 10, h2: 10 }, wipedAtMs);
  conductor = await world.conductor(undefined, {});
  await world.clock.advance(1_000);
  await world.request(1, uuid, wipedAtMs - 1);
  await world.clock.advance(20_000);
  const [{ uuid: instanceUuid } = { uuid: '' }] = await world.all();
  expect([world.orders, (await world.only()).state]).toEqual([[], 'scheduling']);
  await world.hearInFull('h1');
  world.sealedAtMs = wipedAtMs - 1;
  const allocationRequest = world.allocationRequest(instanceUuid, 'h2');
  world.running.set(instanceUuid, new Set(['h2']));
  await world.hearInFull('h2', { unclaimed: [world.runningInstance(instanceUuid, 'h2', { allocationRequest })] });
  await world.clock.advance(60_000);
  expect([await world.only(), world.orders]).toMatchObject([{ state: 'active', host: 'h2', requestId: uuid }, []]);
});

it('is found where it runs, though its client asked again after the loss, and says it was for the first time', async () => {
  world = new ConductorWorld();
  await world.open({ h1: 1, h2: 1 });
  await Promise.all(['h1', 'h2'].map((host) => world.setFull(host)));
  await restored({ state: 'deleted' });
  await world.clock.advance(1_000);
  const requestId = world.random.uuid();
  const waits = { admission: { waitForCapacityMs: 600_000 } };
  await world.request(1, requestId, world.clock.now(), waits);
  await world.clock.advance(1_000);
  const [{ uuid: again } = { uuid: '' }] = (await world.all()).filter(({ state }) => state === 'pending');
  world.sealedAtMs = world.clock.now() - 2_500;
  const allocationRequest = world.allocationRequest(again, 'h2');
  world.running.set(again, new Set(['h2']));
  await world.hearInFull('h2', { unclaimed: [world.runningInstance(again, 'h2', { allocationRequest })] });
  await world.clock.advance(20_000);
  const record = (await world.all()).find((one) => one.uuid === again);
  expect([record, world.orders]).toMatchObject([{ state: 'active', host: 'h2', requestId }, []]);
});

/** It waits: one host was heard since the store lost writes, the other is down. */
async function waitsForSilentHost(): Promise<void> {
  await restored();
  await world.setUp('h2', false);
  await world.hearInFull('h1');
  await world.clock.advance(120_000);
  expect([world.orders, (await world.only()).state]).toEqual([[], 'scheduling']);
  const [doubt, ...others] = await world.instances.listDoubts();
  expect(doubt).toMatchObject({ finding: 'unheard', host: 'h2', instanceUuid: '' });
  expect([doubt?.message, others]).toEqual([expect.stringContaining('berth host delete'), []]);
}

it('is built nowhere else while a host is down on which it may run, and is found there when that is back', async () => {
  await waitsForSilentHost();
  await world.setUp('h2', true);
  await world.clock.advance(20_000);
  expect(world.orders).toEqual([]);
  const allocationRequest = world.allocationRequest(uuid, 'h2');
  world.running.set(uuid, new Set(['h2']));
  await world.hearInFull('h2', { unclaimed: [world.runningInstance(uuid, 'h2', { allocationRequest, attempt: 1 })] });
  await world.clock.advance(20_000);
  expect([await world.only(), world.orders]).toMatchObject([{ state: 'active', host: 'h2' }, []]);
});

it('is built when an operator deletes the silent host', async () => {
  await waitsForSilentHost();
  expect(await world.deleteHost('h2')).toBe('deleted');
  await world.clock.advance(20_000);
  expect(world.orders).toMatchObject([{ instanceUuid: uuid, host: 'h1' }]);
});

it('is built when an operator wants to delete the silent host, which has instances yet', async () => {
  await waitsForSilentHost();
  await anotherOnSilentHost();
  expect(await world.deleteHost('h2')).toMatchObject({ reason: 'host_has_instances' });
  await world.clock.advance(20_000);
  expect(world.orders).toMatchObject([{ instanceUuid: uuid, host: 'h1' }]);
});

it('is built when an operator evacuates what the silent host has on record', async () => {
  await waitsForSilentHost();
  const other = await anotherOnSilentHost();
  void world.operate(other, 'evacuate').catch(() => {});
  await world.clock.advance(20_000);
  expect(world.orders).toMatchObject([{ instanceUuid: uuid, host: 'h1' }]);
});

async function anotherOnSilentHost(): Promise<string> {
  const other = world.random.uuid();
  const attempts = [{ ...OPEN, host: 'h2', outcome: 'active' as const }];
  const there = { state: 'active', host: 'h2', claimToken: 1, dueAtMs: undefined, attempts } as const;
  await world.instances.create(other, [anInstance({ uuid: other, requestId: other, ...there })]);
  return other;
}

const BUILDING = { state: 'building', host: 'h1', claimToken: 1, attempts: [OPEN] } as const;

it('is not given up by a deadline, an audit or a late word before its host has said all that runs there', async () => {
  await restored(BUILDING);
  await world.hearInFull('h2');
  await world.clock.advance(120_000);
  const report = { instanceUuid: uuid, host: 'h1', attempt: 1, claimToken: 1, alternates: [] };
  await world.sendReport({ ...report, outcome: 'failed', reason: 'a copy', message: '', ...world.nextPosition('h1') });
  await world.clock.advance(120_000);
  expect([await world.only(), world.orders, world.destroys]).toMatchObject([BUILDING, [], []]);
  world.running.set(uuid, new Set(['h1']));
  await world.hearInFull('h1', { present: [world.runningInstance(uuid, 'h1', { claimToken: 1 })] });
  await world.clock.advance(120_000);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1' });
  expect([world.runs(), world.destroys]).toEqual([[`${uuid} h1`], []]);
});

it('is not given up while its host builds it, or has orders from before', async () => {
  await restored(BUILDING);
  await world.hearInFull('h2');
  await world.hearInFull('h1', { changing: [world.runningInstance(uuid, 'h1', { running: false })] });
  await world.clock.advance(120_000);
  expect(await world.only()).toMatchObject(BUILDING);
  await world.hearInFull('h1');
  await world.clock.advance(120_000);
  expect(await world.only()).toMatchObject({ attempts: [{ outcome: 'timed_out' }] });
});

/** Its host is dead, and was not heard since the store lost writes. */
async function buildingOnDeadHost(fields: Partial<InstanceRow> = {}): Promise<void> {
  await restored({ ...BUILDING, ...fields });
  await world.hearInFull('h2');
  await world.setUp('h1', false);
  await world.hearInFull('h2');
  await world.clock.advance(120_000);
}

it('on a dead host is shown in doubt, and given up when it is evacuated', async () => {
  await buildingOnDeadHost();
  expect(await world.only()).toMatchObject(BUILDING);
  expect(await world.instances.listDoubts()).toMatchObject([{ finding: 'unheard', host: 'h1', instanceUuid: uuid }]);
  void world.operate(uuid, 'evacuate');
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ attempts: [{ host: 'h1', outcome: 'timed_out' }, { host: 'h2' }] });
});

it('on a dead host is not given up when it is evacuated and no other host takes it', async () => {
  await buildingOnDeadHost();
  world.hosts = ['h1'];
  void world.operate(uuid, 'evacuate');
  await world.clock.advance(60_000);
  expect(await world.only()).toMatchObject({ ...BUILDING, fault: { reason: 'no_valid_host' } });
  world.running.set(uuid, new Set(['h1']));
  await world.setUp('h1', true);
  await world.hearInFull('h1', { present: [world.runningInstance(uuid, 'h1', { claimToken: 1 })] });
  await world.clock.advance(60_000);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', fault: undefined });
  expect([world.runs(), world.destroys]).toEqual([[`${uuid} h1`], []]);
});

it('remembers that it was shelved when no other host takes it', async () => {
  const formerState = 'shelved_offloaded' as const;
  await buildingOnDeadHost({ formerState });
  world.hosts = ['h1'];
  void world.operate(uuid, 'evacuate');
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ ...BUILDING, formerState, fault: { reason: 'no_valid_host' } });
});

it('is followed when its host, where nobody vouches for it, was heard: no second host is selected', async () => {
  await restored();
  const unclaimed = [world.runningInstance(uuid, 'h2', { attempt: 1 })];
  await world.hearInFull('h2', { unclaimed });
  await world.hearInFull('h1');
  await world.clock.advance(20_000);
  expect([(await world.only()).state, world.orders]).toEqual(['scheduling', []]);
  await runsOn('h2', 1);
  await world.clock.advance(20_000);
  expect([await world.only(), world.runs()]).toMatchObject([{ state: 'active', host: 'h2' }, [`${uuid} h2`]]);
});

const AT_SOURCE = { state: 'active', host: 'h1', claimToken: 1, dueAtMs: undefined } as const;

it.each<[string, (other: RunningInstance) => Partial<HostDiscrepancy>]>([
  ['lacks it', () => ({ missing: [uuid] })],
  ['keeps it for the move', (one) => ({ present: [{ ...one, handedOver: true, powerState: 'shutdown' }] })],
])('is followed to where a move has ended that is forgotten, when its source %s', async (_, said) => {
  await restored({ ...AT_SOURCE, attempts: [{ ...OPEN, outcome: 'active' }] });
  await world.hearInFull('h1', said(world.runningInstance(uuid, 'h1', { claimToken: 1 })));
  await world.clock.advance(0);
  await runsOn('h2', 2, 'h2', 5);
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h2', attempts: [{ outcome: 'moved' }, {}] });
  await world.clock.advance(60_000);
  expect([world.runs(), await world.claims()]).toEqual([[`${uuid} h2`], [`${uuid} h2`]]);
});

/** From h1 to h2, by the claim 5; overdue. */
function onItsWay(phase: 'claimed' | 'handing_over'): Partial<Instance> {
  const spec = { allocationRequest: '', requestSpec: '' };
  const source = { host: 'h1', attempt: 1, ...spec, claimToken: 1, activeAt: undefined };
  const migration = {
    uuid: migrationUuidOf(uuid),
    kind: 'migrate',
    phase,
    source,
    destination: { host: 'h2', attempt: 0, ...spec },
    targetHost: '',
    claimToken: 5,
    handover: '',
    confirmAfterMs: 0,
    confirmAtMs: undefined,
  } as const;
  const attempts = [{ ...OPEN, outcome: 'active' as const }];
  return { ...AT_SOURCE, state: 'resize', claimToken: 5, attempts, migration, dueAtMs: 1 };
}

it.each(['claimed', 'handing_over'] as const)(
  'is followed to the destination of its move, whose claim its record knows, though its %s is overdue',
  async (phase) => {
    await restored(onItsWay(phase));
    await world.clock.advance(20_000);
    await runsOn('h2', 2, 'h2', 5);
    await world.clock.advance(60_000);
    expect(await world.only()).toMatchObject({ state: 'active', host: 'h2', attempts: [{ outcome: 'moved' }, {}] });
    expect([world.runs(), world.orders]).toEqual([[`${uuid} h2`], []]);
  },
);

it.each(['claimed', 'handing_over'] as const)(
  'is followed back to the source of its move, which the store has gone back to as %s',
  async (phase) => {
    await restored(onItsWay(phase));
    await world.clock.advance(20_000);
    await runsOn('h1', 3, 'h1', 7);
    await world.clock.advance(60_000);
    expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', migration: undefined });
    expect([world.runs(), await world.claims(), world.orders]).toEqual([[`${uuid} h1`], [`${uuid} h1`], []]);
  },
);

it('goes on with its way back when the host that it comes from was deleted: that is dead, and is not waited for', async () => {
  const onTheWay = onItsWay('claimed');
  const back = { ...OPEN, number: 3 };
  const attempts = [
    { ...OPEN, outcome: 'active' },
    { ...OPEN, host: 'h2', number: 2, outcome: 'reverted' },
    back,
  ] as const;
  const migration = {
    ...onTheWay.migration,
    phase: 'returning',
    destination: { ...onTheWay.migration?.destination, attempt: 2 },
  };
  await restored({ ...onTheWay, state: 'revert_resize', attempts, migration } as Partial<InstanceRow>);
  await world.placement.commit({ kind: 'delete_host', atMs: world.clock.now(), host: 'h2' });
  await world.hearInFull('h1');
  await world.clock.advance(60_000);
  expect(world.orders).toMatchObject([{ instanceUuid: uuid, host: 'h1', attempt: 3 }]);
});

it.each([1, 2])(
  'is followed though its claim at the source was made again since the first of %i losses',
  async (losses) => {
    await restored({ ...AT_SOURCE, attempts: [{ ...OPEN, outcome: 'active' }] });
    const record = await world.only();
    const claimToken = world.clock.now() * 1_000;
    await world.instances.update({ ...record, claimToken, version: record.version + 1 });
    if (losses > 1) {
      await world.hearInFull('h1');
      await world.clock.advance(100);
      world.placement.goOn(world.clock.now());
      await world.clock.advance(20_000);
    }
    const kept = world.runningInstance(uuid, 'h1', { claimToken: 1, handedOver: true, powerState: 'shutdown' });
    await world.hearInFull('h1', { present: [kept] });
    await world.clock.advance(0);
    await runsOn('h2', 2, 'h2', 5);
    await world.clock.advance(60_000);
    expect([await world.only(), world.runs()]).toMatchObject([{ state: 'active', host: 'h2' }, [`${uuid} h2`]]);
  },
);

it('keeps the claim of a forgotten move where it runs until that is claimed again', async () => {
  const claim = async (host: string, fields: object) => {
    const write = claimWrite(world.opened(world.allocationRequest(uuid, host)), { kind: 'absent' });
    const consumers = [{ ...write, ...fields }];
    await world.placement.commit({ kind: 'write_allocations', atMs: world.clock.now(), consumers });
  };
  await claim('h1', {});
  await claim('h2', { uuid: migrationUuidOf(uuid), consumerType: MIGRATION_CONSUMER });
  const attempts = [{ ...OPEN, host: 'h2', number: 3, outcome: 'active' as const }];
  const allocationRequest = world.allocationRequest(uuid, 'h2');
  await restored({
    state: 'active',
    host: 'h2',
    claimToken: undefined,
    attempts,
    allocationRequest,
    dueAtMs: undefined,
  });
  world.running.set(uuid, new Set(['h2']));
  const present = [world.runningInstance(uuid, 'h2', { attempt: 3 })];
  for (const [host, said] of [
    ['h1', {}],
    ['h2', { present }],
  ] as const)
    await world.hearInFull(host, said);
  const placesHeld = async () => {
    const held = await world.placement.consumers([uuid, migrationUuidOf(uuid)]);
    return held.map(({ uuid: holder, allocations }) => [holder, Object.keys(allocations).join()]);
  };
  const [, [, place] = []] = await placesHeld();
  const commit = world.placement.commit.bind(world.placement);
  const isHeld: boolean[] = [];
  world.placement.commit = async (command) => {
    const result = await commit(command);
    isHeld.push((await placesHeld()).some(([, on]) => on === place));
    return result;
  };
  await world.clock.advance(120_000);
  expect(new Set(isHeld)).toEqual(new Set([true]));
  expect(await placesHeld()).toEqual([[uuid, place]]);
});

it('is a stray on any host when it is of another project, whose uuid was given again', async () => {
  await restored({ state: 'error', attempts: [{ ...OPEN, outcome: 'timed_out' }], dueAtMs: undefined });
  const others = world.runningInstance(uuid, 'h1', { projectId: 'project-2' });
  world.running.set(uuid, new Set(['h1']));
  await world.sendDiscrepancy(world.discrepancy('h1', { unclaimed: [others] }));
  await world.clock.advance(60_000);
  expect([world.runs(), world.destroys]).toEqual([[`${uuid} h1`], []]);
});

it('is left where it runs, whoever says that a later attempt runs elsewhere', async () => {
  await restored({ ...AT_SOURCE, attempts: [{ ...OPEN, outcome: 'active' }] });
  await world.hearInFull('h1', { present: [world.runningInstance(uuid, 'h1', { claimToken: 1 })] });
  await runsOn('h2', 2, 'h2', 5);
  await world.clock.advance(0);
  expect([(await world.only()).host, world.destroys]).toEqual(['h1', []]);
});

it.each<[string, number, string]>([
  ['ends in ERROR', 1, 'error'],
  ['is left', 2, 'active'],
])('%s when its host lost it and another runs it by attempt %i of two', async (_, attempt, state) => {
  const attempts = [
    { ...OPEN, host: 'h2' },
    { ...OPEN, number: 2, outcome: 'active' as const },
  ];
  await restored({ ...AT_SOURCE, claimToken: 5, attempts });
  await world.hearInFull('h1', { missing: [uuid] });
  await world.hearInFull('h2');
  await world.clock.advance(20_000);
  await runsOn('h2', attempt, 'h2', 1);
  await world.sendDiscrepancy(world.discrepancy('h1', { missing: [uuid] }));
  await world.clock.advance(0);
  expect([(await world.only()).state, world.runs(), world.destroys]).toEqual([state, [`${uuid} h2`], []]);
});

it.each(['evacuate', 'migrate', 'start', 'shelve'] as const)(
  'is not asked to %s before all hosts were heard',
  async (what) => {
    const state = what === 'start' ? 'stopped' : 'active';
    await restored({ ...AT_SOURCE, state, attempts: [{ ...OPEN, outcome: 'active' }] });
    if (what === 'evacuate') await world.setUp('h1', false);
    const refused = world.operate(uuid, what).catch((error: { reason: string }) => error.reason);
    await world.clock.advance(10_000);
    expect([await refused, (await world.only()).state]).toEqual(['store_lost_writes', state]);
  },
);

it.each([
  ['nobody sealed it for that host', 2, 'h1'],
  ['the record knows of a later attempt there', 0, 'h2'],
])('stays as it is when a host says that it runs, and %s', async (_, attempt, sealedFor) => {
  await restored();
  await runsOn('h2', attempt, sealedFor);
  await world.clock.advance(1_000);
  expect([(await world.only()).state, await world.claims(), world.destroys]).toEqual(['scheduling', [], []]);
});

it.each([1, 3])(
  'is claimed again where it runs by attempt %i, and a claim that the store has forgotten',
  async (attempt) => {
    const consumers = [claimWrite(world.opened(world.allocationRequest(uuid, 'h1')), { kind: 'absent' })];
    const claimed = await world.placement.commit({ kind: 'write_allocations', atMs: world.clock.now(), consumers });
    const claimToken = claimed.kind === 'committed' ? claimed.claimToken : 0;
    const attempts = [{ ...OPEN, outcome: 'active' }] as const;
    const allocationRequest = world.allocationRequest(uuid, 'h1');
    const dueAtMs = undefined;
    await restored({ state: 'active', host: 'h1', claimToken, attempts, allocationRequest, dueAtMs });
    world.running.set(uuid, new Set(['h1']));
    const present = [world.runningInstance(uuid, 'h1', { attempt, claimToken: claimToken + 5 })];
    for (let reports = 0; reports < 2; reports++) {
      await world.sendDiscrepancy(world.discrepancy('h1', { present }));
      await world.clock.advance(40_000);
    }
    const record = await world.only();
    const [held] = await world.placement.consumers([uuid]);
    expect(record).toMatchObject({ state: 'active', host: 'h1', claimToken: held?.claimToken });
    expect(held?.claimToken).toBeGreaterThan(claimToken + 5);
    expect(record.attempts.at(-1)).toMatchObject({ host: 'h1', number: attempt });
  },
);

it.each([
  ['running', 'active', 'active'],
  ['shutdown', 'active', 'stopped'],
  ['running', 'stopping', 'stopped'],
] as const)(
  'on its host by a later attempt, %s, one that was %s is %s, and ordered by that attempt',
  async (powerState, state, is) => {
    const attempts = [{ ...OPEN, outcome: 'active' }] as const;
    await restored({ state, host: 'h1', claimToken: 1, attempts });
    world.running.set(uuid, new Set(['h1']));
    const present = [world.runningInstance(uuid, 'h1', { attempt: 3, claimToken: 9, powerState })];
    await world.sendDiscrepancy(world.discrepancy('h1', { unclaimed: present }));
    await world.clock.advance(20_000);
    expect(await world.only()).toMatchObject({ state: is, host: 'h1' });
    expect((await world.only()).attempts.at(-1)).toMatchObject({ host: 'h1', number: 3, outcome: 'active' });
  },
);

it.each(['terminate', 'shelve'] as const)(
  'is there by a claim that the store has forgotten: to %s it ends that',
  async (wish) => {
    const attempts: readonly Attempt[] = [{ ...OPEN, outcome: 'active' }];
    await restored({ state: 'active', host: 'h1', claimToken: 1, attempts, dueAtMs: undefined });
    for (const host of ['h1', 'h2']) await world.hearInFull(host);
    await world.clock.advance(30_000);
    world.heedsDestroy = false;
    if (wish === 'terminate') await world.terminate(uuid);
    else void world.operate(uuid, 'shelve');
    await world.clock.advance(0);
    const { state } = await world.only();
    const sayDestroyed = (attempt: number, claimToken: number, keptClaimToken: number) => {
      const what = { outcome: 'destroyed', keptClaimToken, reason: '', message: '', alternates: [] } as const;
      const about = { instanceUuid: uuid, host: 'h1', attempt, claimToken };
      return world.sendReport({ ...about, ...what, ...world.nextPosition('h1') });
    };
    await sayDestroyed(1, 9, 9);
    await world.clock.advance(0);
    expect(world.destroys.at(-1)).toMatchObject({ host: 'h1', attempt: 0, claimToken: 9, report: true });
    expect((await world.only()).state).toBe(state);
    await sayDestroyed(1, 9, 0);
    await world.clock.advance(0);
    expect((await world.only()).state).toBe(wish === 'terminate' ? 'deleted' : 'shelved_offloaded');
  },
);

/** Records of before a loss are kept for a day. */
const LONG_AFTER_MS = 25 * 3_600_000;
const SELDOM = { BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '3600000' };

it('is destroyed by all claims from before on its dead host, before its deletion is forgotten', async () => {
  const attempts = [{ ...OPEN, outcome: 'active' as const }];
  await restored({ state: 'deleted', host: 'h1', updatedAtMs: 1, dueAtMs: undefined, attempts }, SELDOM);
  const upTo = world.clock.now() * 1_000;
  await world.setUp('h1', false);
  await world.clock.advance(LONG_AFTER_MS);
  expect(await world.instances.get([uuid])).toEqual([]);
  expect(world.destroys).toMatchObject([
    { host: 'h1', attempt: 1, claimToken: 0 },
    { host: 'h1', attempt: 0 },
  ]);
  const [, later] = world.destroys;
  expect(later?.claimToken).toBeGreaterThan(upTo - 1_000_000);
  expect(later?.claimToken).toBeLessThanOrEqual(upTo);
});

it('is destroyed on a host that was deleted since, before its record is forgotten', async () => {
  const attempts = [{ ...OPEN, outcome: 'evacuated' as const }];
  await restored({ state: 'error', host: 'h2', updatedAtMs: 1, dueAtMs: undefined, attempts }, SELDOM);
  await world.setUp('h1', false);
  await world.placement.commit({ kind: 'delete_host', atMs: world.clock.now(), host: 'h1' });
  expect(await world.placement.hosts(['h1'])).toEqual([]);
  await world.clock.advance(LONG_AFTER_MS);
  expect(await world.instances.get([uuid])).toEqual([]);
  expect(world.destroys).toMatchObject([{ host: 'h1', attempt: 1 }]);
});

it('is destroyed on a host that is carried, and was deleted: the order goes to its agent before the deletion', async () => {
  await world.carryTogether('rack', ['h1']);
  const stop = await world.serveOrdersUntil('rack');
  await restored({ state: 'active', host: 'h2', dueAtMs: undefined, attempts: [{ ...OPEN, outcome: 'evacuated' }] });
  await world.setUp('h1', false);
  expect(await world.deleteHost('h1')).toBe('deleted');
  expect(world.destroys).toMatchObject([{ instanceUuid: uuid, host: 'h1', attempt: 1 }]);
  await stop();
});

describe('a host that shows again what was sealed for instances that ended', () => {
  const RETENTION_MS = 3_600_000;
  const lostAtMs = 10 * RETENTION_MS;
  const next = lostAtMs * 1_000;
  const wiped = [{ last: undefined, next }];
  const wentBack = [{ last: next - RETENTION_MS * 5_000, next }];
  const soon = lostAtMs + 60_000;

  it.each<[string, Parameters<typeof mayBeForgotten>[0], LostWrites['losses'], number, boolean]>([
    ['of a store that lost nothing', { sealedAtMs: 1, storeRevision: 1 }, [], soon, false],
    ['sealed before a store was wiped', { sealedAtMs: lostAtMs - 1, storeRevision: 1 }, wiped, soon, true],
    ['sealed since', { sealedAtMs: lostAtMs + 2_000, storeRevision: next + 9 }, wiped, soon, false],
    ['sealed since, by a conductor', { sealedAtMs: lostAtMs + 2_000 }, wiped, soon, false],
    ['long after the store was wiped', { sealedAtMs: 1 }, wiped, lostAtMs + 25 * RETENTION_MS, false],
    ['that do not say when, of a wiped store', {}, wiped, soon, true],
    ['that do not say when, of one that went back', {}, wentBack, soon, false],
    ['of what was lost', { sealedAtMs: 1, storeRevision: next - RETENTION_MS * 4_000 }, wentBack, soon, true],
    ['known to the store', { sealedAtMs: 1, storeRevision: next - RETENTION_MS * 6_000 }, wentBack, soon, false],
    ['of just before the loss', { sealedAtMs: lostAtMs - 500, storeRevision: 1 }, wentBack, soon, true],
    ['so old that its end was forgotten', { sealedAtMs: lostAtMs - RETENTION_MS - 1 }, wentBack, soon, false],
  ])('seals %s', (_, sealing, losses, nowMs, may) => {
    const lost = { beforeToken: next, upToMs: lostAtMs, losses };
    expect(mayBeForgotten(sealing, lost, { nowMs, retentionMs: RETENTION_MS })).toBe(may);
  });

  it('gets nothing for 40 of them, whatever claims it says that they had, and is in doubt', async () => {
    conductor = await world.conductor(undefined, { BERTH_CONDUCTOR_RETENTION_MS: '60000' });
    world.sealedAtMs = world.clock.now();
    const unclaimed = Array.from({ length: 40 }, () => {
      const ended = world.random.uuid();
      return world.runningInstance(ended, 'h1', {
        allocationRequest: world.allocationRequest(ended, 'h1'),
        claimToken: 1,
      });
    });
    await world.clock.advance(120_000);
    world.placement.goOn(world.clock.now());
    await world.disagreeTwice('h1', { unclaimed });
    await world.clock.advance(1_000);
    expect([await world.all(), await world.claims()]).toEqual([[], []]);
    expect(await world.instances.listDoubts()).toHaveLength(40);
  });

  it('gets no more than it has, though each was sealed for what the store has lost; the rest is in doubt', async () => {
    conductor = await world.conductor();
    world.sealedAtMs = world.clock.now();
    const unclaimed = Array.from({ length: 40 }, () => {
      const shown = world.random.uuid();
      return world.runningInstance(shown, 'h1', { allocationRequest: world.allocationRequest(shown, 'h1') });
    });
    world.placement.goOn(world.clock.now());
    await world.disagreeTwice('h1', { unclaimed });
    await world.clock.advance(1_000);
    expect([(await world.all()).length, (await world.claims()).length]).toEqual([10, 10]);
    expect(await world.instances.listDoubts()).toHaveLength(30);
    expect(world.destroys).toEqual([]);
  });

  it('gets no more than it had by what was sealed, though it reports more now', async () => {
    conductor = await world.conductor();
    world.sealedAtMs = world.clock.now();
    world.sealedCapacities = { VCPU: 4 };
    const seals = (count: number) =>
      Array.from({ length: count }, () => {
        const shown = world.random.uuid();
        return world.runningInstance(shown, 'h1', { allocationRequest: world.allocationRequest(shown, 'h1') });
      });
    const older = seals(6);
    world.placement.goOn(world.clock.now());
    await world.disagreeTwice('h1', { unclaimed: older });
    await world.clock.advance(1_000);
    expect([(await world.claims()).length, (await world.instances.listDoubts()).length]).toEqual([4, 2]);
    // It had grown before the loss, as what was sealed later says.
    world.sealedCapacities = { VCPU: 8 };
    await world.disagreeTwice('h1', { unclaimed: [...older, ...seals(1)] });
    await world.clock.advance(1_000);
    expect(await world.claims()).toHaveLength(7);
  });

  it('gets none of them twice: what its client ended again does not come back', async () => {
    conductor = await world.conductor(undefined, { BERTH_CONDUCTOR_RETENTION_MS: '60000' });
    world.sealedAtMs = world.clock.now();
    const allocationRequest = world.allocationRequest(uuid, 'h1');
    const shows = () => {
      const unclaimed = [world.runningInstance(uuid, 'h1', { allocationRequest })];
      return world.sendDiscrepancy(world.discrepancy('h1', { unclaimed }));
    };
    world.placement.goOn(world.clock.now());
    await world.clock.advance(10_000);
    await shows();
    await world.clock.advance(1_000);
    expect(await world.claims()).toEqual([`${uuid} h1`]);
    await world.terminate(uuid);
    await world.clock.advance(600_000);
    await shows();
    await world.clock.advance(1_000);
    expect([(await world.all()).map(({ state }) => state), await world.claims()]).toEqual([['deleted'], []]);
  });

  it('has what runs kept above the quota of its project, and shown', async () => {
    conductor = await world.conductor();
    world.sealedAtMs = world.clock.now();
    const limits = { cohort: undefined, borrowLimits: {}, unset: [], version: 0 } as const;
    const quota = { kind: 'write_quota', projectId: 'project-1', limits: { instances: 1 }, ...limits } as const;
    await world.placement.commit({ ...quota, atMs: world.clock.now() });
    const unclaimed = Array.from({ length: 2 }, () => {
      const shown = world.random.uuid();
      return world.runningInstance(shown, 'h1', { allocationRequest: world.allocationRequest(shown, 'h1') });
    });
    world.placement.goOn(world.clock.now());
    await world.disagreeTwice('h1', { unclaimed });
    await world.clock.advance(1_000);
    const reasons = (await world.all()).map(({ state, attempts }) => `${state} ${attempts[0]?.reason}`);
    expect(reasons.sort()).toEqual(['active adopted', 'active adopted_above_quota']);
  });
});
