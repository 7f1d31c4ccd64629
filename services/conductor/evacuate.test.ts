import { BerthError } from '#libs/domain/errors';
import type { Running } from '#libs/runtime/service';
import { anInstance } from '#libs/testing/instances/instance';
import { ConductorWorld } from './testing/conductor-world';

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 1, h2: 1, h3: 1 });
  conductor = await world.conductor();
});

afterEach(async () => {
  await world.closed(conductor);
});

/** An instance on h1, which falls silent; what runs there runs on. */
async function onDeadHost(): Promise<string> {
  await world.request();
  await world.clock.advance(0);
  await dies('h1');
  return (await world.only()).uuid;
}

async function dies(host: string): Promise<void> {
  world.behaviour.set(host, 'is silent');
  await world.setUp(host, false);
}

async function evacuate(uuid: string): Promise<string> {
  const answered = world.operate(uuid, 'evacuate').then(
    (view) => view.state,
    (error: { reason: string }) => error.reason,
  );
  await world.clock.advance(0);
  return answered;
}

it('builds an instance of a dead host on another, whose claim takes the place of the old one', async () => {
  const uuid = await onDeadHost();
  await evacuate(uuid);
  expect(await world.only()).toMatchObject({
    state: 'active',
    host: 'h2',
    attempts: [
      { host: 'h1', number: 1, outcome: 'evacuated' },
      { host: 'h2', number: 2, outcome: 'active' },
    ],
  });
  expect(await world.claims()).toEqual([`${uuid} h2`]);
  const told = world.events.map((event) => event.state);
  expect(told.slice(-3)).toEqual(['rebuilding', 'building', 'active']);
});

it.each([
  { heeds: true, what: 'without running it' },
  { heeds: false, what: 'and runs it until it is told, as agents of an older version do' },
])('builds what was stopped as stopped: its new host keeps it $what', async ({ heeds }) => {
  world.heedsPowerState = heeds;
  await world.request();
  await world.clock.advance(0);
  const { uuid } = await world.only();
  void world.operate(uuid, 'stop');
  await world.clock.advance(0);
  await dies('h1');
  await evacuate(uuid);
  expect(await world.only()).toMatchObject({ state: 'stopped', host: 'h2', formerState: undefined, fault: undefined });
  expect(await world.claims()).toEqual([`${uuid} h2`]);
  expect(world.orders.at(-1)).toMatchObject({ host: 'h2', powerState: 'shutdown' });
  expect(world.stopped).toContain(`${uuid} h2`);
  void world.operate(uuid, 'start');
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h2' });
});

it.each([
  { operation: 'stop', on: 'stopping', ends: 'stopped' },
  { operation: 'start', on: 'starting', ends: 'active' },
] as const)('evacuates what is $on, and it comes up $ends', async ({ operation, on, ends }) => {
  await world.request();
  await world.clock.advance(0);
  const { uuid } = await world.only();
  if (operation === 'start') {
    void world.operate(uuid, 'stop');
    await world.clock.advance(0);
  }
  await dies('h1');
  void world.operate(uuid, operation);
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: on, host: 'h1' });
  await evacuate(uuid);
  expect(await world.only()).toMatchObject({ state: ends, host: 'h2' });
});

it.each([
  { operation: 'stop', isDead: false, state: 'stopped' },
  { operation: 'stop', isDead: true, state: 'stopping' },
] as const)('leaves what is $state as it was when no other host takes it', async ({ operation, isDead, state }) => {
  await world.request();
  await world.clock.advance(0);
  const { uuid } = await world.only();
  if (isDead) await dies('h1');
  void world.operate(uuid, operation);
  await world.clock.advance(0);
  await dies('h1');
  world.hosts = ['h1'];
  await evacuate(uuid);
  expect(await world.only()).toMatchObject({ state, host: 'h1', fault: { reason: 'no_valid_host' } });
});

it('gives back what a move claimed that never came on record, and claims anew', async () => {
  const uuid = await onDeadHost();
  const atMs = world.clock.now();
  const claimed = await world.placement.commit({
    kind: 'write_allocations',
    atMs,
    consumers: [world.writeFor(uuid, 'h3')],
  });
  await evacuate(uuid);
  const { host, claimToken } = await world.only();
  expect({ host, isAnew: claimToken !== ('claimToken' in claimed && claimed.claimToken) }).toEqual({
    host: 'h2',
    isAnew: true,
  });
  expect(await world.claims()).toEqual([`${uuid} h2`]);
});

it('is refused while the lease of the host lives, and changes nothing', async () => {
  const uuid = await onDeadHost();
  const holder = { agentRun: 'a run', serviceHost: 'h1' };
  await world.placement.acquireHosts({ ...holder, hosts: ['h1'], leaseMs: 30_000, atMs: world.clock.now() });
  expect(await evacuate(uuid)).toBe('host_alive');
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1' });
  await world.clock.advance(31_000);
  await evacuate(uuid);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h2' });
});

it('is refused while the host counts as up, though its agent gave its lease back to be started again', async () => {
  const uuid = await onDeadHost();
  await world.setUp('h1', true);
  expect(await evacuate(uuid)).toBe('host_alive');
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h1' });
});

it('fences the host: what its agent says by its old epoch is refused, and it can not have the host at once', async () => {
  const uuid = await onDeadHost();
  const wanted = { agentRun: 'a run', serviceHost: 'h1', hosts: ['h1'], leaseMs: 1_000 };
  const [before] = await world.placement.acquireHosts({ ...wanted, atMs: world.clock.now() });
  await world.clock.advance(2_000);
  await evacuate(uuid);
  expect((await world.placement.acquireHosts({ ...wanted, atMs: world.clock.now() }))[0]).toMatchObject({
    kind: 'taken',
  });
  await world.clock.advance(11_000);
  const [after] = await world.placement.acquireHosts({ ...wanted, atMs: world.clock.now() });
  if (before?.kind !== 'granted' || after?.kind !== 'granted') throw new Error('not granted');
  expect(after.epoch).toBeGreaterThan(before.epoch + 1);
});

it('has the old host destroy its copy when it is back: by its queue, and, should that be lost, by its report', async () => {
  const uuid = await onDeadHost();
  await evacuate(uuid);
  expect(world.destroys).toMatchObject([{ host: 'h1', attempt: 1, report: false }]);
  // As if the order had been lost.
  world.running.get(uuid)?.add('h1');
  await world.setUp('h1', true);
  const unclaimed = [world.runningInstance(uuid, 'h1')];
  await world.sendDiscrepancy(world.discrepancy('h1', { unclaimed }));
  await world.clock.advance(0);
  expect(world.runs()).toEqual([`${uuid} h2`]);
  expect(world.harmed).toEqual([]);
});

it.each([
  { outcome: 'evacuated', state: 'error', when: 'is dead still', isUp: false, hosts: ['h1'] },
  { outcome: 'timed_out', state: 'error', when: 'is dead still', isUp: false, hosts: ['h1'] },
  { outcome: 'rolled_back', state: 'error', when: 'is dead still', isUp: false, hosts: ['h1'] },
  { outcome: 'evacuated', state: 'error', when: 'has come back', isUp: true, hosts: [] },
  { outcome: 'evacuated', state: 'deleted', when: 'is dead still', isUp: false, hosts: ['h1', 'h3'] },
] as const)('tells old hosts once more before the record is forgotten, $outcome, $state, if h1 $when', async (one) => {
  await dies('h1');
  await world.setUp('h3', false);
  const attempts = [
    { host: 'h1', number: 1, outcome: one.outcome, reason: '', startedAtMs: 1, endedAtMs: 2 },
    { host: 'h3', number: 2, outcome: 'active', reason: '', startedAtMs: 1, endedAtMs: 2 },
  ] as const;
  const record = anInstance({
    uuid: world.random.uuid(),
    state: one.state,
    host: 'h3',
    dueAtMs: undefined,
    updatedAtMs: 1,
    attempts,
  });
  await world.instances.create(record.requestId, [record]);
  await world.setUp('h1', one.isUp);
  await world.clock.advance(90_000);
  expect(await world.instances.get([record.uuid])).toEqual([]);
  const told = world.destroys.map(({ instanceUuid, host, attempt }) => [instanceUuid, host, attempt]);
  expect(told).toEqual(one.hosts.map((host) => [record.uuid, host, host === 'h1' ? 1 : 2]));
});

it('tries the alternates of the new selection, and never the old host', async () => {
  const uuid = await onDeadHost();
  world.behaviour.set('h2', 'fails');
  await evacuate(uuid);
  expect(await world.only()).toMatchObject({ state: 'active', host: 'h3' });
  expect(await world.claims()).toEqual([`${uuid} h3`]);
});

it('leaves it where it was, and says why, when no other host takes it', async () => {
  const uuid = await onDeadHost();
  world.hosts = ['h1'];
  await evacuate(uuid);
  expect(await world.only()).toMatchObject({ state: 'unknown', host: 'h1', fault: { reason: 'no_valid_host' } });
  expect(await world.claims()).toEqual([`${uuid} h1`]);
  expect(world.destroys).toEqual([]);
  await world.setUp('h1', true);
  const present = [world.runningInstance(uuid, 'h1')];
  await world.sendDiscrepancy(world.discrepancy('h1', { present }));
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: 'active', fault: undefined });
});

it.each(['placement', 'instances', 'bus'] as const)(
  'comes to the same end when the conductor dies before any of its messages to the %s',
  async (where) => {
    for (let n = 1; n < 8; n++) {
      const other = new ConductorWorld();
      await other.open({ h1: 1, h2: 1, h3: 1 });
      const first = await other.conductor();
      await other.request();
      await other.clock.advance(0);
      const closing = first.close();
      await other.clock.advance(1_000);
      await closing;
      other.behaviour.set('h1', 'is silent');
      await other.setUp('h1', false);
      const { uuid } = await other.only();
      let left = n;
      const dying = await other.conductor((deps) => {
        const names = ['commit', 'acquireHosts', 'update', 'cast', 'call'];
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
      });
      void other.operate(uuid, 'evacuate').catch(() => {});
      await other.clock.advance(0);
      void dying.close();
      await other.clock.advance(2_000);
      const next = await other.conductor();
      await other.clock.advance(30_000);
      const { state, host } = await other.only();
      expect(['unknown', 'active']).toContain(state);
      expect(await other.claims()).toEqual([`${uuid} ${host}`]);
      expect(other.harmed).toEqual([]);
      const ending = next.close();
      await other.clock.advance(1_000);
      await ending;
    }
  },
);

/** An affinity group of two on h1, which dies. Answers one of them. */
async function groupOnDeadHost(): Promise<string> {
  world.group = { id: 'web', policy: 'affinity', maxPerHost: 1 };
  world.hosts = ['h1'];
  await world.setUp('h1', true);
  await world.setUp('h2', true);
  await world.request(2);
  await world.clock.advance(0);
  const [first] = await world.all();
  expect(first).toMatchObject({ state: 'active', host: 'h1' });
  world.hosts = ['h1', 'h2'];
  world.behaviour.set('h1', 'is silent');
  await world.clock.advance(10);
  await world.setUp('h2', true);
  const atMs = world.clock.now();
  await world.placement.commit({ kind: 'sweep_hosts', atMs, silentSinceMs: atMs - 1, limit: 10 });
  return first?.uuid ?? '';
}

it('evacuates an affinity group as one, whichever of it is asked for', async () => {
  await evacuate(await groupOnDeadHost());
  const now = await world.all();
  expect(now.map(({ state, host }) => [state, host])).toEqual([
    ['active', 'h2'],
    ['active', 'h2'],
  ]);
  expect(now.map(({ attempts }) => attempts[0]?.outcome)).toEqual(['evacuated', 'evacuated']);
});

it.each([
  ['before a scheduler is asked again', 'call'],
  ['before that is on record', 'update'],
] as const)('stops when its host is back and heard %s', async (_, when) => {
  const uuid = await onDeadHost();
  await world.closed(conductor);
  const isBack = async () => {
    await world.clock.advance(11_000);
    await world.placement.acquireHosts({ ...AGENT, hosts: ['h1'], leaseMs: 60_000, atMs: world.clock.now() });
    await world.setUp('h1', true);
  };
  let isSelected = false;
  conductor = await world.conductor((deps) => {
    const call: typeof deps.bus.call = async (...args) => {
      if (when === 'call' && !isSelected) throw new BerthError('unavailable', 'no_scheduler', 'schedulers are silent');
      return deps.bus.call(...args);
    };
    const bus = new Proxy(deps.bus, {
      get: (target, name) => {
        const method: unknown = name === 'call' ? call : Reflect.get(target, name, target);
        return typeof method === 'function' ? method.bind(target) : method;
      },
    });
    const update: typeof deps.instances.update = async (next, guards) => {
      if (when === 'update' && next.state === 'building' && !isSelected) {
        isSelected = true;
        void world.clock.advance(11_000);
        await world.placement.acquireHosts({
          ...AGENT,
          hosts: ['h1'],
          leaseMs: 60_000,
          atMs: world.clock.now() + 11_000,
        });
      }
      return deps.instances.update(next, guards);
    };
    return { ...deps, bus, instances: { ...deps.instances, update } };
  });
  await evacuate(uuid);
  if (when === 'call') await isBack();
  isSelected = true;
  await world.clock.advance(120_000);
  expect(await world.only()).toMatchObject({ host: 'h1', fault: { reason: 'host_alive' } });
  expect([world.destroys, world.runs()]).toEqual([[], [`${uuid} h1`]]);
});

it('claims nothing for a group whose host is back and heard before a scheduler is asked again', async () => {
  const uuid = await groupOnDeadHost();
  await world.closed(conductor);
  let areSilent = true;
  const asked: string[] = [];
  conductor = await world.conductor((deps) => {
    const call = deps.bus.call.bind(deps.bus);
    jest.spyOn(deps.bus, 'call').mockImplementation(async (address, message, options) => {
      if (areSilent) throw new BerthError('unavailable', 'no_scheduler', 'schedulers are silent');
      asked.push(message.type);
      return call(address, message, options);
    });
    return deps;
  });
  await evacuate(uuid);
  await world.clock.advance(11_000);
  const before = await world.claims();
  await world.placement.acquireHosts({ ...AGENT, hosts: ['h1'], leaseMs: 600_000, atMs: world.clock.now() });
  await world.setUp('h1', true);
  areSilent = false;
  await world.clock.advance(120_000);
  expect((await world.all()).map(({ host, fault }) => [host, fault?.reason])).toEqual([
    ['h1', 'host_alive'],
    ['h1', 'host_alive'],
  ]);
  expect([asked, await world.claims(), world.destroys]).toEqual([[], before, []]);
});

const AGENT = { agentRun: 'the agent of h1', serviceHost: 'h1' };

describe('an evacuation of which the new host dies, too, and no alternate is left', () => {
  const places = async () => (await world.only()).attempts.map(({ host, outcome }) => `${host} ${outcome}`);

  async function diesToo(): Promise<string> {
    const uuid = await onDeadHost();
    world.hosts = ['h2'];
    world.behaviour.set('h2', 'is silent');
    await evacuate(uuid);
    await world.setUp('h2', false);
    world.hosts = [];
    return uuid;
  }

  it('asks for another host', async () => {
    const uuid = await diesToo();
    world.hosts = ['h3'];
    await world.clock.advance(30_000);
    expect(await places()).toEqual(['h1 evacuated', 'h2 timed_out', 'h3 active']);
    expect(await world.claims()).toEqual([`${uuid} h3`]);
  });

  it('waits for one while there is none', async () => {
    const uuid = await diesToo();
    await world.clock.advance(30_000);
    expect(await world.only()).toMatchObject({ state: 'pending', fault: { reason: 'no_valid_host' } });
    expect(await world.claims()).toEqual([]);
    world.hosts = ['h3'];
    await world.setUp('h3', true);
    await world.clock.advance(60_000);
    expect(await places()).toEqual(['h1 evacuated', 'h2 timed_out', 'h3 active']);
    expect(await world.claims()).toEqual([`${uuid} h3`]);
  });

  it('ends when so many hosts have failed to build it as are tried', async () => {
    await world.closed(conductor);
    conductor = await world.conductor(undefined, { BERTH_CONDUCTOR_MAX_ATTEMPTS: '2' });
    const uuid = await onDeadHost();
    for (const host of ['h2', 'h3']) world.behaviour.set(host, 'fails');
    await evacuate(uuid);
    expect(await world.only()).toMatchObject({ state: 'error', fault: { reason: 'hosts_exhausted' } });
  });
});
