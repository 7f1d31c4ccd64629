import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Consumer } from '#libs/domain/consumer';
import type { Instance } from '#libs/domain/instance';
import { NO_ADMISSION } from '#libs/domain/queueing/admission';
import type { Command } from '#libs/placement/port/placement-store';
import type { Running } from '#libs/runtime/service';
import { anInstance } from '#libs/testing/instances/instance';
import { ConductorWorld, providerOf } from './testing/conductor-world';

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 10, h2: 10, h3: 10 });
  conductor = await world.conductor();
});

afterEach(async () => {
  await world.closed(conductor);
});

async function anActiveInstance(): Promise<Instance> {
  await world.request();
  await world.clock.advance(100);
  return world.only();
}

/** A report of a host in which instances run that the store has no claim of. */
async function runsUnclaimed(host: string, ...uuids: readonly string[]): Promise<void> {
  const unclaimed = uuids.map((uuid) => world.runningInstance(uuid, host));
  await world.sendDiscrepancy(world.discrepancy(host, { unclaimed }));
  await world.clock.advance(100);
}

async function releaseClaimOf({ uuid }: Instance): Promise<void> {
  const [held] = await world.placement.consumers([uuid]);
  const claimToken = held?.claimToken ?? 0;
  await world.placement.commit({ kind: 'release_claim', atMs: world.clock.now(), consumerUuid: uuid, claimToken });
}

/** Somebody claims for an instance what it held. */
async function claimAs({
  uuid,
  projectId,
  userId,
  consumerType,
  owner,
  allocations,
  mappings,
}: Consumer): Promise<void> {
  const write = {
    uuid,
    projectId,
    userId,
    consumerType,
    owner,
    allocations,
    mappings,
    expect: { kind: 'absent' },
  } as const;
  const atMs = world.clock.now();
  const result = await world.placement.commit({ kind: 'write_allocations', atMs, consumers: [write] });
  expect(result.kind).toBe('committed');
}

const stateOf = async () => (await world.only()).state;

describe('an instance that its host does not report', () => {
  it('stays in ERROR when it runs again, in doubt, and is destroyed when it is terminated', async () => {
    const { uuid } = await anActiveInstance();
    await world.disagreeTwice('h1', { missing: [uuid] });
    await world.clock.advance(100);
    await runsUnclaimed('h1', uuid);
    expect([await stateOf(), world.runs(), world.destroys]).toEqual(['error', [`${uuid} h1`], []]);
    await world.terminate(uuid);
    await world.clock.advance(100);
    await runsUnclaimed('h1', uuid);
    expect([await stateOf(), world.runs(), await world.claims()]).toEqual(['deleted', [], []]);
  });

  it('is lost when two reports in a row do not have it', async () => {
    const { uuid } = await anActiveInstance();
    await world.sendDiscrepancy(world.discrepancy('h1', { missing: [uuid] }));
    await world.clock.advance(100);
    expect([await stateOf(), await world.claims()]).toEqual(['active', [`${uuid} h1`]]);
    await world.sendDiscrepancy(world.discrepancy('h1', { missing: [uuid] }));
    await world.clock.advance(100);
    expect([(await world.only()).fault?.reason, await world.claims()]).toEqual(['instance_lost', []]);
    expect(world.destroys).toEqual([]);
  });

  it('is in doubt anew when a report between had it, or went astray', async () => {
    const { uuid } = await anActiveInstance();
    for (let times = 0; times < 4; times++) {
      await world.sendDiscrepancy(world.discrepancy('h1', { missing: [uuid] }));
      world.discrepancy('h1');
      await world.clock.advance(100);
    }
    expect(await stateOf()).toBe('active');
  });

  it('is in doubt anew when the host has another holder', async () => {
    const { uuid } = await anActiveInstance();
    const first = world.discrepancy('h1', { missing: [uuid] });
    await world.sendDiscrepancy(first);
    await world.sendDiscrepancy({ ...first, epoch: 2, position: 1, sequence: first.sequence + 1 });
    await world.clock.advance(100);
    expect(await stateOf()).toBe('active');
  });

  it('is not lost by reports that were taken before its host said that it runs', async () => {
    world.behaviour.set('h1', 'late');
    await world.request();
    await world.clock.advance(100);
    const { uuid } = await world.only();
    const behind = [1, 2, 3].map(() => world.discrepancy('h1', { missing: [uuid] }));
    for (const order of world.orders) await world.report(order, 'active');
    await world.clock.advance(3_000);
    for (const discrepancy of behind) await world.sendDiscrepancy(discrepancy);
    await world.clock.advance(100);
    expect([await stateOf(), world.runs(), await world.claims()]).toEqual(['active', [`${uuid} h1`], [`${uuid} h1`]]);
  });

  it('is not lost by reports of an older holder of the host', async () => {
    world.epochs.set('h1', 7);
    const { uuid } = await anActiveInstance();
    await world.disagreeTwice('h1', { missing: [uuid], epoch: 6 });
    await world.clock.advance(100);
    expect(await stateOf()).toBe('active');
  });

  it('is ordered again to be destroyed when it is to go, and what its host said of that was lost', async () => {
    const { uuid } = await anActiveInstance();
    world.heedsDestroy = false;
    await world.terminate(uuid);
    await world.clock.advance(100);
    expect([await stateOf(), await world.claims()]).toEqual(['deleting', [`${uuid} h1`]]);
    world.heedsDestroy = true;
    await world.sendDiscrepancy(world.discrepancy('h1', { missing: [uuid] }));
    await world.clock.advance(100);
    expect([await stateOf(), await world.claims()]).toEqual(['deleted', []]);
  });

  it('gets its order again that its host never got', async () => {
    world.behaviour.set('h1', 'is silent');
    const { uuid } = await anActiveInstance();
    world.behaviour.set('h1', 'builds');
    await world.sendDiscrepancy(world.discrepancy('h1', { missing: [uuid] }));
    await world.clock.advance(100);
    const { state, attempts } = await world.only();
    expect([state, attempts.map(({ number, outcome }) => [number, outcome])]).toEqual(['active', [[1, 'active']]]);
    expect(world.runs()).toEqual(await world.claims());
  });
});

describe('an instance that runs without a claim', () => {
  it('holds none in the end when it is terminated while its claim is made again', async () => {
    const instance = await anActiveInstance();
    await releaseClaimOf(instance);
    let claim = () => {};
    const isClaiming = new Promise<void>((resolve) => {
      const commit = world.placement.commit.bind(world.placement);
      const slow = async (command: Command) => {
        if (command.kind === 'write_allocations' && command.force === true) {
          resolve();
          await new Promise<void>((go) => (claim = go));
        }
        return commit(command);
      };
      jest.spyOn(world.placement, 'commit').mockImplementation(slow);
    });
    const unclaimed = [world.runningInstance(instance.uuid, 'h1')];
    await world.sendDiscrepancy(world.discrepancy('h1', { unclaimed }));
    await isClaiming;
    await world.terminate(instance.uuid);
    await world.clock.advance(1_000);
    expect([await stateOf(), world.runs()]).toEqual(['deleted', []]);
    claim();
    await world.clock.advance(100);
    expect(await world.claims()).toEqual([]);
  });

  it('holds none in the end when it is claimed for, by one who then dies, while its record is closed', async () => {
    const instance = await anActiveInstance();
    const [held] = await world.placement.consumers([instance.uuid]);
    const update = world.instances.update.bind(world.instances);
    jest.spyOn(world.instances, 'update').mockImplementation(async (next) => {
      if (next.state === 'deleted') await claimAs(held as Consumer);
      return update(next);
    });
    await world.terminate(instance.uuid);
    await world.clock.advance(100);
    expect([await stateOf(), await world.claims()]).toEqual(['deleted', []]);
  });

  it('is claimed again by what a scheduler sealed, not by what its host says that it uses', async () => {
    const instance = await anActiveInstance();
    await releaseClaimOf(instance);
    const lie = world.runningInstance(instance.uuid, 'h1', { resources: { VCPU: 9 } });
    await world.sendDiscrepancy(world.discrepancy('h1', { unclaimed: [lie] }));
    await world.clock.advance(100);
    const [held] = await world.placement.consumers([instance.uuid]);
    expect(held?.allocations).toEqual({ [providerOf('h1')]: { VCPU: 1 } });
    expect((await world.only()).claimToken).toBe(held?.claimToken);
  });

  it('is kept, in doubt, when it can not be claimed again', async () => {
    const instance = await anActiveInstance();
    await releaseClaimOf(instance);
    await world.placement.commit({ kind: 'delete_provider', atMs: world.clock.now(), uuid: providerOf('h1') });
    for (let times = 0; times < 3; times++) await runsUnclaimed('h1', instance.uuid);
    await world.clock.advance(120_000);
    expect([await stateOf(), world.runs(), world.destroys]).toEqual(['active', [`${instance.uuid} h1`], []]);
  });

  it('keeps what somebody else holds under its uuid', async () => {
    const instance = await anActiveInstance();
    await releaseClaimOf(instance);
    const theirs = {
      uuid: instance.uuid,
      projectId: 'p',
      userId: 'u',
      consumerType: 'INSTANCE',
      owner: 'api',
    } as const;
    const consumer = { ...theirs, allocations: { [providerOf('h2')]: { VCPU: 3 } }, mappings: {} };
    const consumers = [{ ...consumer, expect: { kind: 'absent' } as const }];
    await world.placement.commit({ kind: 'write_allocations', atMs: world.clock.now(), consumers });
    await runsUnclaimed('h1', instance.uuid);
    await world.clock.advance(120_000);
    expect([await stateOf(), await world.claims()]).toEqual(['active', [`${instance.uuid} h2`]]);
  });

  it('is adopted when nobody has a record of it and a scheduler sealed it for this host', async () => {
    world.placement.goOn(world.clock.now());
    const uuid = world.random.uuid();
    const allocationRequest = world.allocationRequest(uuid, 'h1');
    const unclaimed = [world.runningInstance(uuid, 'h1', { attempt: 3, allocationRequest, projectId: 'a lie' })];
    await world.sendDiscrepancy(world.discrepancy('h1', { unclaimed }));
    await world.clock.advance(100);
    const { state, host, requestSpec, projectId, attempts } = await world.only();
    expect([state, host, projectId, requestSpecCodec.decode(requestSpec).resources]).toEqual([
      'active',
      'h1',
      'project-1',
      { VCPU: 1 },
    ]);
    expect(attempts).toMatchObject([{ host: 'h1', number: 3, outcome: 'active' }]);
    expect(await world.claims()).toEqual([`${uuid} h1`]);
  });

  it('is adopted with the time limit, reservation and priority that were sealed, and ends in time', async () => {
    world.placement.goOn(world.clock.now());
    const uuid = world.random.uuid();
    const terms = { endsAtMs: world.clock.now() + 30_000, reservation: 'night', priority: 7, isProtected: true };
    const allocationRequest = world.allocationRequest(uuid, 'h1', terms);
    world.running.set(uuid, new Set(['h1']));
    await world.sendDiscrepancy(
      world.discrepancy('h1', { unclaimed: [world.runningInstance(uuid, 'h1', { allocationRequest })] }),
    );
    await world.clock.advance(100);
    const { endsAtMs, requestSpec, admission, state } = await world.only();
    expect([state, endsAtMs, requestSpecCodec.decode(requestSpec).reservation]).toEqual([
      'active',
      terms.endsAtMs,
      'night',
    ]);
    expect(admission).toMatchObject({ priority: 7, isProtected: true });
    await world.clock.advance(45_000);
    const { state: ended, fault } = await world.only();
    expect([ended, fault?.message, world.runs()]).toEqual(['deleted', 'its time limit is over', []]);
  });

  it('has its time limit again when its record went back to before it was ACTIVE', async () => {
    const uuid = world.random.uuid();
    const allocationRequest = world.allocationRequest(uuid, 'h1', { endsAtMs: world.clock.now() + 50_000 });
    const admission = { ...NO_ADMISSION, timeLimitMs: 40_000 };
    const state = { state: 'scheduling', host: undefined, attempts: [], dueAtMs: undefined } as const;
    const record = anInstance({ uuid, requestId: world.random.uuid(), ...state, claimToken: undefined, admission });
    await world.instances.create(record.requestId, [record]);
    world.placement.goOn(world.clock.now());
    const unclaimed = [world.runningInstance(uuid, 'h1', { attempt: 1, allocationRequest })];
    await world.sendDiscrepancy(world.discrepancy('h1', { unclaimed }));
    await world.clock.advance(100);
    const { state: is, endsAtMs = 0, dueAtMs } = await world.only();
    expect([is, endsAtMs > world.clock.now(), dueAtMs]).toEqual(['active', true, endsAtMs]);
  });

  it.each([
    ['nothing', () => new Uint8Array()],
    ['what was sealed for another host', (uuid: string) => world.allocationRequest(uuid, 'h2')],
    ['what was sealed for another instance', () => world.allocationRequest(world.random.uuid(), 'h1')],
    ['what nobody sealed', () => Uint8Array.of(2, 9, 9, 9)],
  ])('is in doubt, with no record and no claim, when its agent has %s to show', async (_, requestOf) => {
    const uuid = world.random.uuid();
    const unclaimed = [world.runningInstance(uuid, 'h1', { allocationRequest: requestOf(uuid) })];
    await world.disagreeTwice('h1', { unclaimed });
    await world.clock.advance(60_000);
    expect([await world.all(), await world.claims(), world.destroys]).toEqual([[], [], []]);
  });

  it('is in doubt when its claim is as young as the store, which has forgotten only what came to its end', async () => {
    const { uuid, claimToken = 0 } = await anActiveInstance();
    const other = world.random.uuid();
    const shown = { allocationRequest: world.allocationRequest(other, 'h1'), claimToken: claimToken + 1 };
    await world.disagreeTwice('h1', { unclaimed: [world.runningInstance(other, 'h1', shown)] });
    await world.clock.advance(1_000);
    expect((await world.all()).map((one) => one.uuid)).toEqual([uuid]);
  });

  it('stays a stray when its record came to its end elsewhere and was forgotten', async () => {
    const uuid = world.random.uuid();
    const ended = { state: 'error', host: 'h2', attempts: [], dueAtMs: undefined, updatedAtMs: 1 } as const;
    const record = anInstance({ uuid, requestId: world.random.uuid(), ...ended });
    await world.instances.create(record.requestId, [record]);
    const unclaimed = [world.runningInstance(uuid, 'h1', { allocationRequest: world.allocationRequest(uuid, 'h1') })];
    const runs = async () => {
      await world.sendDiscrepancy(world.discrepancy('h1', { unclaimed }));
      await world.clock.advance(100);
    };
    await runs();
    await world.clock.advance(90_000);
    expect(await world.instances.get([uuid])).toEqual([]);
    for (let times = 0; times < 2; times++) await runs();
    expect(await world.all()).toEqual([]);
    expect(await world.instances.listDoubts()).toMatchObject([{ finding: 'stray', instanceUuid: uuid, host: 'h1' }]);
  });

  it('is not adopted by a report that is older than deleted records are kept', async () => {
    const uuid = world.random.uuid();
    const allocationRequest = world.allocationRequest(uuid, 'h1');
    const unclaimed = [world.runningInstance(uuid, 'h1', { allocationRequest })];
    const atMs = world.clock.now() - 3_600_001;
    await world.sendDiscrepancy(world.discrepancy('h1', { unclaimed, atMs }));
    await world.clock.advance(100);
    expect(await world.all()).toEqual([]);
  });
});

describe('an instance that runs where its record does not have it', () => {
  it('is kept, in doubt, when no attempt there was given up', async () => {
    const { uuid } = await anActiveInstance();
    world.running.get(uuid)?.add('h2');
    for (let times = 0; times < 3; times++) await runsUnclaimed('h2', uuid);
    await world.clock.advance(60_000);
    expect(world.runs()).toEqual([`${uuid} h1`, `${uuid} h2`]);
    expect([await stateOf(), await world.claims(), world.destroys]).toEqual(['active', [`${uuid} h1`], []]);
  });

  it('is destroyed where the attempt was given up', async () => {
    world.behaviour.set('h1', 'late');
    const { uuid } = await anActiveInstance();
    await world.clock.advance(15_000);
    expect((await world.only()).host).toBe('h2');
    world.running.get(uuid)?.add('h1');
    await runsUnclaimed('h1', uuid);
    expect(world.runs()).toEqual([`${uuid} h2`]);
    expect(world.destroys.at(-1)).toMatchObject({ host: 'h1', attempt: 1 });
  });

  it('is destroyed after its end, wherever it runs', async () => {
    const { uuid } = await anActiveInstance();
    await world.terminate(uuid);
    await world.clock.advance(100);
    world.running.set(uuid, new Set(['h1', 'h3']));
    for (const host of ['h1', 'h3']) await runsUnclaimed(host, uuid);
    expect([world.runs(), await world.claims()]).toEqual([[], []]);
  });

  it('is kept, in doubt, when its record says that it was lost', async () => {
    const { uuid } = await anActiveInstance();
    await world.disagreeTwice('h1', { missing: [uuid] });
    await world.clock.advance(100);
    await runsUnclaimed('h1', uuid);
    expect([await stateOf(), world.runs(), world.destroys]).toEqual(['error', [`${uuid} h1`], []]);
  });

  it('is moved back to its host by the audit when its claim is on another one', async () => {
    const { uuid } = await anActiveInstance();
    const who = { uuid, projectId: 'p', userId: 'u', consumerType: 'INSTANCE', owner: 'conductor' } as const;
    const elsewhere = {
      allocations: { [providerOf('h2')]: { VCPU: 1 } },
      mappings: {},
      expect: { kind: 'any' },
    } as const;
    const consumers = [{ ...who, ...elsewhere }];
    await world.placement.commit({ kind: 'write_allocations', atMs: world.clock.now(), consumers });
    await world.clock.advance(60_000);
    const [now] = await world.placement.consumers([uuid]);
    expect([await world.claims(), (await world.only()).claimToken]).toEqual([[`${uuid} h1`], now?.claimToken]);
  });
});

it('makes an instance ACTIVE that its host reports running, though its report of the build was lost', async () => {
  world.behaviour.set('h1', 'late');
  const { uuid } = await anActiveInstance();
  expect(await stateOf()).toBe('building');
  await world.sendDiscrepancy(world.discrepancy('h1', { present: [world.runningInstance(uuid, 'h1')] }));
  await world.clock.advance(60_000);
  expect([await stateOf(), world.runs()]).toEqual(['active', [`${uuid} h1`]]);
});

describe('a host that is silent', () => {
  it('has its instances shown as unknown, and as ACTIVE when it reports them again', async () => {
    const { uuid } = await anActiveInstance();
    await world.setUp('h1', false);
    await world.clock.advance(60_000);
    expect([await stateOf(), await world.claims()]).toEqual(['unknown', [`${uuid} h1`]]);
    await world.setUp('h1', true);
    await world.sendDiscrepancy(world.discrepancy('h1', { present: [world.runningInstance(uuid, 'h1')] }));
    await world.clock.advance(100);
    expect(world.events.map(({ state }) => state)).toEqual(['scheduling', 'building', 'active', 'unknown', 'active']);
  });

  it('has its instances shown as ACTIVE by the audit when what says so was lost, and nothing said that they lack', async () => {
    await anActiveInstance();
    await world.setUp('h1', false);
    await world.clock.advance(60_000);
    await world.setUp('h1', true);
    await world.clock.advance(60_000);
    expect(await stateOf()).toBe('active');
  });

  it('has what holds no claim claimed again before it is shown as ACTIVE: reports miss only what holds one', async () => {
    const { uuid } = await anActiveInstance();
    await world.setUp('h1', false);
    await world.clock.advance(60_000);
    const [held] = await world.placement.consumers([uuid]);
    const claim = { consumerUuid: uuid, claimToken: held?.claimToken ?? 0 };
    await world.placement.commit({ kind: 'release_claim', atMs: world.clock.now(), ...claim });
    await world.setUp('h1', true);
    while ((await world.claims()).length === 0) await world.clock.advance(1_000);
    expect(await stateOf()).toBe('unknown');
    await world.clock.advance(60_000);
    expect(await stateOf()).toBe('active');
  });

  it('has its instances lost when it comes back without them', async () => {
    const { uuid } = await anActiveInstance();
    await world.setUp('h1', false);
    await world.clock.advance(60_000);
    await world.setUp('h1', true);
    await world.disagreeTwice('h1', { missing: [uuid], epoch: 2 });
    await world.clock.advance(100);
    expect([(await world.only()).fault?.reason, await world.claims()]).toEqual(['instance_lost', []]);
  });

  it.each([
    ['unknown', 60_000],
    ['still ACTIVE', 0],
  ])('owes the destruction of an instance that is terminated while it is %s', async (_, silentMs) => {
    await world.carryTogether('dead-rack', ['h1']);
    const stop = await world.serveOrdersUntil('dead-rack');
    const { uuid } = await anActiveInstance();
    await stop();
    await world.setUp('h1', false);
    await world.clock.advance(silentMs);
    await world.terminate(uuid);
    await world.clock.advance(100);
    expect([await stateOf(), await world.claims(), world.runs()]).toEqual(['deleted', [], [`${uuid} h1`]]);
    await world.serveOrders('dead-rack');
    await world.clock.advance(100);
    expect(world.runs()).toEqual([]);
  });
});
