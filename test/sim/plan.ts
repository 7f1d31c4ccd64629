import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildReportCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import { terminateInstanceCodec } from '#libs/contracts/conductor';
import { setHostEnabledMethod } from '#libs/contracts/hosts';
import { agentQueue, BUILD_REQUESTS, BUILD_RESULTS, RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { attemptNumber } from '#libs/domain/instance';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { deletesAllocations, givesAggregate, givesTrait, novaMoves, reserves } from './actions/api-clients';
import { confirmed, instanceAt, pick, type World } from './actions/common';
import { deleteDeadHosts, deleteHost } from './actions/deletions';
import { drain, undrain } from './actions/drains';
import { deviceMoves, machineShrinks, partVanishes } from './actions/hardware';
import { answersForAnother, answersForOthersInstances, saysWhatWasHeard } from './actions/liars/answers';
import {
  claimsOthersInstances,
  floodsStrays,
  inventsInstances,
  leavesOutInstances,
  replaysSeals,
  reportsForAnother,
  reportsOfEarlierEpoch,
  takesProviders,
} from './actions/liars/reports';
import { forgetsMove, hostFallsSilent, losesLastSecond, olderCopyOfBuilds } from './actions/losses';
import {
  agentAwayForLong,
  agentStaysAway,
  agentsAwayForLong,
  diskGoesBack,
  replaceMachine,
  sourceLosesCopy,
} from './actions/machines';
import { decide, move, moveForeign, moveTogether, returnIsEvacuated, startIsEvacuated } from './actions/moves';
import {
  evacuate,
  evacuateDead,
  forgetOperation,
  operate,
  shelveAndUnshelve,
  start,
  stop,
  stopAndStart,
  stopForeign,
  terminateNow,
  unshelve,
} from './actions/operations';
import { brokerRestarts, buildsAreLate, takenOver } from './actions/outages';
import { anAdmission, aPreemptor, looksAtQueue, ofACrowd } from './actions/queueing';
import { LIMITED_TENANT, lastOfQuota, lendEachOther, limitsTenant } from './actions/quotas';
import { putIntoRacks } from './actions/racks';
import {
  backfill,
  buildInReservation,
  deleteReservation,
  reserveUnits,
  windowBeginsSoon,
} from './actions/reservations';
import { buildUnderBudget } from './actions/tenants/budgeted-group';
import { buildWithDevice, deviceIsLeft, deviceWears } from './actions/tenants/devices';
import { buildGangInRack } from './actions/tenants/gang-in-rack';
import { buildGangOfKinds } from './actions/tenants/gang-of-kinds';
import { buildGangThatLoses } from './actions/tenants/gang-that-loses';
import { asksForOthers, buildsUnderDerived, buildsWithOthers } from './actions/tenants/malicious-tenant';
import { type Request, requestIn, send, tenant } from './actions/tenants/requests';
import { barsHost, isolatesTenant, putIntoZone, ZONE_NAMES } from './actions/zones';
import { FORGED } from './checker';
import { SERVICES } from './fleet';
import { HOSTS } from './settings';
import { drawPlan, type Kind, kind, type Action as PlannedAction } from './world/draw-plan';
import { byHowMuch, faultsOf, takeStoreAway, usualFaults } from './world/faults';

/** A planned action on the fleet. */
export type Action = PlannedAction<World>;

const faults = faultsOf<World>({
  services: SERVICES,
  senders: [...SERVICES, 'tenant-a'],
  linkCount: 2,
  serversOf:
    () =>
    ({ fleet }) =>
      fleet,
});

/** Kinds of actions on a fleet. */
const KINDS = {
  build: kind(1, 60, build),
  terminate: kind(1, 25, terminate),
  stop: kind(0.7, 14, stop),
  start: kind(0.7, 14, start),
  'stop and start': kind(0.7, 20, stopAndStart),
  'stop of another project': kind(0.3, 3, stopForeign),
  evacuate: kind(0.4, 6, evacuate),
  'shelve and unshelve': kind(0.6, 10, shelveAndUnshelve),
  unshelve: kind(0.4, 6, unshelve),
  'evacuate a dead host': kind(0.6, 16, evacuateDead),
  'store forgets an operation': kind(0.25, 25, forgetOperation),
  'build and terminate': kind(0.5, 8, buildAndTerminate),
  'begin a group': kind(0.5, 7, beginGroup),
  'build again': kind(0.5, 10, buildAgain),
  'build with a foreign uuid': kind(0.4, 7, buildForeign),
  'terminate during a slow claim': kind(0.5, 7, terminateDuringClaim),
  'tenant is limited': kind(0.4, 4, limitsTenant),
  'last of a quota': kind(0.5, 6, lastOfQuota(buildOneAsLimited)),
  'terminate of another project': kind(0.3, 4, terminateForeign),
  'order of a tenant': kind(0.5, 6, orderAsTenant),
  'report for another host': kind(0.3, 4, reportForAnother),
  'workload exits': kind(0.5, 4, workloadExits),
  ...usualFaults(faults),
  'dead letters put back': kind(
    0.6,
    6,
    () =>
      ({ fleet }) =>
        void fleet.putBackDeadLetters(),
  ),
  'store away': kind(0.3, 5, faults.storeAway),
  'store goes back': kind(0.15, 4, storeGoesBack),
  'store is wiped': kind(
    0.1,
    4,
    () =>
      ({ checker }) =>
        void checker.storeGoesBackTo(0),
  ),
  'clock jumps': kind(0.5, 8, faults.clockJumps),
  'machine shrinks': kind(0.3, 5, machineShrinks),
  'replace machine': kind(0.2, 3, replaceMachine),
  'agent stays away': kind(0.3, 4, agentStaysAway),
  'second agent': kind(0.4, 5, secondAgent),
  'nova claims': kind(0.4, 6, novaClaims),
  'nova releases': kind(0.4, 3, novaReleases),
  'host disabled': kind(0.3, 3, hostDisabled),
  'terminate by an operator': kind(0.4, 3, terminateAsOperator),
  'invented instances': kind(0.3, 6, inventsInstances),
  "others' instances reported": kind(0.5, 7, claimsOthersInstances),
  'instances left out': kind(0.5, 8, leavesOutInstances),
  'stats for another host': kind(0.3, 4, reportsForAnother),
  'stats of an earlier holder': kind(0.3, 4, reportsOfEarlierEpoch),
  'providers of others reported': kind(0.3, 5, takesProviders),
  'seals shown again': kind(0.4, 12, replaysSeals),
  'agent away for long': kind(0.3, 3, agentAwayForLong),
  'conductors stop while the store is away': kind(0.3, 3, stopDuringOutage),
  'nova moves': kind(0.4, 4, novaMoves),
  'allocations deleted': kind(0.3, 4, deletesAllocations),
  'client reserves': kind(0.3, 3, reserves),
  'client gives a trait': kind(0.2, 3, givesTrait),
  'client gives an aggregate': kind(0.2, 3, givesAggregate),
  'broker restarts': kind(0.3, 4, brokerRestarts),
  'builds are late': kind(0.3, 4, buildsAreLate),
  'taken over': kind(0.3, 4, takenOver),
  'black hole': kind(0.3, 4, faults.blackHole),
  'disk goes back': kind(0.3, 4, diskGoesBack),
  'orders outlive their records': kind(0.25, 3, ordersOutliveRecords),
  'part vanishes': kind(0.5, 8, partVanishes),
  'device moves': kind(0.3, 3, deviceMoves),
  'begin a group over racks': kind(0.4, 6, beginGroupOverRacks),
  'build a gang': kind(0.6, 10, buildGang),
  'build a gang of kinds': kind(0.4, 6, buildGangOfKinds),
  'build a gang in a rack': kind(0.4, 6, buildGangInRack),
  move: kind(0.7, 24, move),
  'decide on a move': kind(0.5, 8, decide),
  'move of another project': kind(0.3, 3, moveForeign),
  'build that waits': kind(0.6, 25, buildThatWaits),
  'build that preempts': kind(0.5, 12, buildThatPreempts),
  'fleet is crowded': kind(0.4, 5, fleetIsCrowded),
  'host into a zone': kind(0.4, 6, putIntoZone),
  'build in a zone': kind(0.5, 8, buildInZone),
  'hosts for one tenant': kind(0.3, 4, isolatesTenant),
  'host is barred': kind(0.2, 6, barsHost),
  'build with a device': kind(0.4, 10, buildWithDevice),
  'device wears': kind(0.3, 5, deviceWears),
  'device is left': kind(0.2, 4, deviceIsLeft),
  'drain a host': kind(0.3, 7, drain),
  'undrain a host': kind(0.3, 3, undrain),
  'delete a host': kind(0.3, 4, deleteHost),
  'delete dead hosts': kind(0.3, 4, deleteDeadHosts),
  'move together': kind(0.3, 6, moveTogether),
  'tenants lend each other': kind(0.3, 5, lendEachOther(buildOfCohort)),
  'several make room': kind(0.3, 5, severalMakeRoom),
  'build beside a move': kind(0.4, 8, buildBesideMove),
  'build under a derived uuid': kind(0.5, 6, buildsUnderDerived),
  "build with others' names": kind(0.4, 5, buildsWithOthers),
  "ask for what is others'": kind(0.5, 8, asksForOthers),
  'store loses its last second': kind(0.25, 5, losesLastSecond(build)),
  'older copy of builds': kind(0.2, 4, olderCopyOfBuilds(build)),
  'store forgets a move': kind(0.2, 4, forgetsMove(move)),
  'flood of strays': kind(0.2, 2, floodsStrays),
  'host falls silent with the store': kind(0.2, 3, hostFallsSilent(build)),
  'source loses its copy': kind(0.25, 4, sourceLosesCopy(move)),
  'build under a budget': kind(0.3, 5, buildUnderBudget),
  'gang loses members': kind(0.4, 5, buildGangThatLoses),
  'answer for another host': kind(0.3, 3, answersForAnother),
  "answer for others' instances": kind(0.4, 8, answersForOthersInstances),
  'hearing of another host': kind(0.3, 3, saysWhatWasHeard),
  'reserve units': kind(0.3, 5, reserveUnits),
  'delete a reservation': kind(0.3, 3, deleteReservation),
  'build in a reservation': kind(0.3, 8, buildInReservation),
  backfill: kind(0.3, 6, backfill),
  'window begins soon': kind(0.3, 4, windowBeginsSoon),
  // By focus only: its restarts would hide other faults.
  'orders outlive their instances': kind(0, 6, ordersOutliveInstances),
  // By focus only, too: their hosts are away for most of what it takes.
  'return is evacuated': kind(0, 6, returnIsEvacuated),
  'start is evacuated': kind(0, 6, startIsEvacuated),
} satisfies Readonly<Record<string, Kind<World>>>;

export type ActionKind = keyof typeof KINDS;

export const KIND_NAMES = Object.keys(KINDS);

/** The plan of a seed (`drawPlan`). */
export function planOf(seed: number, actionCount: number, focus?: readonly string[]): Action[] {
  return drawPlan<World>(KINDS, seed, actionCount, focus);
}

function build(random: Random): Action['perform'] {
  const uuids = Array.from({ length: 1 + randomInt(random, 3) }, () => random.uuid());
  const request = requestOf(random, () => uuids);
  return (world) => send(world, request);
}

function buildOneAsLimited(random: Random): Action['perform'] {
  const uuid = random.uuid();
  const request = requestIn(undefined, LIMITED_TENANT, random, () => [uuid]);
  return (world) => send(world, request);
}

function requestOf(random: Random, uuidsIn: Request['uuidsIn']): Request {
  const policy = random.next() < 0.25 ? pick(random, ['affinity', 'anti-affinity'] as const) : undefined;
  // The group has the same name in each project, as two tenants may choose the same word.
  return requestIn(policy && { id: policy, policy, maxPerHost: 1 }, tenant(random), random, uuidsIn);
}

function terminateAsOperator(random: Random): Action['perform'] {
  const place = random.next();
  return (world) => {
    const instance = instanceAt(world, place);
    if (instance) terminateNow(world, instance.uuid, true);
  };
}

function terminateForeign(random: Random): Action['perform'] {
  const place = random.next();
  return (world) => {
    const { uuid: instanceUuid, projectId } = instanceAt(world, place) ?? {};
    if (instanceUuid === undefined) return;
    const { bus } = world.fleet.member(projectId === 'tenant-a' ? 'tenant-b' : 'tenant-a');
    void confirmed(castTyped({ bus, queue: BUILD_REQUESTS }, terminateInstanceCodec, { instanceUuid, projectId: '' }));
  };
}

/** A tenant orders a destruction itself. (Real brokers do not even let it into the queue.) */
function orderAsTenant(random: Random): Action['perform'] {
  const place = random.next();
  return (world) => {
    const { uuid: instanceUuid, host } = instanceAt(world, place) ?? {};
    if (instanceUuid === undefined || host === undefined) return;
    const queue = agentQueue(host.split('-')[0] ?? '');
    const order = { instanceUuid, host, attempt: 0, report: true, allocations: {}, mappings: {} };
    void confirmed(castTyped({ bus: world.fleet.member('tenant-b').bus, queue }, destroyInstanceCodec, order));
  };
}

/** The agent of one host reports the instance of another lost. */
function reportForAnother(random: Random): Action['perform'] {
  const place = random.next();
  return (world) => {
    const instance = instanceAt(world, place);
    if (instance?.host === undefined) return;
    const { uuid: instanceUuid, host } = instance;
    const epoch = world.checker.hosts.get(host)?.epoch ?? 0;
    const when = { epoch, position: Number.MAX_SAFE_INTEGER };
    const about = { instanceUuid, host, attempt: attemptNumber(instance), claimToken: 0, alternates: [], ...when };
    const report = { ...about, outcome: 'lost', reason: FORGED, message: FORGED } as const;
    const { bus } = world.fleet.member(host === 'h1' ? 'agent-h2' : 'agent-h1');
    void confirmed(castTyped({ bus, queue: BUILD_RESULTS }, buildReportCodec, report));
  };
}

/** Two first members of a group, placed concurrently by two schedulers. */
function beginGroup(random: Random): Action['perform'] {
  const who = tenant(random);
  const group = { id: `${random.uuid()} affinity`, policy: 'affinity', maxPerHost: 1 } as const;
  const requests = [random.uuid(), random.uuid()].map((uuid) => requestIn(group, who, random, () => [uuid]));
  return (world) => {
    for (const request of requests) send(world, request);
  };
}

/** Members of an anti-affinity group, the first of which is moved; others are built before it goes back. */
function buildBesideMove(random: Random): Action['perform'] {
  const who = tenant(random);
  const group = { id: `${random.uuid()} anti-affinity`, policy: 'anti-affinity', maxPerHost: 1 } as const;
  const uuids = Array.from({ length: 4 }, () => random.uuid());
  const [first, ...others] = uuids.map((uuid) => ({ uuid, request: requestIn(group, who, random, () => [uuid]) }));
  const operation = pick(random, ['migrate', 'resize'] as const);
  const resizeTo = requestSpec({ VCPU: 1, MEMORY_MB: 256 }, { projectId: who, userId: 'user' });
  return (world) => {
    if (first === undefined) return;
    const { time } = world.fleet;
    const later = (afterMs: number, then: () => void) => time.at(time.nowMs + afterMs, then);
    const order = (what: 'migrate' | 'resize' | 'revert') => {
      const latest = world.checker.known.get(first.uuid)?.latest;
      if (latest) operate(world, latest, what, what === 'migrate', what === 'resize' ? { resizeTo } : {});
    };
    const arrived = () => {
      for (const [n, { request }] of others.entries()) later(n * 500, () => send(world, request));
      later(3_000, () => order('revert'));
    };
    const awaitArrival = (leftMs: number) => {
      if (world.checker.known.get(first.uuid)?.latest.state === 'verify_resize') arrived();
      else if (leftMs > 0) later(LOOK_EVERY_MS, () => awaitArrival(leftMs - LOOK_EVERY_MS));
    };
    send(world, first.request);
    later(3_000, () => order(operation));
    later(3_000, () => awaitArrival(ARRIVES_WITHIN_MS));
  };
}

/** Time in which a move arrives at VERIFY_RESIZE, unless faults keep it; and between two looks whether it has. */
const ARRIVES_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 250;

/** The first members of a group that spreads over two racks, placed concurrently by two schedulers. */
function beginGroupOverRacks(random: Random): Action['perform'] {
  const who = tenant(random);
  const spread = { by: 'rack', maxSkew: 1 };
  const group = { id: `${random.uuid()} spread`, policy: 'soft-anti-affinity', maxPerHost: 1, spread } as const;
  const uuids = Array.from({ length: 4 }, () => random.uuid());
  const requests = uuids.map((uuid) => requestIn(group, who, random, () => [uuid]));
  return (world) => {
    void putIntoRacks(world).then((isDone) => {
      if (isDone) for (const request of requests) send(world, request);
    });
  };
}

/** One or two instances for a zone, which may have no host yet. */
function buildInZone(random: Random): Action['perform'] {
  const uuids = Array.from({ length: 1 + randomInt(random, 2) }, () => random.uuid());
  const who = tenant(random);
  const zone = pick(random, [...ZONE_NAMES, 'nova'] as const);
  const spec = requestSpec({ VCPU: 1 }, { projectId: who, userId: 'user', availabilityZone: zone });
  const request = { who, requestId: random.uuid(), uuidsIn: () => uuids, requestSpec: requestSpecCodec.encode(spec) };
  return (world) => send(world, request);
}

/** A gang, mostly with so few alternates that a member may fail for good; sometimes one is terminated early. */
function buildGang(random: Random): Action['perform'] {
  const uuids = Array.from({ length: 2 + randomInt(random, 3) }, () => random.uuid());
  const who = tenant(random);
  const forceHosts = random.next() < 0.6 ? [pick(random, HOSTS)] : [];
  const gangSpec = requestSpec({ VCPU: 1 }, { projectId: who, userId: 'user', forceHosts });
  const minCount = random.next() < 0.5 ? uuids.length : 1 + randomInt(random, uuids.length);
  const requestId = random.uuid();
  const request = { who, requestId, uuidsIn: () => uuids, requestSpec: requestSpecCodec.encode(gangSpec), minCount };
  const isOneTerminated = random.next() < 0.2;
  const afterMs = random.next() ** 3 * 1_500;
  return (world) => {
    send(world, request);
    if (isOneTerminated) world.fleet.later(afterMs, () => terminateNow(world, uuids[0] ?? ''));
  };
}

/** Several requests of one shape that wait when there is no capacity. */
function buildThatWaits(random: Random): Action['perform'] {
  const who = tenant(random);
  const requests = Array.from({ length: 1 + randomInt(random, 4) }, () => {
    const uuids = Array.from({ length: random.next() < 0.2 ? 2 : 1 }, () => random.uuid());
    return { ...requestIn(undefined, who, random, () => uuids), admission: anAdmission(random) };
  });
  return (world) => {
    for (const request of requests) send(world, request);
    looksAtQueue(world);
  };
}

/** A preemptor. */
function buildThatPreempts(random: Random): Action['perform'] {
  const uuid = random.uuid();
  const request = { ...requestIn(undefined, tenant(random), random, () => [uuid]), admission: aPreemptor(random) };
  return (world) => send(world, request);
}

/** More instances than the fleet has capacity for, most of which may be requeued; then a preemptor, and some end. */
function fleetIsCrowded(random: Random): Action['perform'] {
  const who = tenant(random);
  const crowd = Array.from({ length: 9 }, () => {
    const uuid = random.uuid();
    return { uuid, ...requestIn(undefined, who, random, () => [uuid]), admission: ofACrowd(random) };
  });
  const preempts = Array.from({ length: 2 }, () => buildThatPreempts(random));
  const afterMs = 2_000 + random.next() * 2_000;
  const dies = random.next() < 0.5 ? faults.dieInTheMiddle(random) : () => {};
  return (world) => {
    const { time } = world.fleet;
    for (const request of crowd) send(world, request);
    looksAtQueue(world);
    time.at(time.nowMs + afterMs, () => {
      for (const preempt of preempts) preempt(world);
    });
    time.at(time.nowMs + afterMs + 300, () => dies(world));
    time.at(time.nowMs + 2 * afterMs, () => {
      for (const { uuid } of crowd.slice(0, 3)) terminateNow(world, uuid);
    });
  };
}

/** A preemptor that needs several victims, or several preemptors, on a fleet with many possible victims. */
function severalMakeRoom(random: Random): Action['perform'] {
  const who = tenant(random);
  const small = Array.from({ length: 6 }, () => {
    const uuid = random.uuid();
    return { ...requestIn(undefined, tenant(random), random, () => [uuid]), admission: ofACrowd(random) };
  });
  const isOne = random.next() < 0.6;
  const uuids = Array.from({ length: isOne ? 1 : 2 + randomInt(random, 2) }, () => random.uuid());
  const spec = requestSpec({ VCPU: isOne ? 2 + randomInt(random, 3) : 2 }, { projectId: who, userId: 'user' });
  const about = { who, requestId: random.uuid(), uuidsIn: () => uuids, requestSpec: requestSpecCodec.encode(spec) };
  const large = { ...about, admission: aPreemptor(random) };
  const afterMs = 1_500 + random.next() * 2_500;
  const dies = random.next() < 0.5 ? faults.dieInTheMiddle(random) : () => {};
  return (world) => {
    const { time } = world.fleet;
    for (const request of small) send(world, request);
    time.at(time.nowMs + afterMs, () => {
      send(world, large);
      dies(world);
    });
  };
}

/** A request of a cohort's member, which may borrow for it or reclaim. */
function buildOfCohort(random: Random, who: string): Action['perform'] {
  const uuids = Array.from({ length: 1 + randomInt(random, 2) }, () => random.uuid());
  const admissionOf = pick(random, [() => undefined, anAdmission, aPreemptor, aPreemptor]);
  const request = { ...requestIn(undefined, who, random, () => uuids), admission: admissionOf(random) };
  return (world) => send(world, request);
}

/** A client terminates its request at once. */
function buildAndTerminate(random: Random): Action['perform'] {
  const uuid = random.uuid();
  const request = requestOf(random, () => [uuid]);
  const afterMs = random.next() ** 3 * 1_500;
  return (world) => {
    send(world, request);
    const { time } = world.fleet;
    time.at(time.nowMs + afterMs, () => terminateNow(world, uuid));
  };
}

/** A client terminates its request while a scheduler's claim is under way. */
function terminateDuringClaim(random: Random): Action['perform'] {
  const uuid = random.uuid();
  const request = requestOf(random, () => [uuid]);
  const terminateAfterMs = 20 + random.next() * 500;
  return (world) => {
    const { fleet } = world;
    for (const scheduler of ['scheduler-1', 'scheduler-2']) {
      const toStore = fleet.member(scheduler).links[1];
      if (toStore === undefined) continue;
      toStore.extraMs = 1_200;
      fleet.later(3_000, () => {
        toStore.extraMs = 0;
      });
    }
    send(world, request);
    fleet.later(terminateAfterMs, () => terminateNow(world, uuid));
  };
}

/**
 * A copy of a build order arrives while its agent is away and after the instance was destroyed and its record forgotten; the agent finds it
 * on its return.
 */
function ordersOutliveRecords(random: Random): Action['perform'] {
  const uuid = random.uuid();
  const request = requestOf(random, () => [uuid]);
  const goAway = agentsAwayForLong(random);
  return (world) => {
    const { fleet } = world;
    for (const conductor of ['conductor-1', 'conductor-2']) fleet.member(conductor).bus.duplicateNext(6_000);
    send(world, request);
    fleet.later(2_000, () => terminateNow(world, uuid));
    fleet.later(4_000, () => goAway(world));
  };
}

/** An instance is destroyed, its agent restarts, and a copy of its build order arrives within the deadline. */
function ordersOutliveInstances(random: Random): Action['perform'] {
  const uuid = random.uuid();
  const request = requestOf(random, () => [uuid]);
  return (world) => {
    const { fleet } = world;
    for (const conductor of ['conductor-1', 'conductor-2']) fleet.member(conductor).bus.duplicateNext(3_000);
    send(world, request);
    fleet.later(1_500, () => terminateNow(world, uuid));
    fleet.later(2_400, () => {
      for (const agent of ['agent-h1', 'agent-h2']) void fleet.restart(agent);
    });
  };
}

/** A client uses the uuid of another's consumer for an instance. */
function buildForeign(random: Random): Action['perform'] {
  const which = random.next();
  const request = requestOf(random, ({ checker }) => {
    const all = [...checker.foreign.keys()];
    return all.slice(Math.floor(which * all.length)).slice(0, 1);
  });
  return (world) => send(world, request);
}

function buildAgain(random: Random): Action['perform'] {
  const which = random.next();
  // Some copies arrive only after the record of their request is forgotten.
  const afterMs = random.next() < 0.5 ? 0 : 18_000 + random.next() * 10_000;
  return ({ fleet, checker }) => {
    const { requests } = checker;
    const request = requests[Math.floor(which * requests.length)];
    fleet.time.at(fleet.time.nowMs + afterMs, () => void confirmed(request?.send()));
  };
}

function terminate(random: Random): Action['perform'] {
  const which = random.next();
  const isMany = random.next() < 0.3;
  return (world) => {
    const all = world.checker.requests.flatMap(({ uuids }) => uuids);
    const first = Math.floor(which * all.length);
    for (const uuid of all.slice(first, first + (isMany ? 4 : 1))) terminateNow(world, uuid);
  };
}

function workloadExits(random: Random): Action['perform'] {
  const which = random.next();
  return ({ fleet }) => {
    const all = [...fleet.machines.values()].flatMap((machine) =>
      [...machine.running.keys()].map((uuid) => ({ machine, uuid })),
    );
    const one = all[Math.floor(which * all.length)];
    one?.machine.exit(one.uuid);
  };
}

/** Conductors are upgraded while they hold messages that they can't settle. */
function stopDuringOutage(random: Random): Action['perform'] {
  const uuid = random.uuid();
  const request = requestOf(random, () => [uuid]);
  return (world) => {
    const { fleet } = world;
    takeStoreAway(world, fleet, 2_500);
    send(world, request);
    fleet.later(500, () => {
      for (const conductor of ['conductor-1', 'conductor-2']) void fleet.restart(conductor);
    });
  };
}

function novaClaims(random: Random): Action['perform'] {
  const uuid = random.uuid();
  const host = pick(random, HOSTS);
  const VCPU = 1 + randomInt(random, 2);
  return ({ checker }) => {
    const row = checker.hosts.get(host);
    if (row) void confirmed(checker.claimAsNova(uuid, { [row.providerUuid]: { VCPU } }));
  };
}

function novaReleases(random: Random): Action['perform'] {
  const which = random.next();
  return ({ checker }) => {
    const all = [...checker.foreign.keys()];
    const uuid = all[Math.floor(which * all.length)];
    if (uuid !== undefined) void confirmed(checker.claimAsNova(uuid, {}));
  };
}

function hostDisabled(random: Random): Action['perform'] {
  const host = pick(random, HOSTS);
  const forMs = 1_000 + random.next() * 8_000;
  return ({ fleet }) => {
    const { bus } = fleet.member('operator');
    const set = (enabled: boolean) => {
      const request = { host, enabled, reason: enabled ? '' : 'an operator' };
      void confirmed(callMethod({ bus, queue: RPC_SCHEDULER }, setHostEnabledMethod, request, { timeoutMs: 1_000 }));
    };
    set(false);
    fleet.later(forMs, () => set(true));
  };
}

/** A fail-over to a replica that lags, or a restored snapshot: by a second, or by hours. */
function storeGoesBack(random: Random): Action['perform'] {
  const byMs = byHowMuch(random);
  return ({ fleet, checker }) => void checker.storeGoesBackTo(fleet.time.nowMs - byMs);
}

/** A second process of an agent on another machine, as after a machine was cloned; it ends after a while. */
function secondAgent(random: Random): Action['perform'] {
  const agent = pick(random, ['agent-h1', 'agent-h2']);
  const forMs = 500 + random.next() * 8_000;
  return ({ fleet }) => fleet.launchClone(agent, forMs);
}
