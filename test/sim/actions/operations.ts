import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { terminateInstanceCodec } from '#libs/contracts/conductor';
import type { InstanceView } from '#libs/contracts/instance';
import type { InstanceOperation, OperateInstanceRequest } from '#libs/contracts/operations';
import { operateInstanceMethod } from '#libs/contracts/operations';
import { BUILD_REQUESTS, RPC_CONDUCTOR } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import { BUILT_STATES, type Instance } from '#libs/domain/instance';
import { type Random, randomInt } from '#libs/domain/random';
import { agentOf, HOSTS } from '../settings';
import { standStill } from '../world/faults';
import { confirmed, instanceAt, type Perform, pick, type World } from './common';

/** A tenant, or an operator, stops an instance. */
export function stop(random: Random): Perform {
  return once(random, 'stop');
}

/** A tenant, or an operator, starts a stopped instance. */
export function start(random: Random): Perform {
  return once(random, 'start');
}

/** A tenant stops an instance, starts it, and so on; copies of its calls, of orders and of reports come late. */
export function stopAndStart(random: Random): Perform {
  const place = random.next();
  const pauses = Array.from({ length: 4 }, () => random.next() ** 2 * 4_000);
  const dies = random.next() < 0.4 ? conductorDies(random) : () => {};
  return (world) => {
    const { time } = world.fleet;
    const { uuid } = fittingAt(world, place, 'stop') ?? {};
    let afterMs = 0;
    for (const pauseMs of pauses) {
      time.at(time.nowMs + afterMs, () => {
        const instance = world.checker.known.get(uuid ?? '')?.latest;
        if (instance === undefined) return;
        const operation = instance.state === 'active' ? 'stop' : 'start';
        for (const who of ['conductor-1', 'conductor-2', agentOf(instance.host ?? 'h1')]) {
          world.fleet.member(who).bus.duplicateNext(300 + 2 * pauseMs);
        }
        dies(world);
        operate(world, instance, operation);
        // A late copy names the version of the first call.
        const { uuid: copied, projectId, version } = instance;
        time.at(
          time.nowMs + 1_000 + pauseMs,
          () => void call(world, projectId, { instanceUuid: copied, operation, version }),
        );
      });
      afterMs += 500 + pauseMs;
    }
  };
}

/** An operator evacuates an instance, whether its host is dead or not; or a tenant tries to. */
export function evacuate(random: Random): Perform {
  const place = random.next();
  const isByOperator = random.next() < 0.8;
  return (world) => {
    const all = [...world.checker.known.values()]
      .map(({ latest }) => latest)
      .filter(({ state }) => BUILT_STATES.includes(state));
    const instance = all[Math.floor(place * all.length)];
    if (instance === undefined) return;
    if (isByOperator) operate(world, instance, 'evacuate', true);
    else void call(world, instance.projectId, { instanceUuid: instance.uuid, operation: 'evacuate', version: 0 });
  };
}

/** A host is dead until all its instances are evacuated, and comes back with everything that it ran. */
export function evacuateDead(random: Random): Perform {
  const agent = pick(random, AGENTS);
  const isSilentOnly = random.next() < 0.5;
  const dies = conductorDies(random);
  const backAfterMs = LEASE_MS + 3_000 + random.next() * 12_000;
  return (world) => {
    const { fleet } = world;
    if (isSilentOnly) standStill(fleet, agent, backAfterMs);
    else fleet.sendAway(agent, AWAY_UNTIL_MS + backAfterMs / 4);
    const evacuateAll = () => {
      dies(world);
      evacuateAllOf(world, agent);
    };
    // Until its lease has run out the host counts as alive.
    for (const afterMs of [LEASE_MS - 4_000, LEASE_MS, LEASE_MS + 2_000]) {
      fleet.time.at(fleet.time.nowMs + afterMs, evacuateAll);
    }
  };
}

/** An operator has all evacuated that is on hosts of an agent. */
export function evacuateAllOf(world: World, agent: string): void {
  for (const { latest } of world.checker.known.values()) {
    const isThere = latest.host !== undefined && agentOf(latest.host) === agent;
    if (isThere && BUILT_STATES.includes(latest.state)) operate(world, latest, 'evacuate', true);
  }
}

/** After the end of all other faults. */
const AWAY_UNTIL_MS = 45_000;
/** Longer than an agent's lease. */
const LEASE_MS = 13_000;
const AGENTS = [...new Set(HOSTS.map(agentOf))];

/** The store goes back to before an instance was stopped, or started. */
export function forgetOperation(random: Random): Perform {
  const place = random.next();
  const operation = pick(random, ['stop', 'start'] as const);
  return (world) => {
    const { fleet, checker } = world;
    const instance = fittingAt(world, place, operation);
    if (instance === undefined) return;
    const beforeMs = fleet.time.nowMs;
    operate(world, instance, operation);
    fleet.later(1_500, () => void checker.storeGoesBackTo(beforeMs));
  };
}

/** A tenant stops an instance of another. */
export function stopForeign(random: Random): Perform {
  const place = random.next();
  return (world) => {
    const { uuid, projectId } = instanceAt(world, place) ?? {};
    const other = projectId === 'tenant-a' ? 'tenant-b' : 'tenant-a';
    if (uuid !== undefined) void call(world, other, { instanceUuid: uuid, operation: 'stop', version: 0 });
  };
}

function once(random: Random, operation: InstanceOperation): Perform {
  const place = random.next();
  const isByOperator = random.next() < 0.2;
  return (world) => {
    const instance = fittingAt(world, place, operation);
    if (instance) operate(world, instance, operation, isByOperator);
  };
}

/** An instance that an operation is for, by its place among them. */
function fittingAt({ checker }: World, place: number, operation: InstanceOperation): Instance | undefined {
  const wanted = FITTING[operation] ?? ['active'];
  const fitting = [...checker.known.values()].map(({ latest }) => latest).filter(({ state }) => wanted.includes(state));
  return fitting[Math.floor(place * fitting.length)];
}

const FITTING: Readonly<Partial<Record<InstanceOperation, readonly Instance['state'][]>>> = {
  start: ['stopped'],
  shelve: ['active', 'stopped'],
  unshelve: ['shelved_offloaded'],
};

/** A tenant shelves an instance, and unshelves it after a while, or does so at once; a conductor may die meanwhile. */
export function shelveAndUnshelve(random: Random): Perform {
  const place = random.next();
  const pauseMs = random.next() ** 2 * 9_000;
  const dies = random.next() < 0.4 ? conductorDies(random) : () => {};
  return (world) => {
    const { time } = world.fleet;
    const { uuid } = fittingAt(world, place, 'shelve') ?? {};
    const wish = (operation: 'shelve' | 'unshelve') => () => {
      const instance = world.checker.known.get(uuid ?? '')?.latest;
      if (instance === undefined) return;
      dies(world);
      operate(world, instance, operation);
    };
    wish('shelve')();
    time.at(time.nowMs + 1_000 + pauseMs, wish('unshelve'));
  };
}

/** A tenant unshelves an instance, if one is shelved. */
export function unshelve(random: Random): Perform {
  return once(random, 'unshelve');
}

/** A conductor dies just before one of its next messages to the broker or the store. */
export function conductorDies(random: Random): Perform {
  const who = pick(random, ['conductor-1', 'conductor-2']);
  const link = randomInt(random, 2);
  const after = 1 + randomInt(random, 6);
  return ({ fleet }) => {
    const { links, process } = fleet.member(who);
    links[link]?.insteadOf('out', after, () => process.isAlive && fleet.kill(who, 2_000));
  };
}

type MoveOptions = Pick<OperateInstanceRequest, 'resizeTo' | 'targetHost' | 'confirmAfterMs'>;

const BY_WAY_OF: Readonly<Record<InstanceOperation, Instance['state']>> = {
  stop: 'stopping',
  start: 'starting',
  evacuate: 'rebuilding',
  shelve: 'shelving',
  unshelve: 'unshelving',
  resize: 'resize',
  migrate: 'resize',
  live_migrate: 'migrating',
  confirm: 'active',
  revert: 'revert_resize',
};

/** Operates on the version that is seen now; a call that is answered is on record. */
export function operate(
  world: World,
  { uuid, projectId, version, lastCall }: Instance,
  operation: InstanceOperation,
  isByOperator = false,
  options: MoveOptions = {},
): void {
  const { checker } = world;
  const began = noteAsked(checker, uuid, operation);
  const request = { instanceUuid: uuid, operation, version, ...options };
  const answered = call(world, isByOperator ? 'operator' : projectId, request);
  const isLast = () => checker.operating.get(uuid) === began;
  void answered.then(async (after) => {
    // A state that did not change may still be changed by a concurrent call.
    const isWritten = after !== undefined && after.version > version;
    if (!isWritten || !isLast()) return;
    checker.operated.set(uuid, operation);
    const [record] = await world.fleet.server.stores.instances.get([uuid]);
    // Where a report brought about the same a moment before, the wish was fulfilled, and no call is on record.
    const isOnRecord = record !== undefined && record.lastCall !== lastCall;
    if (isOnRecord && isLast() && !checker.forgiven.has(uuid)) checker.calls.answered(request);
  });
}

/** Notes a permitted call: the outcome of earlier ones is no longer certain. */
export function noteAsked(checker: World['checker'], uuid: string, operation: InstanceOperation): object {
  const began = {};
  checker.mayOperate.add(`${BY_WAY_OF[operation]} ${uuid}`);
  checker.calls.asked(uuid);
  // An evacuated instance keeps its power state.
  if (operation === 'evacuate') return began;
  checker.operated.delete(uuid);
  checker.operating.set(uuid, began);
  return began;
}

/** The instance's tenant, or an operator, terminates it. */
export function terminateNow({ fleet, checker }: World, instanceUuid: string, isByOperator = false): void {
  const owner = checker.known.get(instanceUuid)?.latest.projectId;
  checker.terminated.add(instanceUuid);
  const { bus } = fleet.member(isByOperator || owner === undefined ? 'operator' : owner);
  const cast = castTyped({ bus, queue: BUILD_REQUESTS }, terminateInstanceCodec, { instanceUuid, projectId: '' });
  const isThere = owner !== undefined;
  void confirmed(cast).then((isConfirmed) => isConfirmed && isThere && checker.terminating.add(instanceUuid));
}

/** Undefined when it was refused, or no answer came. */
export async function call(
  { fleet, checker }: World,
  who: string,
  request: OperateInstanceRequest,
): Promise<InstanceView | undefined> {
  const called = callMethod({ bus: fleet.member(who).bus, queue: RPC_CONDUCTOR }, operateInstanceMethod, request, {
    timeoutMs: 3_000,
  });
  return called.then(
    ({ instance }) => instance,
    (thrown: unknown) => {
      const wrong = checker.calls.refused(request, BerthError.from(thrown).reason);
      if (wrong && !checker.forgiven.has(request.instanceUuid)) checker.fail('what was asked is done', wrong);
      return undefined;
    },
  );
}
