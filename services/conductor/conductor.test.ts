import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { castTyped } from '#libs/bus/typed-calls';
import { buildRefusedCodec, buildRequestCodec } from '#libs/contracts/conductor';
import { agentQueue, BUILD_REQUESTS } from '#libs/contracts/queues';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { type Instance, MAX_SCHEDULING_MS } from '#libs/domain/instance';
import { createMetrics } from '#libs/runtime/metrics';
import type { Running } from '#libs/runtime/service';
import { anInstance } from '#libs/testing/instances/instance';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { mustCommit } from '#libs/testing/placement/placement';
import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import type { Conductor } from './conductor';
import { makeConductor } from './make-conductor';
import { lookAt } from './observation';
import { reconcileLoop } from './reconcile-loop';
import { ConductorWorld, providerOf } from './testing/conductor-world';

let world: ConductorWorld;
let conductors: Running[] = [];

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 10, h2: 10, h3: 10 });
  conductors = [await world.conductor()];
});

afterEach(() => closeAll());

async function closeAll(): Promise<void> {
  await world.closed(...conductors);
}

const FULL = {
  destinations: [],
  noValidHost: {
    hostsConsidered: 3,
    hostsPassed: 0,
    filters: [],
    claimConflicts: 0,
    summary: 'full',
    quotaExceeded: [],
  },
};
/** A claim of a client of the placement API. */
const claimWriteOf = (uuid: string) => {
  const who = { uuid, projectId: 'project-1', userId: 'user-1', consumerType: 'INSTANCE', owner: 'api' } as const;
  return { ...who, mappings: {}, expect: { kind: 'absent' } as const };
};
const outcomes = async () => (await world.only()).attempts.map(({ host, outcome }) => `${host} ${outcome}`);

it('builds each instance of a request on the host that was selected, with an event for every state', async () => {
  await world.request(3);
  await world.clock.advance(100);
  expect((await world.all()).map(({ state, host }) => [state, host])).toEqual([1, 2, 3].map(() => ['active', 'h1']));
  expect(world.runs()).toEqual(await world.claims());
  expect(world.events.map(({ state }) => state).sort()).toEqual(
    ['active', 'building', 'scheduling'].flatMap((state) => [state, state, state]),
  );
});

it('builds a request that is published twice once', async () => {
  await world.request(2, await world.request(2));
  await world.clock.advance(100);
  expect(await world.all()).toHaveLength(2);
  expect(world.runs()).toHaveLength(2);
});

it('refuses a copy of a request that comes after its instances were forgotten, and builds a new request', async () => {
  const refusals: string[] = [];
  await world.bus.subscribe('request.refused.#', (_topic, { body }) => {
    refusals.push(buildRefusedCodec.decode(body).error.reason);
  });
  const publishedAtMs = world.clock.now();
  const requestId = await world.request();
  await world.clock.advance(100);
  await world.terminate((await world.only()).uuid);
  await world.clock.advance(2 * 3_600_000);
  expect(await world.all()).toEqual([]);
  await world.request(1, requestId, publishedAtMs);
  await world.clock.advance(100);
  expect(await world.all()).toEqual([]);
  expect(refusals).toEqual(['request_expired']);
  await world.request(1);
  await world.clock.advance(100);
  expect(await world.only()).toMatchObject({ state: 'active' });
});

it('refuses a request that says that it was published later than now', async () => {
  await world.request(1, world.random.uuid(), world.clock.now() + 600_000);
  await world.clock.advance(100);
  expect(await world.all()).toEqual([]);
});

it.each(['fails', 'refuses'] as const)('goes to the next alternate when a host %s', async (behaviour) => {
  world.behaviour.set('h1', behaviour);
  await world.request();
  await world.clock.advance(100);
  const outcome = behaviour === 'fails' ? 'failed' : 'refused';
  expect(await outcomes()).toEqual([`h1 ${outcome}`, 'h2 active']);
  expect(await world.claims()).toEqual(world.runs());
});

it.each([
  ['fails', 2],
  ['refuses', 0],
  ['is silent', 0],
] as const)(
  'holds it against a host that it %s, though others build it: %i in a row',
  async (behaviour, failuresInARow) => {
    world.behaviour.set('h1', behaviour);
    for (const projectId of ['project-1', 'project-1', 'project-2']) {
      await world.request(1, undefined, undefined, { projectId });
      await world.clock.advance(20_000);
    }
    const [host] = await world.placement.hosts(['h1']);
    expect(host).toMatchObject({ failuresInARow, lastFailureAtMs: expect.any(Number) });
    expect(host?.failures).toBeGreaterThan(1);
    expect(host?.failures).toBeLessThanOrEqual(2);
  },
);

it('holds nothing against hosts all of which a build fails on: then it is the build', async () => {
  for (const host of ['h1', 'h2', 'h3']) world.behaviour.set(host, 'fails');
  for (let times = 0; times < 12; times++) {
    await world.request(1, undefined, undefined, { projectId: `project-${times % 3}` });
    await world.clock.advance(1_000);
  }
  expect((await world.all()).every(({ state }) => state === 'error')).toBe(true);
  for (const host of await world.placement.hosts(['h1', 'h2', 'h3'])) {
    expect(host).toMatchObject({ failures: 0, failuresInARow: 0 });
  }
});

it('passes over an alternate that filled up meanwhile, and says so in the story', async () => {
  world.hosts = ['h2'];
  await world.request(10);
  await world.clock.advance(100);
  world.hosts = ['h1', 'h2', 'h3'];
  world.behaviour.set('h1', 'fails');
  const requestId = await world.request();
  await world.clock.advance(100);
  const [instance] = await world.instances.list({ requestId }, undefined, 1);
  expect(instance?.attempts.map(({ host, outcome, reason }) => [host, outcome, reason])).toEqual([
    ['h1', 'failed', 'failed'],
    ['h2', 'not_claimed', 'VCPU: capacity'],
    ['h3', 'active', ''],
  ]);
});

it.each([
  ['with', 'builds', 'h1', { VCPU: 1, VGPU: 1 }],
  ['without', 'fails', 'h2', { VCPU: 1 }],
] as const)('claims again %s what is preferred, as it was claimed', async (_with, behaviour, host, taken) => {
  const preferring = new ConductorWorld();
  preferring.preferred = { VGPU: 1 };
  await preferring.open({ h1: 10, h2: 10 });
  const conductor = await preferring.conductor();
  preferring.behaviour.set('h1', behaviour);
  const consumer = { ...claimWriteOf(anInstance().uuid), allocations: { [providerOf('h2')]: { VGPU: 1 } } };
  await preferring.placement.commit({ kind: 'write_allocations', atMs: 0, consumers: [consumer] });
  await preferring.request();
  await preferring.clock.advance(100);
  const { uuid } = await preferring.only();
  const claimOf = async () => (await preferring.placement.consumers([uuid]))[0];
  expect(preferring.orders.at(-1)).toMatchObject({ host, allocations: { [providerOf(host)]: taken } });
  const claimToken = (await claimOf())?.claimToken ?? 0;
  await preferring.placement.commit({ kind: 'release_claim', atMs: 0, consumerUuid: uuid, claimToken });
  expect(await claimOf()).toBeUndefined();
  const unclaimed = [preferring.runningInstance(uuid, host)];
  await preferring.sendDiscrepancy(preferring.discrepancy(host, { unclaimed }));
  await preferring.clock.advance(100);
  expect((await claimOf())?.allocations).toEqual({ [providerOf(host)]: taken });
  const closing = conductor.close();
  await preferring.clock.advance(1_000);
  await closing;
});

it('claims an alternate without what is preferred when that is taken by now, and keeps that it did', async () => {
  const preferring = new ConductorWorld();
  preferring.preferred = { VGPU: 1 };
  await preferring.open({ h1: 10, h2: 10, h3: 10 });
  const conductor = await preferring.conductor();
  preferring.behaviour.set('h1', 'fails');
  const other = anInstance();
  const taken = { [providerOf('h2')]: { VGPU: 1 } };
  const consumer = { ...claimWriteOf(other.uuid), allocations: taken };
  await preferring.placement.commit({ kind: 'write_allocations', atMs: 0, consumers: [consumer] });
  await preferring.request();
  await preferring.clock.advance(100);
  const { attempts, uuid, allocationRequest } = await preferring.only();
  expect(attempts.map(({ host, outcome }) => `${host} ${outcome}`)).toEqual(['h1 failed', 'h2 active']);
  const [claim] = await preferring.placement.consumers([uuid]);
  expect(claim?.allocations).toEqual({ [providerOf('h2')]: { VCPU: 1 } });
  expect(preferring.opened(allocationRequest).allocations).toEqual(claim?.allocations);
  expect(preferring.orders.at(-1)?.allocationRequest).toEqual(allocationRequest);
  const closing = conductor.close();
  await preferring.clock.advance(1_000);
  await closing;
});

it('ends in ERROR with the story and without a claim when every host failed', async () => {
  for (const host of world.hosts) world.behaviour.set(host, 'fails');
  await world.request();
  await world.clock.advance(100);
  const { state, fault } = await world.only();
  const message = '3 of 3: failed; said the compute agents of h1, h2, h3';
  expect([state, fault]).toEqual(['error', { reason: 'hosts_exhausted', message }]);
  expect(world.events.at(-1)?.fault).toMatchObject({ reason: 'hosts_exhausted', message });
  expect(await outcomes()).toEqual(['h1 failed', 'h2 failed', 'h3 failed']);
  expect(await world.claims()).toEqual([]);
});

it('ends in ERROR with the diagnosis when no host fits, and keeps nothing', async () => {
  await world.request(30);
  await world.clock.advance(100);
  await world.request();
  await world.clock.advance(100);
  const refused = (await world.all()).filter(({ state }) => state === 'error');
  expect(refused.map(({ fault }) => fault)).toEqual([{ reason: 'no_valid_host', message: '0 of 3 hosts fit' }]);
  expect(await world.claims()).toHaveLength(30);
});

it('ends in ERROR with what is used, asked and the limit when the quota is used up', async () => {
  await setQuota(world.placement, 'project-1', { limits: { instances: 1 } });
  await world.request();
  await world.clock.advance(100);
  await world.request();
  await world.clock.advance(100);
  const refused = (await world.all()).filter(({ state }) => state === 'error');
  const message = 'instances: 1 used, 1 asked, limit 1';
  expect(refused.map(({ fault }) => fault)).toEqual([{ reason: 'quota_exceeded', message }]);
});

it('claims again what runs, though the quota is below it by then', async () => {
  await world.request();
  await world.clock.advance(100);
  const { uuid, claimToken = 0 } = await world.only();
  await setQuota(world.placement, 'project-1', { limits: { instances: 0, VCPU: 0 } });
  await mustCommit(world.placement, { kind: 'release_claim', consumerUuid: uuid, claimToken });
  await world.clock.advance(60_000);
  expect(await world.claims()).toEqual([`${uuid} h1`]);
});

it('takes no claim from an instance with which another conductor went on meanwhile', async () => {
  await world.request();
  await world.clock.advance(100);
  const present = await world.only();
  const claims = await world.claims();
  let conductor: Conductor | undefined;
  conductors.push(
    await world.conductor((deps) => {
      const made = makeConductor({ ...deps, metrics: createMetrics({}) }, new AbortController().signal);
      const call = async () => selectDestinationsMethod.response.encode(FULL);
      conductor = { ...made, bus: Object.assign(Object.create(deps.bus), { call }) };
      return deps;
    }),
  );
  const asReadBefore = {
    ...present,
    state: 'scheduling',
    host: undefined,
    claimToken: undefined,
    dueAtMs: world.clock.now(),
    version: 1,
  } as Instance;
  if (conductor) await reconcileLoop(conductor, [lookAt(asReadBefore, { kind: 'nothing' })]);
  expect([await world.claims(), await world.only()]).toEqual([claims, present]);
});

it('gives up on a silent host at the deadline, and has its late instance destroyed', async () => {
  world.behaviour.set('h1', 'late');
  await world.request();
  await world.clock.advance(15_000);
  expect(await outcomes()).toEqual(['h1 timed_out', 'h2 active']);
  const [late] = world.orders;
  if (late) await world.report(late, 'active');
  await world.clock.advance(100);
  expect(await outcomes()).toEqual(['h1 timed_out', 'h2 active']);
  expect(world.runs()).toEqual(await world.claims());
});

it('gives up no build while reports wait, as those of all do behind one agent that floods their queue', async () => {
  world.behaviour.set('h1', 'is silent');
  const depth = jest.spyOn(MemoryBus.prototype, 'depth').mockResolvedValue(1_000);
  await world.request();
  await world.clock.advance(30_000);
  expect(await outcomes()).toEqual(['h1 building']);
  depth.mockRestore();
  await world.clock.advance(15_000);
  expect(await outcomes()).toEqual(['h1 timed_out', 'h2 active']);
});

it.each(['builds', 'is silent', 'fails'] as const)(
  'terminates an instance whose host %s, releasing what it holds once',
  async (behaviour) => {
    for (const host of world.hosts) world.behaviour.set(host, behaviour);
    await world.request();
    await world.clock.advance(100);
    const { uuid } = await world.only();
    await world.terminate(uuid);
    await world.terminate(uuid);
    await world.clock.advance(100);
    expect((await world.only()).state).toBe('deleted');
    expect([await world.claims(), world.runs()]).toEqual([[], []]);
  },
);

it('puts a malformed request among the dead letters with a coded error', async () => {
  await world.bus.cast(BUILD_REQUESTS, { type: 'berth.conductor.v1.BuildRequest', body: Uint8Array.of(255) });
  await world.clock.advance(100);
  expect(await world.bus.depth('dead-letters')).toBe(1);
  expect(await world.all()).toEqual([]);
});

it('tells whose request it refuses by the id in the request', async () => {
  const refusals: [string, string][] = [];
  await world.bus.subscribe('request.refused.*', (_topic, { body }) => {
    const { requestId, error } = buildRefusedCodec.decode(body);
    refusals.push([requestId, error.reason]);
  });
  const requestId = world.random.uuid();
  const request = {
    requestId,
    requestSpec: anEncodedSpec({ resources: { VCPU: 0 } }),
    count: 1,
    name: '',
    instanceUuids: [],
  };
  await castTyped({ bus: world.bus, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: 'a message' });
  await world.clock.advance(100);
  expect(refusals).toEqual([[requestId, 'bad_amount']]);
});

it('waits while the store is away, for longer than RabbitMQ lets a message be held, and loses nothing', async () => {
  let isAway = true;
  const away = () => {
    if (isAway) throw new BerthError('unavailable', 'store_away', 'the store is away');
  };
  conductors.push(
    await world.conductor((deps) => ({
      ...deps,
      instances: { ...deps.instances, create: async (...args) => (away(), deps.instances.create(...args)) },
    })),
  );
  await conductors.shift()?.close();
  await world.request();
  await world.clock.advance(3_600_000);
  expect(await world.all()).toEqual([]);
  expect(await world.bus.depth('dead-letters')).toBe(0);
  isAway = false;
  await world.clock.advance(10_000);
  expect((await world.only()).state).toBe('active');
});

it('ends what no scheduler has answered for in a day, and counts how long it was tried', async () => {
  await conductors.shift()?.close();
  const measured = createMetrics({});
  const noScheduler = async () => {
    throw new BerthError('unavailable', 'no_scheduler', 'none runs');
  };
  conductors.push(
    await world.conductor((deps) => {
      jest.spyOn(deps.bus, 'call').mockImplementation(noScheduler);
      return { ...deps, metrics: measured };
    }),
  );
  const nowMs = world.clock.now();
  const createdAtMs = nowMs - MAX_SCHEDULING_MS + 600_000;
  const waiting = anInstance({ state: 'scheduling', createdAtMs, dueAtMs: nowMs - 7_000_000 });
  await world.instances.create(waiting.requestId, [waiting]);
  await world.clock.advance(300_000);
  expect(await world.only()).toMatchObject({ state: 'scheduling' });
  const exposed = await measured.expose();
  expect(exposed).toMatch(/berth_conductor_waits_total\{reason="no_scheduler"\} [1-9]/);
  expect(exposed).toContain('berth_overdue_seconds_bucket{le="3600"} 0');
  expect(exposed).toMatch(/berth_overdue_seconds_count [1-9]/);
  await world.clock.advance(600_000);
  expect(await world.only()).toMatchObject({ state: 'error', fault: { reason: 'not_scheduled' } });
});

describe('hosts that one service host carries', () => {
  beforeEach(() => world.carryTogether('rack', ['h1', 'h2']));

  it('get their orders by its queue, an alternate elsewhere by its own', async () => {
    const taken = await world.serveOrders('rack');
    world.behaviour.set('h1', 'fails').set('h2', 'refuses');
    await world.request();
    await world.clock.advance(100);
    expect(await outcomes()).toEqual(['h1 failed', 'h2 refused', 'h3 active']);
    expect(taken).toEqual(['build h1', 'build h2']);
    expect(world.runs()).toEqual(await world.claims());
  });

  it('are passed over when it has no queue and is silent', async () => {
    await world.setUp('h1', false);
    await world.setUp('h2', false);
    await world.request();
    await world.clock.advance(100);
    expect(await outcomes()).toEqual(['h1 refused', 'h2 refused', 'h3 active']);
  });

  it('get the queue again that somebody deleted while it is heard, and no order is lost', async () => {
    await world.request();
    await world.clock.advance(100);
    expect(await outcomes()).toEqual(['h1 building']);
    const taken = await world.serveOrders('rack');
    await world.clock.advance(100);
    expect([await outcomes(), taken]).toEqual([['h1 active'], ['build h1']]);
  });

  it('get by its queue what is ordered again, and what is to be destroyed', async () => {
    const taken = await world.serveOrders('rack');
    world.behaviour.set('h1', 'is silent');
    await world.request();
    await world.clock.advance(100);
    world.behaviour.set('h1', 'builds');
    await world.sendDiscrepancy(world.discrepancy('h1', { missing: [(await world.only()).uuid] }));
    await world.clock.advance(100);
    expect([await outcomes(), taken]).toEqual([['h1 active'], ['build h1', 'build h1']]);
    await world.terminate((await world.only()).uuid);
    await world.clock.advance(100);
    expect([(await world.only()).state, world.runs(), await world.claims()]).toEqual(['deleted', [], []]);
    expect(taken.at(-1)).toBe('destroy h1');
  });

  it('have an instance destroyed by the service host that carries its host now', async () => {
    await world.serveOrders('rack');
    await world.request();
    await world.clock.advance(100);
    await world.carryTogether('other-rack', ['h1']);
    const taken = await world.serveOrders('other-rack');
    await world.terminate((await world.only()).uuid);
    await world.clock.advance(100);
    expect([(await world.only()).state, taken]).toEqual(['deleted', ['destroy h1']]);
  });

  it('are not ordered again what still waits in its queue', async () => {
    await world.bus.declare(agentQueue('rack'));
    await world.request();
    await world.clock.advance(100);
    const { uuid } = await world.only();
    await world.sendDiscrepancy(world.discrepancy('h1', { missing: [uuid] }));
    await world.clock.advance(100);
    expect(world.orders).toEqual([]);
    await world.serveOrders('rack');
    await world.clock.advance(100);
    expect([(await world.only()).state, world.runs()]).toEqual(['active', [`${uuid} h1`]]);
  });
});

describe('the audit', () => {
  it('releases a claim that no instance owns, and leaves other consumers alone', async () => {
    const write = (uuid: string, owner: 'conductor' | 'api') => ({
      uuid,
      projectId: 'p',
      userId: 'u',
      consumerType: 'INSTANCE',
      owner,
      allocations: { [providerOf('h1')]: { VCPU: 1 } },
      mappings: {},
      expect: { kind: 'any' } as const,
    });
    const [orphan, other] = [world.random.uuid(), world.random.uuid()];
    const consumers = [write(orphan, 'conductor'), write(other, 'api')];
    await world.placement.commit({ kind: 'write_allocations', atMs: world.clock.now(), consumers });
    await world.clock.advance(60_000);
    expect(await world.claims()).toEqual([`${other} h1`]);
  });

  it('claims again what an active instance held and somebody released', async () => {
    await world.request();
    await world.clock.advance(100);
    const { uuid, claimToken = 0 } = await world.only();
    await world.placement.commit({ kind: 'release_claim', atMs: world.clock.now(), consumerUuid: uuid, claimToken });
    await world.clock.advance(60_000);
    expect([(await world.only()).state, await world.claims()]).toEqual(['active', [`${uuid} h1`]]);
    const [held] = await world.placement.consumers([uuid]);
    expect((await world.only()).claimToken).toBe(held?.claimToken);
  });
});

describe('the audit of a build', () => {
  beforeEach(async () => {
    await closeAll();
    const settings = { BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '600000', BERTH_CONDUCTOR_AUDIT_GRACE_MS: '10000' };
    conductors = [await world.conductor(undefined, settings)];
    world.behaviour.set('h1', 'is silent');
    await world.request();
    await world.clock.advance(100);
  });

  it('takes it to the next host before its deadline, when its host is down for the grace period', async () => {
    await world.clock.advance(19_000);
    await world.setUp('h1', false);
    await world.clock.advance(5_000);
    expect(await outcomes()).toEqual(['h1 building']);
    await world.clock.advance(25_000);
    expect(await outcomes()).toEqual(['h1 timed_out', 'h2 active']);
    expect((await world.only()).attempts[0]?.reason).toBe('its host is down');
  });

  it('leaves it alone while its host is heard', async () => {
    await world.clock.advance(60_000);
    expect(await outcomes()).toEqual(['h1 building']);
  });
});

describe('the audit of what ended', () => {
  it('forgets all of it, however much, and keeps what is recent', async () => {
    const ended = (state: 'error' | 'deleted', updatedAtMs: number) =>
      anInstance({ uuid: world.random.uuid(), requestId: world.random.uuid(), state, dueAtMs: undefined, updatedAtMs });
    const old = Array.from({ length: 900 }, (_, n) => ended(n % 2 ? 'error' : 'deleted', 1));
    const recent = ended('error', world.clock.now());
    for (const one of [...old, recent]) await world.instances.create(one.requestId, [one]);
    await world.clock.advance(90_000);
    expect(await world.instances.list({}, undefined, 1_000)).toEqual([recent]);
  });
});

it('answers what it refuses, and leaves a dead letter only of what it could not handle', async () => {
  const refusals: string[] = [];
  await world.bus.subscribe('request.refused.*', (_topic, { body }) => {
    refusals.push(buildRefusedCodec.decode(body).error.reason);
  });
  const body = buildRequestCodec.encode({
    requestId: world.random.uuid(),
    requestSpec: anEncodedSpec({ resources: { VCPU: 0 } }),
    count: 1,
    name: '',
    instanceUuids: [],
  });
  const tenant = world.openBus({ kind: 'project', projectId: 'project-1' });
  const { type } = buildRequestCodec;
  await tenant.cast(BUILD_REQUESTS, { type, body });
  await tenant.cast(BUILD_REQUESTS, { type, body: Buffer.alloc(1_048_576) });
  await tenant.cast(BUILD_REQUESTS, { type: 'berth.compute.v1.HostDiscrepancy', body });
  await world.clock.advance(1_000);
  expect(refusals.sort()).toEqual(['bad_amount', 'message_too_large', 'services_only']);
  expect(await world.bus.depth('dead-letters')).toBe(0);
  await tenant.cast(BUILD_REQUESTS, { type: '', body });
  await tenant.cast(BUILD_REQUESTS, { type: 'toString', body });
  await world.clock.advance(1_000);
  expect(refusals.slice(3).sort()).toEqual(['missing_type', 'unknown_type']);
  expect(await world.bus.depth('dead-letters')).toBe(2);
});

it('refuses several instances that the quota of their project can not hold, before any is on record', async () => {
  const refusals: string[] = [];
  await world.bus.subscribe('request.refused.*', (_topic, { body }) => {
    refusals.push(buildRefusedCodec.decode(body).error.reason);
  });
  world.defaultLimits = { instances: 4, VCPU: 1_000 };
  await world.request(5);
  await world.clock.advance(10);
  expect([await world.all(), refusals]).toEqual([[], ['quota_exceeded']]);
  await world.request(2);
  await world.clock.advance(10);
  expect(await world.all()).toHaveLength(2);
});

it('refuses one instance that the quota of its project can not hold, before it is on record', async () => {
  const refusals: string[] = [];
  await world.bus.subscribe('request.refused.*', (_topic, { body }) => {
    refusals.push(buildRefusedCodec.decode(body).error.reason);
  });
  world.defaultLimits = { VCPU: 0 };
  await world.request();
  await world.clock.advance(10);
  expect([await world.all(), refusals]).toEqual([[], ['quota_exceeded']]);
});

it('takes of one project its share while no scheduler can judge its requests, and the rest once one does', async () => {
  await closeAll();
  let areSilent = true;
  conductors = [
    await world.conductor(
      (deps) => {
        const call = deps.bus.call.bind(deps.bus);
        jest.spyOn(deps.bus, 'call').mockImplementation(async (...args) => {
          if (areSilent) throw new BerthError('unavailable', 'no_scheduler', 'schedulers are silent');
          return call(...args);
        });
        return deps;
      },
      { BERTH_CONDUCTOR_PREFETCH: '1000' },
    ),
  ];
  for (let n = 0; n < 210; n++) await world.request();
  await world.clock.advance(30_000);
  expect(await world.all()).toHaveLength(200);
  areSilent = false;
  await world.clock.advance(30_000);
  expect(await world.all()).toHaveLength(210);
});

it('ends what was terminated on a host that died after it was told, when the host is known to be down', async () => {
  await closeAll();
  const settings = { BERTH_CONDUCTOR_DESTROY_TIMEOUT_MS: '3600000', BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '10000' };
  conductors = [await world.conductor(undefined, settings)];
  await world.request();
  await world.clock.advance(100);
  const { uuid } = await world.only();
  world.heedsDestroy = false;
  await world.terminate(uuid);
  await world.clock.advance(30_000);
  expect(await world.only()).toMatchObject({ state: 'deleting' });
  await world.setUp('h1', false);
  await world.clock.advance(15_000);
  expect(await world.only()).toMatchObject({ state: 'deleted' });
  expect(await world.claims()).toEqual([]);
});
