import { callMethod } from '#libs/bus/typed-calls';
import { moveInstancesMethod } from '#libs/contracts/moves';
import type { InstanceOperation, OperateInstanceRequest } from '#libs/contracts/operations';
import { RPC_CONDUCTOR } from '#libs/contracts/queues';
import type { Instance } from '#libs/domain/instance';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { agentOf, HOSTS, LEASE_MS } from '../settings';
import { standStill } from '../world/faults';
import { confirmed, type Perform, pick, type World } from './common';
import { call, conductorDies, evacuateAllOf, noteAsked, operate } from './operations';

type Options = Pick<OperateInstanceRequest, 'resizeTo' | 'targetHost' | 'confirmAfterMs'>;

/** A tenant resizes an instance, or an operator moves one, running or stopped; then it is confirmed, or reverted, or neither. */
export function move(random: Random): Perform {
  const place = random.next();
  const operation = pick(random, ['resize', 'migrate', 'live_migrate'] as const);
  const options = optionsOf(random, operation);
  const decision = pick(random, ['confirm', 'revert', 'revert', undefined] as const);
  const decidedAfterMs = random.next() ** 2 * 8_000;
  const isRough = random.next() < 0.6;
  const copiesAfterMs = 300 + random.next() * 6_000;
  const dies = random.next() < 0.4 ? conductorDies(random) : () => {};
  const stopsMs = stopsBefore(random);
  const begin = (world: World, instance: Instance) => {
    const { fleet, checker } = world;
    const { uuid, projectId, version } = instance;
    const caller = operation === 'resize' ? projectId : 'operator';
    if (isRough) {
      for (const who of ['conductor-1', 'conductor-2', agentOf(instance.host ?? 'h1')]) {
        fleet.member(who).bus.duplicateNext(copiesAfterMs);
      }
    }
    dies(world);
    operate(world, instance, operation, operation !== 'resize', options);
    // A late copy names the version of the first call.
    fleet.later(copiesAfterMs, () => void call(world, caller, { instanceUuid: uuid, operation, version, ...options }));
    if (decision === undefined) return;
    fleet.later(decidedAfterMs, () => {
      const latest = checker.known.get(uuid)?.latest;
      if (latest === undefined) return;
      operate(world, latest, decision);
      fleet.later(
        copiesAfterMs,
        () => void call(world, projectId, { instanceUuid: uuid, operation: decision, version: latest.version }),
      );
    });
  };
  return (world) => {
    const instance = inState(world, place, operation === 'live_migrate' ? ['active'] : AT_REST);
    if (instance) afterStop(world, instance, operation === 'live_migrate' ? undefined : stopsMs, begin);
  };
}

/** The time for which an instance is stopped before its move; undefined when it is moved as it is. */
function stopsBefore(random: Random): number | undefined {
  const isStopped = random.next() < 0.3;
  const afterMs = 300 + random.next() * 1_500;
  return isStopped ? afterMs : undefined;
}

/** Calls back with an instance once its tenant has stopped it for so long; at once without a stop. */
function afterStop(
  world: World,
  instance: Instance,
  stopsMs: number | undefined,
  goOn: (world: World, instance: Instance) => void,
): void {
  if (stopsMs === undefined || instance.state !== 'active') return goOn(world, instance);
  operate(world, instance, 'stop');
  const { time } = world.fleet;
  time.at(time.nowMs + stopsMs, () => {
    const latest = world.checker.known.get(instance.uuid)?.latest;
    if (latest && AT_REST.includes(latest.state)) goOn(world, latest);
  });
}

/**
 * An operator moves several instances together, running or stopped. They are claimed at once; each is then begun after a while, reverted,
 * or left waiting until its time is over. A conductor may die between the claims and the records, or later.
 */
export function moveTogether(random: Random): Perform {
  const operation = pick(random, ['migrate', 'live_migrate'] as const);
  const places = Array.from({ length: 2 + randomInt(random, 2) }, () => random.next());
  const decisions = places.map(() => pick(random, [operation, operation, operation, 'revert', undefined] as const));
  const pausesMs = places.map(() => random.next() ** 2 * 6_000);
  const dies = random.next() < 0.5 ? conductorDies(random) : () => {};
  const stopsMs = stopsBefore(random);
  const begin = (world: World, uuids: readonly string[]) => {
    const { fleet, checker } = world;
    dies(world);
    claimAll(world, uuids, operation);
    for (const [n, uuid] of uuids.entries()) {
      const decision = decisions[n];
      if (decision === undefined) continue;
      fleet.time.at(fleet.time.nowMs + 500 + (pausesMs[n] ?? 0), () => {
        const latest = checker.known.get(uuid)?.latest;
        if (latest?.migration?.phase !== 'claimed') return;
        operate(world, latest, decision === 'revert' ? decision : latest.migration.kind, true);
      });
    }
  };
  return (world) => {
    const all = places.map((place) => inState(world, place, AT_REST)).filter((one) => one !== undefined);
    const uuids = [...new Set(all.map(({ uuid }) => uuid))];
    const [first] = all;
    if (first) afterStop(world, first, stopsMs, () => begin(world, uuids));
  };
}

/** An operator has moves claimed at once. */
function claimAll({ fleet, checker }: World, uuids: readonly string[], operation: 'migrate' | 'live_migrate'): void {
  for (const uuid of uuids) {
    noteAsked(checker, uuid, operation);
    // A stopped instance is migrated cold.
    noteAsked(checker, uuid, 'migrate');
  }
  const moves = uuids.map((instanceUuid) => ({ instanceUuid, targetHost: '' }));
  const request = { operation, moves, leaveHosts: [], dryRun: false };
  const { bus } = fleet.member('operator');
  void confirmed(callMethod({ bus, queue: RPC_CONDUCTOR }, moveInstancesMethod, request, { timeoutMs: 3_000 }));
}

/** The same, and each is begun after a pause. */
export function moveAll(
  world: World,
  uuids: readonly string[],
  operation: 'migrate' | 'live_migrate',
  pausesMs: readonly number[],
): void {
  claimAll(world, uuids, operation);
  for (const [n, uuid] of uuids.entries()) {
    world.fleet.later(500 + (pausesMs[n] ?? 0), () => {
      const latest = world.checker.known.get(uuid)?.latest;
      if (latest?.migration?.phase === 'claimed') operate(world, latest, latest.migration.kind, true);
    });
  }
}

/** A tenant confirms or reverts a move. */
export function decide(random: Random): Perform {
  const place = random.next();
  const operation = pick(random, ['confirm', 'revert'] as const);
  return (world) => {
    const instance = inState(world, place, ['verify_resize']);
    if (instance) operate(world, instance, operation);
  };
}

/** Interval of looking for a move on its way. */
const LOOK_MS = 40;

/**
 * Both hosts of a move die while it is on its way, so that it goes back to its source, whose order waits there. The source is evacuated
 * meanwhile; it comes back with that order, and with what it kept.
 */
export function returnIsEvacuated(random: Random): Perform {
  const place = random.next();
  const evacuatedAfterMs = 10_000 + random.next() * 6_000;
  const backAfterMs = evacuatedAfterMs + 1_000 + random.next() * 4_000;
  return (world) => {
    const { fleet } = world;
    const moved = inState(world, place, ['active']);
    if (moved === undefined) return;
    operate(world, moved, 'migrate', true);
    once(world, moved.uuid, isArriving, ({ migration }) => {
      if (migration === undefined) return;
      const [source, destination] = [agentOf(migration.source.host), agentOf(migration.destination.host)];
      if (source === destination) return;
      for (const agent of [source, destination]) standStill(fleet, agent, backAfterMs);
      fleet.later(evacuatedAfterMs, () => evacuateAllOf(world, source));
      fleet.later((evacuatedAfterMs + backAfterMs) / 2, () => evacuateAllOf(world, source));
    });
  };
}

/** An agent stands still in the middle of a start, and its host is evacuated meanwhile. */
export function startIsEvacuated(random: Random): Perform {
  const place = random.next();
  const inMiddleMs = random.next() * 60;
  const evacuatedAfterMs = LEASE_MS + 500 + random.next() * 1_000;
  const backAfterMs = evacuatedAfterMs + 5_000 + random.next() * 3_000;
  return (world) => {
    const { fleet } = world;
    const instance = inState(world, place, AT_REST);
    if (instance === undefined) return;
    afterStop(world, instance, 1_000, (_, stopped) => {
      operate(world, stopped, 'start');
      once(world, stopped.uuid, isStarting, ({ host }) => {
        const agent = agentOf(host ?? 'h1');
        fleet.later(inMiddleMs, () => standStill(fleet, agent, backAfterMs));
        for (const againMs of [0, 2_000]) fleet.later(evacuatedAfterMs + againMs, () => evacuateAllOf(world, agent));
      });
    });
  };
}

/** Calls back once an instance is so, within two seconds. */
function once(
  world: World,
  uuid: string,
  isSo: (latest: Instance) => boolean,
  goOn: (latest: Instance) => void,
  times = 50,
): void {
  const latest = world.checker.known.get(uuid)?.latest;
  if (latest && isSo(latest)) goOn(latest);
  else if (times > 0) world.fleet.later(LOOK_MS, () => once(world, uuid, isSo, goOn, times - 1));
}

function isArriving({ migration, state }: Instance): boolean {
  return migration?.phase === 'arriving' && state === 'resize';
}

function isStarting({ state }: Instance): boolean {
  return state === 'starting';
}

/** A tenant migrates an instance, which only operators may; or resizes one of another tenant. */
export function moveForeign(random: Random): Perform {
  const place = random.next();
  const isOwn = random.next() < 0.5;
  const options = optionsOf(random, 'resize');
  return (world) => {
    const instance = inState(world, place, AT_REST);
    if (instance === undefined) return;
    const { uuid, projectId } = instance;
    const other = projectId === 'tenant-a' ? 'tenant-b' : 'tenant-a';
    if (isOwn) void call(world, projectId, { instanceUuid: uuid, operation: 'migrate', version: 0 });
    else void call(world, other, { instanceUuid: uuid, operation: 'resize', version: 0, ...options });
  };
}

function optionsOf(random: Random, operation: InstanceOperation): Options {
  const confirmAfterMs = random.next() < 0.3 ? 1_000 + randomInt(random, 5_000) : 0;
  const host = pick(random, HOSTS);
  const resources = { VCPU: 1 + randomInt(random, 3), MEMORY_MB: 256 };
  if (operation === 'resize') {
    return { resizeTo: requestSpec(resources, { projectId: 'any', userId: 'user' }), confirmAfterMs };
  }
  return random.next() < 0.3 ? { targetHost: host } : operation === 'migrate' ? { confirmAfterMs } : {};
}

/** States in which an instance may be moved. */
const AT_REST: readonly Instance['state'][] = ['active', 'stopped'];

function inState({ checker }: World, place: number, wanted: readonly Instance['state'][]): Instance | undefined {
  const fitting = [...checker.known.values()].map(({ latest }) => latest).filter(({ state }) => wanted.includes(state));
  return fitting[Math.floor(place * fitting.length)];
}
