import { callMethod } from '#libs/bus/typed-calls';
import type { InstanceOperation, OperateInstanceRequest } from '#libs/contracts/messages';
import { moveInstancesMethod } from '#libs/contracts/moves';
import { RPC_CONDUCTOR } from '#libs/contracts/queues';
import type { Instance } from '#libs/domain/instance';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { agentOf, confirmed, HOSTS, type Perform, pick, type World } from './common';
import { call, conductorDies, noteAsked, operate } from './operations';

type Options = Pick<OperateInstanceRequest, 'resizeTo' | 'targetHost' | 'confirmAfterMs'>;

/** A tenant resizes an instance, or an operator moves one; and then it is confirmed, or reverted, or neither. */
export function move(random: Random): Perform {
  const place = random.next();
  const operation = pick(random, ['resize', 'migrate', 'live_migrate'] as const);
  const options = optionsOf(random, operation);
  const decision = pick(random, ['confirm', 'revert', 'revert', undefined] as const);
  const decidedAfterMs = random.next() ** 2 * 8_000;
  const isRough = random.next() < 0.6;
  const copiesAfterMs = 300 + random.next() * 6_000;
  const dies = random.next() < 0.4 ? conductorDies(random) : () => {};
  return (world) => {
    const { fleet, checker } = world;
    const instance = inState(world, place, 'active');
    if (instance === undefined) return;
    const { uuid, projectId, version } = instance;
    if (isRough) {
      for (const who of ['conductor-1', 'conductor-2', agentOf(instance.host ?? 'h1')]) {
        fleet.member(who).bus.duplicateNext(copiesAfterMs);
      }
    }
    dies(world);
    operate(world, instance, operation, operation !== 'resize', options);
    // What comes late is of the version that was seen then.
    fleet.time.at(
      fleet.time.nowMs + copiesAfterMs,
      () => void call(world, projectId, uuid, operation, version, options),
    );
    if (decision === undefined) return;
    fleet.time.at(fleet.time.nowMs + decidedAfterMs, () => {
      const latest = checker.known.get(uuid)?.latest;
      if (latest) operate(world, latest, decision);
    });
  };
}

/**
 * An operator has several instances moved together. Claimed at once, each is begun after a while, reverted, or left to wait until its time
 * is over; a conductor may die between the claims and the records, or later.
 */
export function moveTogether(random: Random): Perform {
  const operation = pick(random, ['migrate', 'live_migrate'] as const);
  const places = Array.from({ length: 2 + randomInt(random, 2) }, () => random.next());
  const decisions = places.map(() => pick(random, [operation, operation, operation, 'revert', undefined] as const));
  const pausesMs = places.map(() => random.next() ** 2 * 6_000);
  const dies = random.next() < 0.5 ? conductorDies(random) : () => {};
  return (world) => {
    const { fleet, checker } = world;
    const all = places.map((place) => inState(world, place, 'active')).filter((one) => one !== undefined);
    const uuids = [...new Set(all.map(({ uuid }) => uuid))];
    if (uuids.length === 0) return;
    dies(world);
    for (const uuid of uuids) noteAsked(checker, uuid, operation);
    const moves = uuids.map((instanceUuid) => ({ instanceUuid, targetHost: '' }));
    const request = { operation, moves, leaveHosts: [], dryRun: false };
    const { bus } = fleet.member('operator');
    void confirmed(callMethod(bus, RPC_CONDUCTOR, moveInstancesMethod, request, { timeoutMs: 3_000 }));
    for (const [n, uuid] of uuids.entries()) {
      const decision = decisions[n];
      if (decision === undefined) continue;
      fleet.time.at(fleet.time.nowMs + 500 + (pausesMs[n] ?? 0), () => {
        const latest = checker.known.get(uuid)?.latest;
        if (latest?.migration?.phase === 'claimed') operate(world, latest, decision, true);
      });
    }
  };
}

/** A tenant confirms, or reverts, what is moved. */
export function decide(random: Random): Perform {
  const place = random.next();
  const operation = pick(random, ['confirm', 'revert'] as const);
  return (world) => {
    const instance = inState(world, place, 'verify_resize');
    if (instance) operate(world, instance, operation);
  };
}

/** A tenant has an instance migrated, which is for operators; or resizes what is another's. */
export function moveForeign(random: Random): Perform {
  const place = random.next();
  const isOwn = random.next() < 0.5;
  const options = optionsOf(random, 'resize');
  return (world) => {
    const instance = inState(world, place, 'active');
    if (instance === undefined) return;
    const { uuid, projectId } = instance;
    const other = projectId === 'tenant-a' ? 'tenant-b' : 'tenant-a';
    if (isOwn) void call(world, projectId, uuid, 'migrate', 0);
    else void call(world, other, uuid, 'resize', 0, options);
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

function inState({ checker }: World, place: number, wanted: Instance['state']): Instance | undefined {
  const fitting = [...checker.known.values()].map(({ latest }) => latest).filter(({ state }) => state === wanted);
  return fitting[Math.floor(place * fitting.length)];
}
