import type { BuildInstance } from '#libs/contracts/compute';
import type { GangMembers } from '#libs/contracts/member-kinds';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Instance, OnLoss } from '#libs/domain/instance';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Running } from '#libs/runtime/service';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { ConductorWorld } from './testing/conductor-world';

let world: ConductorWorld;
let conductor: Running;

async function start(hosts: Readonly<Record<string, number>>): Promise<void> {
  world = new ConductorWorld();
  await world.open(hosts);
  conductor = await world.conductor();
}

afterEach(async () => {
  await world.closed(conductor);
});

async function gang(count: number, minCount: number): Promise<string> {
  const requestId = await world.request(count, undefined, undefined, { minCount });
  await world.clock.advance(0);
  return requestId;
}

const statesOf = (instances: readonly Instance[]) => instances.map(({ state }) => state).sort();
const faultsOf = (instances: readonly Instance[]) => instances.map(({ fault }) => fault?.reason ?? 'none').sort();

it('builds as many of a gang as find a host, and says of the others why not', async () => {
  await start({ h1: 1, h2: 1 });
  await gang(3, 2);
  const all = await world.all();
  expect(statesOf(all)).toEqual(['active', 'active', 'error']);
  expect(all.find(({ state }) => state === 'error')).toMatchObject({
    fault: { reason: 'no_valid_host' },
    dueAtMs: undefined,
  });
  expect(world.runs()).toEqual(await world.claims());
});

it('builds none of a gang when fewer than its minimum find a host', async () => {
  await start({ h1: 1, h2: 1 });
  await gang(4, 3);
  expect(faultsOf(await world.all())).toEqual(Array(4).fill('no_valid_host'));
  await world.clock.advance(20_000);
  expect(await world.claims()).toEqual([]);
  expect(world.orders).toEqual([]);
});

it('destroys what was built of a gang when too few can become ACTIVE, with the failure on record first', async () => {
  await start({ h1: 1, h2: 1, h3: 1 });
  world.behaviour.set('h3', 'fails');
  await gang(3, 3);
  await world.clock.advance(1_000);
  const all = await world.all();
  expect(faultsOf(all)).toEqual(['gang_failed', 'gang_failed', 'hosts_exhausted']);
  const failed = all.find(({ fault }) => fault?.reason === 'hosts_exhausted');
  const undone = all.filter(({ fault }) => fault?.reason === 'gang_failed');
  for (const { fault, attempts } of undone) {
    expect(fault?.message).toContain(`${failed?.name} (${failed?.uuid}) failed, and 3 of 3 were to be ACTIVE`);
    expect(fault?.message).toContain('h3 said');
    expect(attempts.at(-1)).toMatchObject({ outcome: 'rolled_back' });
  }
  expect([world.runs(), await world.claims()]).toEqual([[], []]);
  expect(all.every(({ dueAtMs }) => dueAtMs === undefined)).toBe(true);
  const told = world.events.filter(({ instanceUuid }) => instanceUuid === undone[0]?.uuid).map(({ state }) => state);
  expect(told).toEqual(['scheduling', 'building', 'active', 'undoing', 'error']);
  expect(world.harmed).toEqual([]);
});

it('leaves a gang alone whose minimum can still be reached, and each to itself once it was', async () => {
  await start({ h1: 1, h2: 1, h3: 1 });
  world.behaviour.set('h3', 'fails');
  await gang(3, 2);
  await world.clock.advance(1_000);
  expect(faultsOf(await world.all())).toEqual(['hosts_exhausted', 'none', 'none']);
  const lost = (await world.all()).find(({ state }) => state === 'active') as Instance;
  world.running.delete(lost.uuid);
  await world.disagreeTwice(lost.host ?? '', { missing: [lost.uuid] });
  await world.clock.advance(1_000);
  expect(statesOf(await world.all())).toEqual(['active', 'error', 'error']);
  expect(world.destroys).toEqual([]);
});

it('counts one that its client terminates neither as failed nor as missing', async () => {
  await start({ h1: 1, h2: 1, h3: 1 });
  world.behaviour.set('h3', 'late');
  await gang(3, 3);
  const late = (await world.all()).find(({ state }) => state === 'building') as Instance;
  await world.terminate(late.uuid);
  await world.clock.advance(1_000);
  expect(statesOf(await world.all())).toEqual(['active', 'active', 'deleted']);
  expect(world.runs()).toEqual(await world.claims());
});

it('ends one that its client terminates while its gang is undone, and the failure counts all the same', async () => {
  await start({ h1: 1, h2: 1, h3: 1 });
  world.behaviour.set('h1', 'late');
  world.behaviour.set('h3', 'is silent');
  await gang(3, 3);
  for (const { uuid, host } of await world.all()) if (host === 'h3') await world.terminate(uuid);
  world.behaviour.set('h2', 'is silent');
  // The one on h1 is never reported, times out, finds no alternate, and fails for good.
  await world.clock.advance(60_000);
  expect(statesOf(await world.all())).toEqual(['deleted', 'error', 'error']);
  expect(faultsOf(await world.all())).toEqual(['gang_failed', 'hosts_exhausted', 'none']);
  expect(await world.claims()).toEqual([]);
});

it('destroys what a host says is ACTIVE of a gang that was undone, however late', async () => {
  await start({ h1: 1, h2: 1, h3: 1 });
  world.behaviour.set('h1', 'late');
  world.behaviour.set('h3', 'fails');
  await gang(3, 3);
  await world.clock.advance(20_000);
  const order = world.orders.find(({ host }) => host === 'h1');
  if (!order) throw new Error('h1 was told nothing');
  world.running.set(order.instanceUuid, new Set(['h1']));
  await world.report(order, 'active');
  await world.clock.advance(1_000);
  expect(faultsOf(await world.all())).toEqual(['gang_failed', 'gang_failed', 'hosts_exhausted']);
  expect([world.runs(), await world.claims(), world.harmed]).toEqual([[], [], []]);
});

describe('with a policy for losses', () => {
  const SETTINGS = { BERTH_CONDUCTOR_REBUILD_AFTER_MS: '5000' };

  async function activeGang(
    hosts: Readonly<Record<string, number>>,
    size: number,
    fields: { minCount: number; onLoss: OnLoss; furtherMembers?: readonly GangMembers[] },
  ): Promise<readonly Instance[]> {
    world = new ConductorWorld();
    await world.open(hosts);
    conductor = await world.conductor(undefined, SETTINGS);
    await world.request(size, undefined, undefined, fields);
    await world.clock.advance(0);
    return world.all();
  }

  /** Two reports in a row lack what was on a host. */
  async function loses(host: string): Promise<string[]> {
    const there = (await world.all()).filter((one) => one.host === host).map(({ uuid }) => uuid);
    for (const uuid of there) world.running.delete(uuid);
    await world.disagreeTwice(host, { missing: there });
    await world.clock.advance(0);
    return there;
  }

  it('builds a lost member again, and the copy that its host shows later is destroyed', async () => {
    await activeGang({ h1: 1, h2: 1, h3: 1 }, 2, { minCount: 2, onLoss: 'restore' });
    const [lost = ''] = await loses('h1');
    const waiting = (await world.all()).find(({ uuid }) => uuid === lost);
    expect(waiting).toMatchObject({ state: 'pending', host: undefined, fault: { reason: 'instance_lost' } });
    await world.clock.advance(5_000);
    const all = await world.all();
    expect(statesOf(all)).toEqual(['active', 'active']);
    const restored = all.find(({ uuid }) => uuid === lost) as Instance;
    expect(restored.attempts.map(({ outcome }) => outcome)).toEqual(['evacuated', 'active']);
    expect(world.runs()).toEqual(await world.claims());
    world.running.get(lost)?.add('h3');
    await world.sendDiscrepancy(
      world.discrepancy('h3', { unclaimed: [world.runningInstance(lost, 'h3', { attempt: 1, claimToken: 0 })] }),
    );
    await world.clock.advance(1_000);
    expect(world.harmed).toEqual([]);
  });

  it('builds a lost member that was stopped again, stopped', async () => {
    const all = await activeGang({ h1: 1, h2: 1, h3: 1 }, 2, { minCount: 2, onLoss: 'restore' });
    const onH1 = all.find(({ host }) => host === 'h1')?.uuid ?? '';
    await world.operate(onH1, 'stop');
    await world.clock.advance(100);
    world.stopped.delete(`${onH1} h1`);
    await loses('h1');
    const lost = (await world.all()).find(({ uuid }) => uuid === onH1);
    expect([lost?.state, lost?.formerState]).toEqual(['pending', 'stopped']);
    await world.clock.advance(5_000);
    const restored = (await world.all()).find(({ uuid }) => uuid === onH1);
    expect(restored).toMatchObject({ state: 'stopped', formerState: undefined, fault: undefined });
    expect(world.orders.at(-1)?.powerState).toBe('shutdown');
    expect(await world.claims()).toEqual(world.runs());
  });

  it('builds a member again whose source has lost it on its move', async () => {
    const all = await activeGang({ h1: 1, h2: 1, h3: 1 }, 2, { minCount: 2, onLoss: 'restore' });
    const moved = all.find(({ host }) => host === 'h1') as Instance;
    await world.operate(moved.uuid, 'migrate');
    await world.clock.advance(1_000);
    expect((await world.all()).find(({ uuid }) => uuid === moved.uuid)).toMatchObject({
      state: 'verify_resize',
      host: 'h3',
    });
    world.behaviour.set('h1', 'is silent');
    for (const host of ['h3', 'h1']) {
      const order = world.orders.at(-1) as BuildInstance;
      expect(order).toMatchObject({ instanceUuid: moved.uuid, host });
      world.running.get(moved.uuid)?.delete(host);
      await world.report(order, 'lost');
      await world.clock.advance(1_000);
    }
    await world.clock.advance(10_000);
    const restored = (await world.all()).find(({ uuid }) => uuid === moved.uuid);
    expect(restored).toMatchObject({ state: 'active', migration: undefined });
    expect(await world.claims()).toEqual(world.runs());
  });

  it('doubts one report that lacks a member, and restores nothing', async () => {
    await activeGang({ h1: 1, h2: 1 }, 2, { minCount: 2, onLoss: 'restore' });
    const [one] = (await world.all()).filter(({ host }) => host === 'h1');
    await world.sendDiscrepancy(world.discrepancy('h1', { missing: [one?.uuid ?? ''] }));
    await world.clock.advance(5_000);
    expect(statesOf(await world.all())).toEqual(['active', 'active']);
    expect(world.destroys).toEqual([]);
  });

  it('restores two lost members together: none while there is room for fewer than its minimum needs', async () => {
    await activeGang({ h1: 2, h2: 1 }, 3, { minCount: 3, onLoss: 'restore' });
    expect(await loses('h1')).toHaveLength(2);
    await world.setFull('h1');
    await world.clock.advance(10_000);
    expect(statesOf(await world.all())).toEqual(['active', 'pending', 'pending']);
    await world.setUp('h2', true);
    await world.clock.advance(10_000);
    expect(statesOf(await world.all())).toEqual(['active', 'active', 'active']);
  });

  it('ends a gang that a loss brings below its minimum, and not before', async () => {
    await activeGang({ h1: 1, h2: 1, h3: 1 }, 3, { minCount: 2, onLoss: 'end' });
    await loses('h1');
    await world.clock.advance(1_000);
    expect(statesOf(await world.all())).toEqual(['active', 'active', 'error']);
    await loses('h2');
    await world.clock.advance(1_000);
    const all = await world.all();
    expect(faultsOf(all)).toEqual(['gang_failed', 'instance_lost', 'instance_lost']);
    const ended = all.find(({ fault }) => fault?.reason === 'gang_failed');
    expect(ended?.fault?.message).toContain('was lost, 1 of its gang are left, and 2 are its minimum');
    expect([world.runs(), await world.claims(), world.harmed]).toEqual([[], [], []]);
    expect(all.every(({ dueAtMs }) => dueAtMs === undefined)).toBe(true);
  });

  it('counts a member that its client terminates as gone, and ends nothing for that alone', async () => {
    const all = await activeGang({ h1: 1, h2: 1, h3: 1 }, 3, { minCount: 3, onLoss: 'end' });
    await world.terminate(all[0]?.uuid ?? '');
    await world.clock.advance(1_000);
    expect(statesOf(await world.all())).toEqual(['active', 'active', 'deleted']);
  });

  it('gives up what is on dead hosts when its gang ends at a loss, and destroys it there once they are back', async () => {
    await activeGang({ h1: 1, h2: 1, h3: 1 }, 3, { minCount: 2, onLoss: 'end' });
    const onH1 = (await world.all()).find(({ host }) => host === 'h1') as Instance;
    for (const host of ['h1', 'h2']) world.behaviour.set(host, 'is dead');
    await world.setUp('h1', false);
    await world.setUp('h3', true);
    await world.clock.advance(30_000);
    expect(faultsOf(await world.all()).filter((reason) => reason === 'none')).toEqual([]);
    expect(await world.claims()).toEqual([]);
    await world.comesBack('h1');
    expect(world.running.get(onH1.uuid)?.has('h1') ?? false).toBe(false);
  });

  it('keeps what is on a dead host while its gang has its minimum without it', async () => {
    await activeGang({ h1: 1, h2: 1, h3: 1 }, 3, { minCount: 2, onLoss: 'end' });
    world.behaviour.set('h1', 'is dead');
    await world.setUp('h1', false);
    for (const host of ['h2', 'h3']) await world.setUp(host, true);
    await world.clock.advance(30_000);
    expect(statesOf(await world.all())).toEqual(['active', 'active', 'unknown']);
    expect(world.destroys).toEqual([]);
  });

  it('ends the leader when all of its workers are lost', async () => {
    const workers = { requestSpec: anEncodedSpec({ resources: { VCPU: 1 } }), count: 2, minCount: 1, name: 'worker' };
    await activeGang({ h1: 1, h2: 2 }, 1, { minCount: 1, onLoss: 'end', furtherMembers: [workers] });
    expect(await loses('h2')).toHaveLength(2);
    await world.clock.advance(1_000);
    expect(faultsOf(await world.all())).toEqual(['gang_failed', 'instance_lost', 'instance_lost']);
    expect(world.runs()).toEqual([]);
  });

  it('refuses a policy without a gang', async () => {
    await activeGang({ h1: 1 }, 1, { minCount: 0, onLoss: 'end' });
    expect(await world.all()).toEqual([]);
  });
});

describe('of several kinds', () => {
  const workers = (count: number, minCount = 0, fields: Partial<RequestSpec> = {}) => {
    return { requestSpec: anEncodedSpec({ resources: { VCPU: 1 }, ...fields }), count, minCount, name: 'worker' };
  };

  async function ofKinds(furtherMembers: readonly GangMembers[]): Promise<readonly Instance[]> {
    await world.request(1, undefined, undefined, { furtherMembers });
    await world.clock.advance(0);
    return world.all();
  }

  it('selects for all kinds in one call, and keeps the spec of each', async () => {
    await start({ h1: 1, h2: 2 });
    const all = await ofKinds([workers(2, 0, { requiredTraits: ['HW_CPU_X86_AVX2'] })]);
    expect(world.askedKinds.map((kinds) => kinds.map(({ length }) => length))).toEqual([[1, 2]]);
    const byName = all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    expect(byName.map(({ name, gang: its }) => [name, its])).toEqual([
      ['web', { minCount: 1, count: 1, kind: 0 }],
      ['worker-1', { minCount: 2, count: 2, kind: 1 }],
      ['worker-2', { minCount: 2, count: 2, kind: 1 }],
    ]);
    const traits = byName.map(({ requestSpec }) => requestSpecCodec.decode(requestSpec).requiredTraits);
    expect(traits).toEqual([[], ['HW_CPU_X86_AVX2'], ['HW_CPU_X86_AVX2']]);
    expect(statesOf(all)).toEqual(['active', 'active', 'active']);
  });

  it('destroys the workers when the leader fails, however many workers there are', async () => {
    await start({ h1: 1, h2: 3 });
    world.behaviour.set('h1', 'fails');
    await ofKinds([workers(3, 1)]);
    await world.clock.advance(1_000);
    expect(faultsOf(await world.all())).toEqual(['gang_failed', 'gang_failed', 'gang_failed', 'hosts_exhausted']);
    expect([world.runs(), await world.claims()]).toEqual([[], []]);
  });

  it('goes on without a worker that its kind can spare', async () => {
    await start({ h1: 2, h2: 1 });
    world.behaviour.set('h2', 'fails');
    await ofKinds([workers(2, 1)]);
    await world.clock.advance(1_000);
    expect(faultsOf(await world.all())).toEqual(['hosts_exhausted', 'none', 'none']);
  });

  it('refuses kinds of several projects before anything is written', async () => {
    await start({ h1: 1 });
    await ofKinds([workers(1, 0, { projectId: 'another' })]);
    expect(await world.all()).toEqual([]);
    expect(world.askedKinds).toEqual([]);
  });

  it('asks a quota for what all kinds need before anything is written', async () => {
    await start({ h1: 9 });
    world.defaultLimits = { VCPU: 3 };
    await ofKinds([workers(3)]);
    expect(await world.all()).toEqual([]);
    expect((await ofKinds([workers(3, 2)])).length).toBe(4);
  });
});
