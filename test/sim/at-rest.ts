import { isDeepStrictEqual } from 'node:util';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Consumer } from '#libs/domain/consumer';
import type { Host } from '#libs/domain/host';
import { type Instance, type PowerState, powerStateToBuild, presentBuild } from '#libs/domain/instance';
import { instanceOfConsumer } from '#libs/domain/moves/migration';
import { isReservation } from '#libs/domain/queueing/place-lease';
import { recentUseAt } from '#libs/domain/quotas/recent-use';
import type { Rows } from '#libs/placement/port/placement-store';
import { unknownUpToMs } from '#libs/placement/port/store-identity';
import { AGGREGATE, CUSTOM_TRAIT } from './actions/api-clients';
import { LIE_POSITION } from './actions/liars/reports';
import { LAST } from './actions/reservations';
import type { Checker } from './checker';
import type { Fleet } from './fleet';
import { agentOf, CONDUCTOR, SCHEDULER } from './settings';
import { rowsOf, wouldFit, wrongOfHeld } from './watches/reservation-watch';
import { circling } from './world/circling';

/** Records are deleted at most this long after their retention: audits come at intervals. */
const FORGETTING_MS = 12_000;

/** The states in which an instance may rest. */
const RESTING: readonly string[] = ['active', 'stopped', 'shelved_offloaded', 'verify_resize', 'error', 'deleted'];
/** Further states at rest when the host is gone for good: its agent neither reports an instance nor stops or starts it. */
const WAITING: readonly string[] = ['unknown', 'stopping', 'starting', 'preempting', 'shelving'];
/** Further states at rest when the store may have forgotten an instance that no agent reports: an operator decides. */
const UNCERTAIN: readonly string[] = ['building', 'resize', 'migrating', 'revert_resize'];

/** Invariants of a fleet that has had neither faults nor requests for a while. */
export async function checkAtRest(fleet: Fleet, checker: Checker): Promise<void> {
  const { placement, instances: instanceStore } = fleet.server.stores;
  const rows: Rows[] = [];
  await placement.snapshot((some) => rows.push(some));
  const instances: Instance[] = [];
  await instanceStore.scan(async (some) => {
    instances.push(...some);
  });
  const byUuid = new Map(instances.map((instance) => [instance.uuid, instance]));
  for (const wrong of checker.survivors.wrongAtRest(byUuid, (host) => isPresent(fleet, host))) {
    checker.fail('what ran before a loss runs after it', wrong);
  }
  await checkRequests(fleet, checker, instances);
  checkOperations(checker, instances);
  for (const wrong of checker.gangs.unkept((uuid) => checker.terminated.has(uuid) || checker.forgiven.has(uuid))) {
    checker.fail('gangs are kept', wrong);
  }
  for (const group of checker.hiddenBreaks()) {
    checker.fail('groups are kept', `${group} is broken, and no audit shows it`);
  }
  checkClaims(fleet, checker, rows, instances);
  for (const { kind, consumerUuid } of rows.flatMap(({ leases = [] }) => leases)) {
    checker.fail('nothing grows without bound', `a lease of ${consumerUuid} is left (${kind})`);
  }
  checkForeign(checker, rows);
  checkDecisions(checker, rows);
  await checkBounds(fleet, checker, instances);
  checkEvents(checker);
  checkMirrors(fleet, checker, rows);
  checkHosts(fleet, checker, rows, instances);
  checkReservations(fleet, checker, rows);
  checkDevices(fleet, checker, instances);
  for (const projectId of checker.quotas.miscounted(await placement.projectUsages())) {
    checker.fail('quotas are kept', `the store counts something else than ${projectId} holds`);
  }
  await checkRecentUse(fleet, checker);
  const round = circling(fleet.history, fleet.time.nowMs);
  if (round) checker.fail('queues are empty at rest', round);
  await checkQueues(fleet, checker);
}

/** Half-lives after which what was used before counts for little. */
const FORGOTTEN_AFTER = 6;
/** VCPUs that may be left of it. */
const LEFT_VCPUS = 1;

/** The average that decides who goes first is what is held, where that has not changed for some half-lives. */
async function checkRecentUse({ server, time }: Fleet, checker: Checker): Promise<void> {
  const { placement } = server.stores;
  const halfLifeMs = Number(SCHEDULER.BERTH_SCHEDULER_FAIR_SHARE_HALF_LIFE_MS);
  const samples = new Map((await placement.recentUses()).map((sample) => [sample.projectId, sample]));
  for (const ledger of await placement.projectUsages()) {
    const restedMs = time.nowMs - ledger.atMs;
    // A clock that was ahead has stamped it otherwise.
    if (restedMs < FORGOTTEN_AFTER * halfLifeMs) continue;
    const { averages } = recentUseAt(samples.get(ledger.projectId), ledger, { nowMs: time.nowMs, halfLifeMs });
    const [lately = 0, held = 0] = [averages['VCPU'], ledger.used['VCPU']];
    if (Math.abs(lately - held) <= LEFT_VCPUS) continue;
    const message = `${ledger.projectId} used ${lately} VCPU lately, and has held ${held} for ${restedMs} ms`;
    checker.fail('who waits and who makes room', message);
  }
}

async function checkRequests(fleet: Fleet, checker: Checker, instances: readonly Instance[]): Promise<void> {
  const byUuid = new Map(instances.map((instance) => [instance.uuid, instance]));
  for (const instance of instances) {
    const { uuid, state, host, migration } = instance;
    if (state !== 'deleted' && checker.terminating.has(uuid) && !checker.forgiven.has(uuid)) {
      checker.fail('every request ends', `${uuid} was to be terminated and rests in ${state}`);
    }
    if (isUnheard(instance)) continue;
    const hosts = [host, migration?.source.host, migration?.destination.host];
    const forgotten = checker.forgiven.has(uuid) ? UNCERTAIN : [];
    const isSeenElsewhere = [...fleet.machines.values()].some(
      ({ name, running }) => running.has(uuid) && checker.isInDoubt(uuid, name),
    );
    if (isSeenElsewhere) continue;
    // No host had room for what is restored, or was evacuated.
    const isRestored = presentBuild(instance).follows === 'evacuated';
    if (state === 'pending' && isRestored && instance.waiting.waitsFor.length > 0) continue;
    const mayRest = hosts.every((one) => isPresent(fleet, one)) ? RESTING : [...RESTING, ...WAITING, ...forgotten];
    if (!mayRest.includes(state)) checker.fail('every request ends', `${uuid} rests in ${state}`);
    if (checker.queue.isLate(instance, fleet.time.nowMs) && isPresent(fleet, host)) {
      checker.fail('every request ends', `${uuid} is ${state}, and its time limit is over`);
    }
  }
  const isKnown = (uuid: string) => byUuid.has(uuid) || checker.forgiven.has(uuid) || checker.isEnded(uuid);
  const unknown = [...checker.confirmed].filter(
    ([requestId, uuids]) => !checker.refused.has(requestId) && !uuids.every(isKnown),
  );
  if (unknown.length === 0) return;
  // The event of a refusal may be lost where the broker takes no events: then the request is a dead letter, with the reason.
  const deadLetters = await fleet.takeDeadLetters();
  for (const [requestId, uuids] of unknown) {
    if (deadLetters.has(requestId)) continue;
    checker.fail(
      'every request ends',
      `${uuids.join(', ')} was asked for, and the broker confirmed it, but there is no record`,
    );
  }
}

/**
 * True if the record rests on a false timestamp: until another run of the agent takes the host over, all its reports are older and are
 * ignored for this instance.
 */
function isUnheard({ activeAt }: Instance): boolean {
  return activeAt?.position === LIE_POSITION;
}

const NONE = /^$/;
const ANY = /./;

/** States of an instance whose operation was not done, with the faults that explain it: none, any, or a silent source. */
const UNDONE: Readonly<Record<string, { readonly states: readonly string[]; readonly mayFailBy: RegExp }>> = {
  stop: { states: ['active'], mayFailBy: NONE },
  start: { states: ['stopped'], mayFailBy: ANY },
  shelve: { states: ['active'], mayFailBy: NONE },
  unshelve: { states: ['shelved_offloaded'], mayFailBy: ANY },
  confirm: { states: ['verify_resize'], mayFailBy: NONE },
  revert: { states: ['verify_resize'], mayFailBy: /^source_silent$/ },
};

/** An instance is as the last operation on record asked, unless that failed. */
function checkOperations(checker: Checker, instances: readonly Instance[]): void {
  for (const { uuid, state, fault } of instances) {
    const last = checker.operated.get(uuid);
    if (last === undefined || checker.forgiven.has(uuid)) continue;
    const undone = UNDONE[last];
    const isOther = undone?.states.includes(state) && !(fault && undone.mayFailBy.test(fault.reason));
    if (isOther) checker.fail('what was asked is done', `${last} of ${uuid} was asked for last, and it is ${state}`);
  }
}

/**
 * An instance is ACTIVE on a host if and only if it runs there, STOPPED if and only if it is kept there, and either if and
 * only if its claim is there.
 */
function checkClaims(fleet: Fleet, checker: Checker, rows: readonly Rows[], instances: readonly Instance[]): void {
  const unheard = new Set(instances.filter(isUnheard).map(({ uuid }) => uuid));
  const recordedAs = (wanted: readonly Instance['state'][], powerState: PowerState) =>
    instances
      .filter(({ uuid, state, host }) => wanted.includes(state) && isPresent(fleet, host) && !unheard.has(uuid))
      .filter((instance) => instance.state !== 'verify_resize' || powerStateToBuild(instance) === powerState)
      .map(({ uuid, host }) => `${uuid} on ${host}`);
  const isHow = (how: 'running' | 'stopped', isInDoubt = false) =>
    [...fleet.machines.values()]
      .filter(({ name }) => isPresent(fleet, name))
      .flatMap((machine) => [...machine[how].keys()].map((uuid) => ({ uuid, name: machine.name })))
      .filter(({ uuid, name }) => (checker.isInDoubt(uuid, name) || unheard.has(uuid)) === isInDoubt)
      .map(({ uuid, name }) => `${uuid} on ${name}`);
  const running = isHow('running');
  // The migration holds the claim of an instance kept at its source.
  const kept = instances.flatMap(({ uuid, host, migration }) =>
    migration && migration.source.host !== host ? [`${uuid} on ${migration.source.host}`] : [],
  );
  const isKept = (one: string) => kept.includes(one) && !running.includes(one);
  const stopped = isHow('stopped').filter((one) => !isKept(one));
  const there = [...running, ...stopped];
  const names = new Map(rows.flatMap(({ providers = [] }) => providers).map(({ uuid, name }) => [uuid, name]));
  const claimed = rows
    .flatMap(({ consumers = [] }) => consumers)
    .filter((one) => one.owner === 'conductor' && !isReservedForBuild(one, instances))
    .flatMap(({ uuid: consumerUuid, consumerType, allocations }) => {
      const uuid = instanceOfConsumer({ uuid: consumerUuid, consumerType });
      const hosts = new Set(Object.keys(allocations).map((on) => names.get(on)?.split(':')[0]));
      return [...hosts].map((host) => ({ uuid, host }));
    })
    .filter(({ uuid, host }) => isPresent(fleet, host) && !unheard.has(uuid))
    .map(({ uuid, host }) => `${uuid} on ${host}`);
  const hostsOf = new Map<string, string[]>();
  for (const one of there) {
    const [uuid = '', , host = ''] = one.split(' ');
    hostsOf.set(uuid, [...(hostsOf.get(uuid) ?? []), host]);
  }
  for (const [uuid, hosts] of hostsOf) {
    if (hosts.length > 1) checker.fail('one host each', `${uuid} runs on ${hosts.join(' and ')} at rest`);
  }
  compare(recordedAs(['stopped', 'verify_resize'], 'shutdown'), stopped, (only, both) => {
    checker.fail(
      'claims are what runs',
      `${only} ${both ? 'is stopped, but is not STOPPED' : 'is STOPPED, but is not kept there'}`,
    );
  });
  compare(recordedAs(['active', 'verify_resize'], 'running'), running, (only, both) => {
    checker.fail('claims are what runs', `${only} ${both ? 'runs, but is not ACTIVE' : 'is ACTIVE, but does not run'}`);
  });
  const all = [...there, ...isHow('stopped').filter(isKept)];
  // An instance in doubt may hold its claim, by a move that the store forgot.
  const inDoubt = [...isHow('running', true), ...isHow('stopped', true)];
  // An instance that goes back from a host that is gone for good waits for that host, and keeps its claim at its source.
  const isLeft = ({ migration }: Instance) =>
    migration?.phase === 'leaving' && !isPresent(fleet, migration.destination.host);
  const waiting = instances.filter(isLeft).map(({ uuid, migration }) => `${uuid} on ${migration?.source.host}`);
  compare(claimed, all, (only, both) => {
    const [uuid] = only.split(' ');
    // A record is not concluded while its instance is seen elsewhere, so it keeps its claim, too.
    const isSeenElsewhere = !both && inDoubt.some((one) => one.split(' ')[0] === uuid);
    if (inDoubt.includes(only) || isSeenElsewhere || (!both && waiting.includes(only))) return;
    checker.fail('claims are what runs', `${only} ${both ? 'runs without a claim' : 'is claimed, but does not run'}`);
  });
}

/** Alternates are reserved for what is BUILDING, also on a host that is gone for good, while no other takes it. */
function isReservedForBuild(consumer: Consumer, instances: readonly Instance[]): boolean {
  if (!isReservation(consumer)) return false;
  const of = instanceOfConsumer(consumer);
  return instances.some(({ uuid, state }) => uuid === of && state === 'building');
}

/** True if a host has an agent, or will have one. */
function isPresent(fleet: Fleet, host = ''): boolean {
  return host === '' || fleet.presentAgents().some((agent) => queueOf(agent) === `agent.${host.split('-')[0]}`);
}

function compare(a: readonly string[], b: readonly string[], onOnly: (one: string, isOfB: boolean) => void): void {
  for (const one of a) if (!b.includes(one)) onOnly(one, false);
  for (const one of b) if (!a.includes(one)) onOnly(one, true);
}

function checkForeign(checker: Checker, rows: readonly Rows[]): void {
  const there = new Set(rows.flatMap(({ consumers = [] }) => consumers).map(({ uuid }) => uuid));
  for (const uuid of checker.foreign.keys()) {
    if (!there.has(uuid)) checker.fail('foreign consumers are left alone', `${uuid} of nova is gone`);
  }
}

/** Agents' reports leave alone the writes of others on their providers. */
function checkDecisions(checker: Checker, rows: readonly Rows[]): void {
  const all = rows.flatMap(({ providers = [] }) => providers);
  for (const uuid of checker.decisions.keys()) {
    if (!all.some((one) => one.uuid === uuid)) checker.fail('what others decided is kept', `${uuid} is gone`);
  }
  for (const { uuid, name, inventories, traits, aggregates } of all) {
    const { reserves, hasTrait, isInAggregate } = checker.decisions.get(uuid) ?? {};
    const lacks = [
      reserves && (inventories.VCPU?.reserved ?? 0) < 1 ? 'reserved VCPU' : '',
      hasTrait && !traits.includes(CUSTOM_TRAIT) ? CUSTOM_TRAIT : '',
      isInAggregate && !aggregates.includes(AGGREGATE) ? 'aggregate' : '',
    ].filter((what) => what !== '');
    if (lacks.length > 0)
      checker.fail('what others decided is kept', `${name} has lost its ${lacks.join(' and its ')}`);
  }
}

/** Records of ended instances are deleted after a while; after a loss, older ones stay for a day. */
async function checkBounds(fleet: Fleet, checker: Checker, instances: readonly Instance[]): Promise<void> {
  const beforeMs = fleet.time.nowMs - Number(CONDUCTOR.BERTH_CONDUCTOR_RETENTION_MS) - FORGETTING_MS;
  const lostAtMs = unknownUpToMs(await fleet.server.stores.placement.identify());
  for (const { uuid, state, updatedAtMs, createdAtMs } of instances) {
    const isKept = createdAtMs <= lostAtMs + 1_000;
    const isOld = !isKept && (state === 'deleted' || state === 'error') && updatedAtMs < beforeMs;
    if (isOld) checker.fail('nothing grows without bound', `${uuid} is still on record, ${state} for long`);
  }
}

/** Each version of each record was published, the first time in order. */
function checkEvents(checker: Checker): void {
  for (const [uuid, { states, told }] of checker.known) {
    const first = [...new Set(told)];
    for (const [version, state] of states) {
      if (first.includes(version) || checker.forgiven.has(uuid)) continue;
      checker.fail('events are complete', `nobody was told that ${uuid} became ${state} (v${version})`);
    }
    if (
      !isDeepStrictEqual(
        first,
        first.toSorted((a, b) => a - b),
      )
    ) {
      checker.fail('events are complete', `${uuid} was told in the order ${first.join(', ')}`);
    }
  }
}

function checkMirrors(fleet: Fleet, checker: Checker, rows: readonly Rows[]): void {
  for (const [name, { mirror, process }] of fleet.members) {
    if (mirror === undefined || !process.isAlive) continue;
    const readiness = mirror.readiness();
    if (!readiness.ready) checker.fail('mirrors equal the store', `${name}: ${readiness.reason}`);
    for (const provider of rows.flatMap(({ providers = [] }) => providers)) {
      if (isDeepStrictEqual(mirror.provider(provider.uuid), provider)) continue;
      checker.fail('mirrors equal the store', `${name} has another ${provider.name}`);
    }
    for (const { providerUuid, used } of rows.flatMap(({ usages = [] }) => usages)) {
      if (isDeepStrictEqual({ ...mirror.usage(providerUuid) }, { ...used })) continue;
      checker.fail('mirrors equal the store', `${name} has another usage of ${providerUuid}`);
    }
    const consumers = rows.flatMap((some) => some.consumers ?? []);
    for (const consumer of consumers) {
      if (isDeepStrictEqual(mirror.consumer(consumer.uuid), consumer)) continue;
      checker.fail('mirrors equal the store', `${name} has another consumer ${consumer.uuid}`);
    }
    if ([...mirror.consumers()].length !== consumers.length) {
      checker.fail('mirrors equal the store', `${name} has consumers that the store has not`);
    }
  }
}

/** Time within which schedulers have noticed what changed about a reservation: looks at them are a second apart. */
const NOTICED_MS = 5_000;

/** A reservation shows how many units its hosts can keep; one that is over is gone; mirrors show those that there are. */
function checkReservations(fleet: Fleet, checker: Checker, rows: readonly Rows[]): void {
  const { nowMs } = fleet.time;
  const reserved = rowsOf(rows);
  const hosts = rows.flatMap((some) => some.hosts ?? []);
  const serves = ({ up, enabled }: Host) => up && enabled;
  const wrong = (what: string) => checker.fail('reservations are kept', what);
  for (const row of reserved.reservations.values()) {
    const { name, units, untilMs, projectId, fromMs } = row;
    if (untilMs < nowMs - NOTICED_MS) wrong(`'${name}' ended at ${untilMs}, and is there at ${nowMs}`);
    if (untilMs < nowMs || Math.abs(fromMs - nowMs) < NOTICED_MS) continue;
    const gone = units.find(({ host }) => host !== '' && !hosts.some((one) => one.name === host && serves(one)));
    if (gone) wrong(`'${name}' has a unit on ${gone.host}, which is not in service`);
    const over = wrongOfHeld(row, reserved, nowMs);
    if (over) wrong(over);
    if (units.every(({ host }) => host !== '')) continue;
    const { forceHosts, resources } = requestSpecCodec.decode(Buffer.from(row.requestSpec, 'base64'));
    const open = hosts
      .filter((one) => serves(one) && one.failuresInARow === 0 && checker.letsIn(one.name, projectId))
      .filter((one) => forceHosts.length === 0 || forceHosts.includes(one.name))
      .filter(({ providerUuid }) => wouldFit(row, { providerUuid, resources }, reserved, nowMs));
    if (open[0]) wrong(`'${name}' is at risk (${row.reason}), and ${open[0].name} has room for a unit`);
  }
  for (const uuid of checker.reservations.wereAtRisk.has(LAST.name) ? [] : checker.reservations.ownUnits) {
    const { state, fault } = checker.known.get(uuid)?.latest ?? {};
    if (state === 'error' && fault?.reason === 'no_valid_host') wrong(`${uuid} has no unit: ${fault.message}`);
  }
  for (const [member, { mirror, process }] of fleet.members) {
    if (mirror === undefined || !process.isAlive) continue;
    const shown = mirror.reservations().map((row) => `${row.name} ${row.revision}`);
    const stored = rows.flatMap((some) => some.reservations ?? []).map((row) => `${row.name} ${row.revision}`);
    if (isDeepStrictEqual(shown.toSorted(), stored.toSorted())) continue;
    checker.fail('mirrors equal the store', `${member} has the reservations ${shown.join(', ')}`);
  }
}

/** Audits are four seconds apart; who keeps the lease may have died. */
const LEFT_MS = 20_000;

/** Instances that are to leave a device were moved, or no host took them. */
function checkDevices(fleet: Fleet, checker: Checker, instances: readonly Instance[]): void {
  const stays = instances.find((one) => {
    const isAtRest = (one.state === 'active' || one.state === 'stopped') && one.migration === undefined;
    return isAtRest && one.fault === undefined && checker.devices.shouldHaveLeft(one, fleet.time.nowMs - LEFT_MS);
  });
  if (stays)
    checker.fail('devices are what was asked', `${stays.uuid} is to leave its device, and nobody has moved it`);
}

/** Drained hosts keep only the instances that their drains named, and deleted hosts leave nothing behind. */
function checkHosts(fleet: Fleet, checker: Checker, rows: readonly Rows[], instances: readonly Instance[]): void {
  const settled = instances.filter(({ uuid }) => !checker.forgiven.has(uuid));
  const statesOf = (uuid: string) => checker.known.get(uuid)?.states ?? new Map<number, string>();
  const hasQueue = (host: string) => fleet.hasQueue(queueOf(agentOf(host)));
  const wrong = [
    ...checker.operatedHosts.wrongOfDrained(rows, settled, statesOf),
    ...checker.operatedHosts.leftOfDeleted(rows, settled, hasQueue),
  ];
  for (const what of wrong) checker.fail('what operators did to hosts is done', what);
}

/** Messages of periodic reports come and go: only those found in each look count. */
const LOOKS = 8;
const BETWEEN_LOOKS_MS = 130;

const queueOf = (agent: string) => agent.replace('-', '.');

async function checkQueues(fleet: Fleet, checker: Checker): Promise<void> {
  const least = new Map<string, number>();
  const look = (name: string, count: number) => least.set(name, Math.min(count, least.get(name) ?? count));
  for (let n = 0; n < LOOKS; n++) {
    for (const queue of ['build.requests', 'build.results', ...fleet.presentAgents().map(queueOf)]) {
      look(`wait in ${queue}`, await fleet.observer.depth(queue));
    }
    const open = [...fleet.sessions].filter((session) => session.isConnected());
    look(
      'are in hand and never settled',
      open.reduce((sum, { inHand }) => sum + inHand, 0),
    );
    await fleet.time.runUntil(fleet.time.nowMs + BETWEEN_LOOKS_MS);
  }
  for (const [where, count] of least)
    if (count > 0) checker.fail('queues are empty at rest', `${count} messages ${where}`);
}
