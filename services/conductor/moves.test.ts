import { migrationUuidOf } from '#libs/domain/moves/migration';
import type { Running } from '#libs/runtime/service';
import { nextVersion } from '#libs/testing/instances/instance';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import type { ConductorDeps } from './context';
import { ConductorWorld } from './testing/conductor-world';

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 4, h2: 2, h3: 1 });
  conductor = await world.conductor();
});

afterEach(async () => {
  await world.closed(conductor);
});

/** An ACTIVE instance on h1. */
async function anActive(): Promise<string> {
  await world.request();
  await world.clock.advance(0);
  return (await world.only()).uuid;
}

type Operation = Parameters<ConductorWorld['operate']>[1];
type Options = Parameters<ConductorWorld['operate']>[3];

/** The state that is answered, or the reason of the refusal; and then all that follows at once. */
async function operate(uuid: string, operation: Operation, options: Options = {}, version?: number): Promise<string> {
  const answered = world.operate(uuid, operation, version, options).then(
    (view) => view.state,
    (error: { reason: string }) => error.reason,
  );
  await world.clock.advance(0);
  return answered;
}

const toVcpus = (VCPU: number) => ({ resizeTo: aRequestSpec({ resources: { VCPU } }) });

describe('a cold migration', () => {
  it('goes back though another project has the uuid of its migration, and leaves that what it holds', async () => {
    const uuid = await anActive();
    await operate(uuid, 'migrate');
    const taken = migrationUuidOf(uuid);
    const [kept] = await world.placement.consumers([taken]);
    if (!kept) throw new Error('its migration holds nothing');
    const { userId, allocations, mappings, claimToken } = kept;
    const atMs = world.clock.now();
    await world.placement.commit({
      kind: 'release_claim',
      atMs,
      consumerUuid: taken,
      consumerType: 'MIGRATION',
      claimToken,
    });
    const who = { uuid: taken, projectId: 'project-2', userId, consumerType: 'INSTANCE', owner: 'conductor' } as const;
    const consumers = [{ ...who, allocations, mappings, expect: { kind: 'absent' } as const }];
    const written = await world.placement.commit({ kind: 'write_allocations', atMs, consumers });
    expect(written.kind).toBe('committed');
    await operate(uuid, 'revert');
    expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', migration: undefined });
    expect(await world.claims()).toEqual([`${uuid} h1`, `${taken} h1`].sort());
    expect((await world.placement.consumers([taken]))[0]).toMatchObject({ projectId: 'project-2', allocations });
  });

  it('stops it at its source, builds it at its destination of what was handed over, and keeps both claims', async () => {
    const uuid = await anActive();
    expect(await operate(uuid, 'migrate')).toBe('resize');
    expect(await world.only()).toMatchObject({
      state: 'verify_resize',
      host: 'h2',
      attempts: [
        { host: 'h1', number: 1, outcome: 'active' },
        { host: 'h2', number: 2, outcome: 'active' },
      ],
    });
    expect(world.orders.at(-1)?.arrival).toEqual({ inPlace: false, handover: Buffer.from(`data of ${uuid}`) });
    expect(world.stopped).toEqual(new Set([`${uuid} h1`]));
    expect(await world.claims()).toEqual([`${uuid} h2`, `${migrationUuidOf(uuid)} h1`].sort());
  });

  it('is confirmed: its source destroys what it kept, then what its migration held is free', async () => {
    const uuid = await anActive();
    await operate(uuid, 'migrate');
    expect(await operate(uuid, 'confirm')).toBe('active');
    expect(await world.only()).toMatchObject({
      state: 'active',
      host: 'h2',
      migration: undefined,
      attempts: [
        { host: 'h1', outcome: 'moved', reason: 'migrate' },
        { host: 'h2', outcome: 'active', reason: '' },
      ],
    });
    expect(await world.claims()).toEqual([`${uuid} h2`]);
    expect(world.runs()).toEqual([`${uuid} h2`]);
    expect(world.harmed).toEqual([]);
  });

  it.each(['confirm', 'revert'] as const)(
    'answers copies of its calls with what came of them, up to a %s',
    async (decision) => {
      const uuid = await anActive();
      const { version: asked } = await world.only();
      expect(await operate(uuid, 'migrate', {}, asked)).toBe('resize');
      expect(await operate(uuid, 'migrate', {}, asked)).toBe('verify_resize');
      expect(await operate(uuid, 'migrate', { targetHost: 'h3' }, asked)).toBe('instance_changed');
      const { version: decided } = await world.only();
      await operate(uuid, decision, {}, decided);
      expect(await operate(uuid, decision, {}, decided)).toBe('active');
      expect(await operate(uuid, 'migrate', {}, asked)).toBe('instance_changed');
      expect(await world.only()).toMatchObject({ host: decision === 'confirm' ? 'h2' : 'h1', migration: undefined });
    },
  );

  it('is reverted: its destination destroys it first, then its source runs it by its old claim', async () => {
    const uuid = await anActive();
    await operate(uuid, 'migrate');
    expect(await operate(uuid, 'revert')).toBe('revert_resize');
    expect(await world.only()).toMatchObject({
      state: 'active',
      host: 'h1',
      migration: undefined,
      attempts: [
        { outcome: 'active' },
        { host: 'h2', outcome: 'reverted', reason: 'migrate' },
        { host: 'h1', number: 3, outcome: 'active' },
      ],
    });
    expect(await world.claims()).toEqual([`${uuid} h1`]);
    expect(world.runs()).toEqual([`${uuid} h1`]);
    expect(world.stopped.size).toBe(0);
    expect(world.harmed).toEqual([]);
  });

  it('goes to the host that is named, and to none that is not there, or where it is', async () => {
    const uuid = await anActive();
    expect(await operate(uuid, 'migrate', { targetHost: 'h9' })).toBe('no_such_host');
    expect(await operate(uuid, 'migrate', { targetHost: 'h1' })).toBe('same_host');
    await operate(uuid, 'migrate', { targetHost: 'h3' });
    expect(await world.only()).toMatchObject({ state: 'verify_resize', host: 'h3' });
  });

  it('without a host for it changes nothing, and says why', async () => {
    const uuid = await anActive();
    world.hosts = ['h1'];
    await operate(uuid, 'migrate');
    expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', fault: { reason: 'no_valid_host' } });
    expect(await world.claims()).toEqual([`${uuid} h1`]);
    expect(world.powerOrders).toEqual([]);
  });

  it.each(['fails', 'refuses'] as const)('goes back when its destination %s', async (behaviour) => {
    const uuid = await anActive();
    world.behaviour.set('h2', behaviour);
    await operate(uuid, 'migrate');
    expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', fault: { reason: 'not_arrived' } });
    expect(await world.claims()).toEqual([`${uuid} h1`]);
    expect(world.runs()).toEqual([`${uuid} h1`]);
  });

  it('goes back when its destination does not answer, once that says that nothing is left there', async () => {
    const uuid = await anActive();
    world.behaviour.set('h2', 'is silent');
    await operate(uuid, 'migrate');
    await world.clock.advance(12_000);
    expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', fault: { reason: 'not_arrived' } });
    expect(world.destroys).toMatchObject([{ host: 'h2', attempt: 2, report: true }]);
  });

  it('goes back when its source does not hand it over', async () => {
    const uuid = await anActive();
    world.behaviour.set('h1', 'is silent');
    await operate(uuid, 'migrate');
    expect(await world.only()).toMatchObject({ state: 'resize' });
    world.behaviour.delete('h1');
    await world.clock.advance(12_000);
    expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', fault: { reason: 'not_handed_over' } });
    expect(await world.claims()).toEqual([`${uuid} h1`]);
  });

  it('is not handed over by a late copy of what its source said for an earlier one', async () => {
    const uuid = await anActive();
    await operate(uuid, 'migrate');
    const [earlier] = world.powerReports;
    await operate(uuid, 'revert');
    await world.sendDiscrepancy(world.discrepancy('h1', { present: [world.runningInstance(uuid, 'h1')] }));
    world.behaviour.set('h1', 'is silent');
    await operate(uuid, 'migrate');
    if (earlier) await world.sendPowerReport(earlier);
    await world.clock.advance(0);
    expect(await world.only()).toMatchObject({ state: 'resize', migration: { phase: 'handing_over' } });
    expect(world.runs()).toEqual([`${uuid} h1`]);
  });

  it('comes back running, though a report of its source has it stopped on the way', async () => {
    const uuid = await anActive();
    await operate(uuid, 'migrate');
    const [handedOver] = world.powerReports;
    if (!handedOver) throw new Error('its source handed nothing over');
    world.behaviour.set('h1', 'is silent');
    await operate(uuid, 'revert');
    await world.sendPowerReport({ ...handedOver, migrationUuid: '', ...world.nextPosition('h1') });
    await world.clock.advance(0);
    const present = [world.runningInstance(uuid, 'h1', { powerState: 'shutdown' })];
    await world.sendDiscrepancy(world.discrepancy('h1', { present }));
    await world.clock.advance(0);
    expect(await world.only()).toMatchObject({ state: 'revert_resize', host: 'h1' });
    world.behaviour.delete('h1');
    await world.clock.advance(12_000);
    expect(await world.only()).toMatchObject({ state: 'active', host: 'h1' });
  });

  it('is terminated on both sides', async () => {
    const uuid = await anActive();
    await operate(uuid, 'migrate');
    await world.terminate(uuid);
    await world.clock.advance(0);
    expect(await world.only()).toMatchObject({ state: 'deleted', migration: undefined });
    expect(await world.claims()).toEqual([]);
    expect(world.runs()).toEqual([]);
  });

  it('goes back when it is lost where it arrived', async () => {
    const uuid = await anActive();
    await operate(uuid, 'migrate');
    const order = world.orders.at(-1);
    if (!order) throw new Error('no order');
    world.running.get(uuid)?.delete('h2');
    await world.report(order, 'lost');
    await world.clock.advance(0);
    expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', fault: { reason: 'instance_lost' } });
  });

  it('is confirmed by itself after the time that was asked for', async () => {
    const uuid = await anActive();
    await operate(uuid, 'migrate', { confirmAfterMs: 5_000 });
    await world.clock.advance(3_000);
    expect(await world.only()).toMatchObject({ state: 'verify_resize' });
    await world.clock.advance(4_000);
    expect(await world.only()).toMatchObject({ state: 'active', host: 'h2', migration: undefined });
    expect(await world.claims()).toEqual([`${uuid} h2`]);
  });

  it('keeps what its migration holds as long as its record is on it, and no longer', async () => {
    const uuid = await anActive();
    await operate(uuid, 'migrate');
    await world.clock.advance(60_000);
    expect(await world.claims()).toHaveLength(2);
    const record = await world.only();
    await world.instances.update(nextVersion(record, { state: 'active', migration: undefined }));
    await world.clock.advance(60_000);
    expect(await world.claims()).toEqual([`${uuid} h2`]);
  });
});

describe('a resize', () => {
  /** Holdings of the instance and its migration. */
  const sizes = async (uuid: string) => {
    const held = await world.placement.consumers([uuid, migrationUuidOf(uuid)]);
    const of = (one: string) => held.find((claim) => claim.uuid === one)?.allocations ?? {};
    return [uuid, migrationUuidOf(uuid)].map((one) => Object.values(of(one))[0]?.VCPU ?? 0);
  };

  it.each(['confirm', 'revert'] as const)(
    'to more or less on its host holds the larger size until it is decided, and then what was decided: %s',
    async (decided) => {
      const uuid = await anActive();
      await operate(uuid, 'resize', toVcpus(4));
      expect(await world.only()).toMatchObject({ state: 'verify_resize', host: 'h1' });
      expect(await sizes(uuid)).toEqual([4, 0]);
      // An audit finds nothing to put right.
      await world.clock.advance(60_000);
      expect(await sizes(uuid)).toEqual([4, 0]);
      await operate(uuid, decided);
      expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', migration: undefined });
      expect(await sizes(uuid)).toEqual([decided === 'confirm' ? 4 : 1, 0]);
      if (decided === 'revert') return;
      await operate(uuid, 'resize', toVcpus(3));
      expect(await sizes(uuid)).toEqual([3, 1]);
      await operate(uuid, 'revert');
      expect(await sizes(uuid)).toEqual([4, 0]);
    },
  );

  it('is reverted on a host that was filled up beside it', async () => {
    const uuid = await anActive();
    await operate(uuid, 'resize', toVcpus(4));
    await operate(uuid, 'confirm');
    await operate(uuid, 'resize', toVcpus(2));
    // The store has lost what was kept for going back: an audit holds it again.
    const [kept] = await world.placement.consumers([migrationUuidOf(uuid)]);
    const claimToken = kept?.claimToken ?? 0;
    await world.placement.commit({
      kind: 'release_claim',
      atMs: world.clock.now(),
      consumerUuid: migrationUuidOf(uuid),
      consumerType: 'MIGRATION',
      claimToken,
    });
    expect(await sizes(uuid)).toEqual([2, 0]);
    await world.clock.advance(60_000);
    expect(await sizes(uuid)).toEqual([2, 2]);
    await operate(uuid, 'revert');
    expect(await sizes(uuid)).toEqual([4, 0]);
  });

  it('leaves no attempt behind on its host when it moves away after it was resized there', async () => {
    const uuid = await anActive();
    await operate(uuid, 'resize', toVcpus(2));
    await operate(uuid, 'confirm');
    await operate(uuid, 'migrate');
    await operate(uuid, 'confirm');
    const { attempts } = await world.only();
    expect(attempts.map(({ host, outcome }) => `${host} ${outcome}`)).toEqual(['h1 moved', 'h1 moved', 'h2 active']);
  });

  it('is reverted to the size that it had', async () => {
    const uuid = await anActive();
    const before = await world.only();
    await operate(uuid, 'resize', toVcpus(2));
    await operate(uuid, 'revert');
    const after = await world.only();
    expect(after).toMatchObject({ state: 'active', host: 'h1', requestSpec: before.requestSpec });
    const [claim] = await world.placement.consumers([uuid]);
    expect(Object.values(claim?.allocations ?? {})).toEqual([{ VCPU: 1 }]);
    expect(await world.claims()).toEqual([`${uuid} h1`]);
  });

  it('is refused without a size, and with what is of a migration', async () => {
    const uuid = await anActive();
    expect(await operate(uuid, 'resize')).toBe('missing_field');
    expect(await operate(uuid, 'resize', { ...toVcpus(2), targetHost: 'h2' })).toBe('not_for_this');
    expect(await operate(uuid, 'migrate', toVcpus(2))).toBe('not_for_this');
    expect((await world.only()).state).toBe('active');
  });
});

describe('what is stopped', () => {
  async function aStopped(): Promise<string> {
    const uuid = await anActive();
    await operate(uuid, 'stop');
    expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h1' });
    return uuid;
  }

  /** Orders to run the instance, so far. */
  const toldToRun = () => [
    ...world.orders.slice(1).filter(({ powerState }) => powerState !== 'shutdown'),
    ...world.powerOrders.filter(({ powerState }) => powerState === 'running'),
  ];

  it('is migrated cold, stays stopped when that is confirmed, and is started where it is then', async () => {
    const uuid = await aStopped();
    expect(await operate(uuid, 'migrate')).toBe('resize');
    expect(await world.only()).toMatchObject({ state: 'verify_resize', host: 'h2', formerState: 'stopped' });
    expect(world.orders.at(-1)?.arrival).toEqual({ inPlace: false, handover: Buffer.from(`data of ${uuid}`) });
    expect(await world.claims()).toEqual([`${uuid} h2`, `${migrationUuidOf(uuid)} h1`].sort());
    expect(await operate(uuid, 'confirm')).toBe('stopped');
    expect(await world.only()).toMatchObject({ state: 'stopped', migration: undefined, formerState: undefined });
    expect(await world.claims()).toEqual([`${uuid} h2`]);
    expect(world.stopped).toEqual(new Set([`${uuid} h2`]));
    expect(toldToRun()).toEqual([]);
    await operate(uuid, 'start');
    expect(await world.only()).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.runs()).toEqual([`${uuid} h2`]);
    expect(world.harmed).toEqual([]);
  });

  it('is reverted to its source, and stopped there', async () => {
    const uuid = await aStopped();
    await operate(uuid, 'migrate');
    await operate(uuid, 'revert');
    const attempts = [{ outcome: 'active' }, { outcome: 'reverted' }, { host: 'h1', number: 3, outcome: 'active' }];
    expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h1', fault: undefined, attempts });
    expect(await world.only()).toMatchObject({ migration: undefined, formerState: undefined });
    expect(await world.claims()).toEqual([`${uuid} h1`]);
    expect(world.stopped).toEqual(new Set([`${uuid} h1`]));
    expect(toldToRun()).toEqual([]);
  });

  it.each(['confirm', 'revert'] as const)('is resized on its host (%s)', async (decision) => {
    const uuid = await aStopped();
    await operate(uuid, 'resize', toVcpus(3));
    expect(await world.only()).toMatchObject({ state: 'verify_resize', host: 'h1' });
    expect(await world.claims()).toEqual([`${uuid} h1`]);
    await operate(uuid, decision);
    expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h1', migration: undefined });
    const [claim] = await world.placement.consumers([uuid]);
    expect(Object.values(claim?.allocations ?? {})).toEqual([{ VCPU: decision === 'confirm' ? 3 : 1 }]);
    expect(world.stopped).toEqual(new Set([`${uuid} h1`]));
    expect(toldToRun()).toEqual([]);
  });

  it('stays as it is without a host for it, and goes back stopped when its destination fails', async () => {
    const uuid = await aStopped();
    world.behaviour.set('h2', 'fails');
    await operate(uuid, 'migrate', { targetHost: 'h2' });
    expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h1', fault: { reason: 'not_arrived' } });
    world.hosts = ['h1'];
    await operate(uuid, 'migrate');
    const said = { fault: { reason: 'no_valid_host' }, formerState: undefined, migration: undefined };
    expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h1', ...said });
    expect(world.stopped).toEqual(new Set([`${uuid} h1`]));
    expect(toldToRun()).toEqual([]);
  });

  it('goes back when its source can not hand it over', async () => {
    const uuid = await aStopped();
    world.behaviour.set('h1', 'is silent');
    await operate(uuid, 'migrate');
    const order = world.powerOrders.at(-1);
    if (!order) throw new Error('nothing was ordered');
    world.behaviour.delete('h1');
    const { instanceUuid, host, attempt, claimToken, powerState, restsOnEpoch, restsOnPosition, migrationUuid } = order;
    const about = { instanceUuid, host, attempt, claimToken, powerState, restsOnEpoch, restsOnPosition, migrationUuid };
    const refused = { reason: 'moves_unsupported', message: 'it can not' };
    await world.sendPowerReport({ ...about, ...refused, ...world.nextPosition('h1') });
    await world.clock.advance(0);
    expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h1', fault: refused });
    expect(await world.claims()).toEqual([`${uuid} h1`]);
  });

  it('is stopped by what an agent of an older version says of it, which runs what it builds', async () => {
    const uuid = await aStopped();
    world.heedsPowerState = false;
    await operate(uuid, 'migrate');
    await world.sendDiscrepancy(world.discrepancy('h2', { present: [world.runningInstance(uuid, 'h2')] }));
    await world.clock.advance(0);
    expect(world.stopped).toEqual(new Set([`${uuid} h1`, `${uuid} h2`]));
    await operate(uuid, 'confirm');
    expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h2' });
  });

  it('is not moved live', async () => {
    const uuid = await aStopped();
    expect(await operate(uuid, 'live_migrate')).toBe('instance_state');
    expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h1' });
  });

  it('is destroyed at its source by audits that find it kept there after it was confirmed', async () => {
    const uuid = await aStopped();
    await operate(uuid, 'migrate');
    world.heedsDestroy = false;
    await operate(uuid, 'confirm');
    expect(await world.only()).toMatchObject({ state: 'stopped', migration: { phase: 'confirming' } });
    world.heedsDestroy = true;
    await world.clock.advance(42_000);
    expect(await world.only()).toMatchObject({ state: 'stopped', migration: undefined });
    expect(await world.claims()).toEqual([`${uuid} h2`]);
    expect(world.harmed).toEqual([]);
  });
});

it('moves live without waiting to be confirmed', async () => {
  const uuid = await anActive();
  expect(await operate(uuid, 'live_migrate')).toBe('migrating');
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h2', migration: undefined });
  expect(world.powerOrders).toMatchObject([{ live: true, migrationUuid: migrationUuidOf(uuid) }]);
  expect(await world.claims()).toEqual([`${uuid} h2`]);
  expect(world.runs()).toEqual([`${uuid} h2`]);
});

describe('what has moved live and is stopped on a host that is silent', () => {
  /** STOPPING on h2 while h1, which was to destroy it, has not said that it did. */
  async function aStopping(): Promise<string> {
    const uuid = await anActive();
    world.heedsDestroy = false;
    await operate(uuid, 'live_migrate');
    world.behaviour.set('h2', 'is silent');
    await operate(uuid, 'stop');
    expect(await world.only()).toMatchObject({ state: 'stopping', host: 'h2', migration: { phase: 'confirming' } });
    return uuid;
  }

  it('holds nothing at its source from when that says that it is destroyed, and is stopped when its host can', async () => {
    const uuid = await aStopping();
    const [destroy] = world.destroys;
    if (!destroy) throw new Error('nothing was ordered');
    world.running.get(uuid)?.delete('h1');
    const about = { instanceUuid: uuid, host: 'h1', attempt: destroy.attempt, claimToken: 0, alternates: [] };
    const destroyed = { outcome: 'destroyed', reason: '', message: '', ...world.nextPosition('h1') } as const;
    await world.sendReport({ ...about, ...destroyed });
    await world.clock.advance(0);
    expect(await world.only()).toMatchObject({ state: 'stopping', migration: undefined });
    expect(await world.claims()).toEqual([`${uuid} h2`]);
    world.behaviour.delete('h2');
    await world.clock.advance(12_000);
    expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h2' });
  });

  it('is ordered destroyed at its source again by audits', async () => {
    const uuid = await aStopping();
    world.heedsDestroy = true;
    await world.setUp('h2', false);
    await world.setUp('h1', true);
    await world.clock.advance(42_000);
    expect(await world.only()).toMatchObject({ state: 'stopping', migration: undefined });
    expect(await world.claims()).toEqual([`${uuid} h2`]);
    expect(world.runs()).toEqual([`${uuid} h2`]);
    expect(world.harmed).toEqual([]);
  });
});

it('says that a move is being finished when it refuses what comes before its source is done', async () => {
  const uuid = await anActive();
  await operate(uuid, 'migrate');
  world.heedsDestroy = false;
  await operate(uuid, 'confirm');
  for (const operation of ['migrate', 'live_migrate', 'shelve'] as const)
    expect(await operate(uuid, operation)).toBe('move_not_finished');
  expect(await operate(uuid, 'revert')).toBe('instance_state');
  expect(await operate(uuid, 'confirm')).toBe('active');
});

it('refuses what does not fit the state, and a second move while one is on its way', async () => {
  const uuid = await anActive();
  expect(await operate(uuid, 'confirm')).toBe('instance_state');
  expect(await operate(uuid, 'revert')).toBe('instance_state');
  await operate(uuid, 'migrate');
  expect(await operate(uuid, 'migrate')).toBe('instance_state');
  expect(await operate(uuid, 'stop')).toBe('instance_state');
});

it('refuses another move than the one on its way, and answers the same again', async () => {
  const uuid = await anActive();
  const { version } = await world.only();
  world.behaviour.set('h1', 'is silent');
  await operate(uuid, 'resize', toVcpus(2), version);
  expect(await operate(uuid, 'resize', toVcpus(1), version)).toBe('instance_changed');
  expect(await operate(uuid, 'resize', toVcpus(1))).toBe('instance_state');
  expect(await operate(uuid, 'resize', toVcpus(2))).toBe('resize');
});

it('refuses a migration to another host than the one on its way leads to', async () => {
  const uuid = await anActive();
  world.behaviour.set('h1', 'is silent');
  await operate(uuid, 'migrate', { targetHost: 'h2' });
  expect(await operate(uuid, 'migrate', { targetHost: 'h3' })).not.toBe('resize');
  expect(await operate(uuid, 'migrate', { targetHost: 'h2' })).toBe('resize');
  expect(await operate(uuid, 'migrate')).toBe('resize');
});

/** Fails all messages to one of its servers from the nth that matters on, as a conductor that dies before it. */
function dyingBefore(n: number, where: 'placement' | 'instances' | 'bus') {
  let left = n;
  return (deps: ConductorDeps): ConductorDeps => {
    const names = ['commit', 'update', 'cast', 'call'];
    const wrapped = new Proxy<object>(deps[where], {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name, target);
        if (typeof method !== 'function') return method;
        const isDead = () => names.includes(String(name)) && left-- <= 1;
        return (...args: unknown[]): unknown =>
          isDead() ? Promise.reject(new Error('dead')) : method.apply(target, args);
      },
    });
    return { ...deps, [where]: wrapped };
  };
}

it.each(['placement', 'instances', 'bus'] as const)(
  'is terminated on both sides when the conductor dies before any of its messages to the %s',
  async (where) => {
    for (let n = 1; n < 6; n++) {
      const other = new ConductorWorld();
      await other.open({ h1: 2, h2: 2 });
      const first = await other.conductor();
      await other.request();
      await other.clock.advance(0);
      const { uuid } = await other.only();
      void other.operate(uuid, 'migrate');
      await other.clock.advance(0);
      const closing = first.close();
      await other.clock.advance(1_000);
      await closing;
      const dying = await other.conductor(dyingBefore(n, where));
      void other.terminate(uuid);
      await other.clock.advance(0);
      void dying.close();
      await other.clock.advance(2_000);
      const next = await other.conductor();
      // The request comes again, as nobody has acked it.
      void other.terminate(uuid);
      await other.clock.advance(10_000);
      const about = `dead before message ${n}`;
      expect([about, (await other.only()).state, other.runs()]).toEqual([about, 'deleted', []]);
      expect([about, await other.claims()]).toEqual([about, []]);
      const ending = next.close();
      await other.clock.advance(1_000);
      await ending;
    }
  },
);

it('tells a source that is dead once more before the record of what was terminated on its move is forgotten', async () => {
  const uuid = await anActive();
  await operate(uuid, 'migrate');
  await world.setUp('h1', false);
  await world.terminate(uuid);
  await world.clock.advance(10_000);
  const record = await world.only();
  expect(record).toMatchObject({ state: 'deleted', attempts: [{ host: 'h1', outcome: 'moved' }, {}] });
  const told = () => world.destroys.filter(({ host, attempt }) => host === 'h1' && attempt === 1).length;
  const before = told();
  await world.instances.update({ ...record, updatedAtMs: 1, version: record.version + 1 });
  await world.clock.advance(90_000);
  expect(await world.instances.get([uuid])).toEqual([]);
  expect(told()).toBe(before + 1);
});

it.each(['placement', 'instances', 'bus'] as const)(
  'loses nothing and holds nothing twice when the conductor dies before any of its messages to the %s',
  async (where) => {
    for (const operation of ['resize', 'migrate', 'live_migrate', 'confirm', 'revert'] as const) {
      for (let n = 1; n < 9; n++) {
        const other = new ConductorWorld();
        await other.open({ h1: 2, h2: 2, h3: 1 });
        const first = await other.conductor();
        await other.request();
        await other.clock.advance(0);
        const { uuid } = await other.only();
        const isSecond = operation === 'confirm' || operation === 'revert';
        if (isSecond) void other.operate(uuid, 'migrate');
        await other.clock.advance(0);
        const closing = first.close();
        await other.clock.advance(1_000);
        await closing;
        const dying = await other.conductor(dyingBefore(n, where));
        const options = operation === 'resize' ? toVcpus(2) : {};
        void other.operate(uuid, operation, undefined, options).catch(() => {});
        await other.clock.advance(0);
        void dying.close();
        await other.clock.advance(2_000);
        const next = await other.conductor();
        await other.clock.advance(60_000);
        const { state, host } = await other.only();
        const about = `${operation}, dead before message ${n}`;
        expect([about, ['active', 'verify_resize'].includes(state)]).toEqual([about, true]);
        // Larger in place, it leaves its migration nothing to hold.
        const isKept = state === 'verify_resize' && host !== 'h1';
        const claims = [`${uuid} ${host}`, ...(isKept ? [`${migrationUuidOf(uuid)} h1`] : [])];
        expect([about, await other.claims()]).toEqual([about, claims.sort()]);
        const runs = other.runs().filter((place) => !other.stopped.has(place));
        expect([about, runs]).toEqual([about, [`${uuid} ${host}`]]);
        expect(other.harmed).toEqual([]);
        const ending = next.close();
        await other.clock.advance(1_000);
        await ending;
      }
    }
  },
);

it('runs on by its new size, and says why, when its host does not take the old one again', async () => {
  const uuid = await anActive();
  await operate(uuid, 'resize', toVcpus(2));
  expect(await world.only()).toMatchObject({ state: 'verify_resize', host: 'h1' });
  world.behaviour.set('h1', 'refuses');
  await operate(uuid, 'revert');
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1', fault: { reason: 'not_resized' } });
  expect([world.stopped.size, world.destroys]).toEqual([0, []]);
});
