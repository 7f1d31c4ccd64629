import type { Bus } from '#libs/bus/port';
import { buildRefusedCodec } from '#libs/contracts/conductor';
import type { ExplainResponse } from '#libs/contracts/diagnosis';
import { instanceEventCodec } from '#libs/contracts/instance';
import type { InstanceOperation } from '#libs/contracts/operations';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Allocations, Consumer } from '#libs/domain/consumer';
import { type Host, mayRunForgotten } from '#libs/domain/host';
import { BUILT_STATES, type Instance, powerStateToBuild } from '#libs/domain/instance';
import { addResources, capacityOf, type Resources } from '#libs/domain/inventory';
import { instanceOfConsumer, MIGRATION_CONSUMER } from '#libs/domain/moves/migration';
import { type Provider, SHARING_TRAIT } from '#libs/domain/provider';
import { type Doubt, doubtShare } from '#libs/instances/doubts';
import type { Change, Rows } from '#libs/placement/port/placement-store';
import type { Asking } from '#libs/simulation/store-server';
import { RepeatedCalls } from './actions/tenants/repeated-calls';
import type { Fleet } from './fleet';
import type { Machine, MachineEvent } from './machine';
import { agentOf, CLOCK_TOLERANCE_MS, CONDUCTOR, LIE_AGGREGATE, nameOf, RACK_NAMES, RACKS, TENANTS } from './settings';
import { TakeOvers } from './take-overs';
import { BudgetWatch } from './watches/budget-watch';
import { ConfirmWatch } from './watches/confirm-watch';
import { DeviceWatch } from './watches/device-watch';
import { GangWatch } from './watches/gang-watch';
import { HostWatch } from './watches/host-watch';
import { misfits } from './watches/misfits';
import { QueueWatch } from './watches/queue-watch';
import { QuotaWatch } from './watches/quota-watch';
import { ReservationWatch } from './watches/reservation-watch';
import { SurvivorWatch } from './watches/survivor-watch';
import { isWithin, WithinWatch } from './watches/within-watch';
import { STALE_MS, ZoneWatch } from './watches/zone-watch';

/** A broken invariant. */
export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
}

export type Invariant =
  | 'no provider above capacity'
  | 'nothing healthy is destroyed'
  | 'what ran before a loss runs after it'
  | 'one host each'
  | 'no host runs more than it has'
  | 'nothing is DELETED that runs'
  | 'groups are kept'
  | 'quotas are kept'
  | 'gangs are kept'
  | 'hosts confirm what asks for it'
  | 'zones and tenants are kept'
  | 'reservations are kept'
  | 'devices are what was asked'
  | 'what has ended stays so'
  | 'every request ends'
  | 'who waits and who makes room'
  | 'what was asked is done'
  | 'claims are what runs'
  | 'nothing is given up early'
  | 'foreign consumers are left alone'
  | 'what others decided is kept'
  | 'what operators did to hosts is done'
  | 'nothing grows without bound'
  | 'nobody acts for another'
  | 'a record has what its state has'
  | 'nobody is told of another'
  | 'events are complete'
  | 'mirrors equal the store'
  | 'queues are empty at rest'
  | 'no defect';

/** History of an instance, from all versions of its record. */
interface Known {
  readonly states: Map<number, string>;
  readonly told: number[];
  latest: Instance;
}

/** The marker in reports that a host forges for another. */
export const FORGED = 'forged';

/** A doubt is published with each report of its host: this is three reports. */
const DOUBT_SHOWN_EVERY_MS = 13_000;

/** Limit of the doubts that one agent's reports may raise. */
const MOST_SAID = 200;

/** A host with so many failures in a row is left out, whatever the projects: the default of `BERTH_SCHEDULER_QUARANTINE_FAILURES`. */
const REFUSED_REPORTS = 4;

/** A refusal may have been decided on what was reserved then. */
const JUST_MS = 2_000;

const BUILD_TIMEOUT_MS = Number(CONDUCTOR.BERTH_CONDUCTOR_BUILD_TIMEOUT_MS);
const DESTROY_TIMEOUT_MS = Number(CONDUCTOR.BERTH_CONDUCTOR_DESTROY_TIMEOUT_MS);

const MOVING: readonly Instance['state'][] = ['resize', 'migrating'];
/** From when a taint is gone until no conductor moves anybody for it. */
const EVICTED_LATELY_MS = 6_000;
const GIVEN_UP: readonly string[] = [
  'failed',
  'refused',
  'timed_out',
  'evacuated',
  'rolled_back',
  'preempted',
  'shelved',
  'moved',
  'reverted',
];

/** Watches a fleet, and keeps the first violation. */
export class Checker {
  violation: Violation | undefined;
  /** Requests that the broker confirmed to their clients, with their instances. */
  readonly confirmed = new Map<string, readonly string[]>();
  /** Instances that a client asked to terminate. */
  readonly terminated = new Set<string>();
  /** Allocations of other consumers of the placement store, as written last. */
  readonly foreign = new Map<string, string>();
  /** Requests refused to their clients. */
  readonly refused = new Set<string>();
  /** Instances whose record may be lost, because the store went back in time. */
  readonly forgiven = new Set<string>();
  readonly known = new Map<string, Known>();
  /** Terminations that the broker confirmed, of instances that were there. */
  readonly terminating = new Set<string>();
  /** The last operation on record of each instance; unset while another may be under way. */
  readonly operated = new Map<string, InstanceOperation>();
  /** The last call for an instance, answered or not. */
  readonly operating = new Map<string, object>();
  readonly calls = new RepeatedCalls();
  /** Operations that someone with the right to them requested, as `state uuid`. */
  readonly mayOperate = new Set<string>();
  /** Requests of clients, and how to repeat them. */
  readonly requests: { readonly uuids: readonly string[]; readonly send: () => Promise<void> }[] = [];
  /** Projects with the foreign uuids that they named themselves. */
  readonly named = new Set<string>();
  /** Instances that tenants requested beside one of another project. */
  readonly companions = new Set<string>();
  readonly hosts = new Map<string, Host>();
  /** Providers that Nova created; no host has them. */
  readonly ofNova = new Set<string>();
  readonly quotas = new QuotaWatch();
  readonly gangs = new GangWatch();
  readonly within = new WithinWatch();
  readonly #budgets = new BudgetWatch();
  readonly confirming = new ConfirmWatch();
  readonly queue: QueueWatch;
  readonly operatedHosts = new HostWatch();
  readonly survivors: SurvivorWatch;
  readonly #zones = new ZoneWatch();
  readonly devices = new DeviceWatch();
  readonly reservations = new ReservationWatch();
  /** Writes of placement API clients, by provider. */
  readonly decisions = new Map<string, Decisions>();
  /** Times that the store went back; writes of an earlier number may be lost. */
  storeBegan = 0;
  #wentBackAtMs = 0;
  /** Time of the last attempt, or give-up, of an evacuation by rebuild policy. */
  triedByPolicyAtMs = 0;
  /** Time of the last evacuation by rebuild policy that found a host. */
  leftByPolicyAtMs = 0;
  /** Time of the last renewed claim for a built instance. */
  claimedAgainAtMs = 0;
  readonly #takeOvers: TakeOvers;
  /** Instances on a host that its older disk brought back after their destruction. */
  readonly #cameBack = new Set<string>();
  /** Time of the first report after a host was down. */
  readonly #cameUpAtMs = new Map<string, number>();
  /** Time since which each host in service is up and enabled. */
  readonly #servesSinceMs = new Map<string, number>();
  /** `storeBegan` at the end of each instance. */
  readonly #endedIn = new Map<string, number>();
  /** Instances on a host that was dead when their records were written last: destroyed there when it is back. */
  readonly #leftOnDead = new Set<string>();
  /** Moved instances that their source had lost when they were to go back. */
  readonly #sourceless = new Set<string>();
  /** Attempts that records gave up. */
  readonly #givenUp = new Set<string>();
  /** Builds that ended well, as `instance on host`. */
  readonly #built = new Set<string>();
  /** Groups by instance: of an instance that is adopted after a wipe, its claim has the group, and its record has none. */
  readonly #groups = new Map<string, string>();
  /** Instances destroyed on a host once DELETING: a copy of an order must not build them there again. */
  readonly #endedOn = new Set<string>();
  /** Time of the beginning of each attempt, by instance and number. */
  readonly #begun = new Map<string, number>();
  /** Time at which each group last had members, by project and id. */
  readonly #memberAtMs = new Map<string, number>();
  /** The last doubt that a conductor showed about an instance on a host. */
  readonly #doubts = new Map<string, { readonly finding: string; readonly atMs: number }>();
  readonly #providers = new Map<string, Provider>();
  readonly #generations = new Map<string, number>();
  readonly #consumers = new Map<string, Consumer>();
  /** Time of each consumer's last claim. */
  readonly #claimedAtMs = new Map<string, number>();
  readonly #brokenByForce = new Set<string>();
  /** Affinity groups of which a member went back when others had left. */
  readonly #parted = new Set<string>();
  /** Time at which an audit last reported that an instance breaks its group's policy. */
  readonly #brokenShownAtMs = new Map<string, number>();
  readonly #unevenByForce = new Set<string>();
  /** Time at which each provider was last above capacity. */
  readonly #aboveCapacityAtMs = new Map<string, number>();
  /** Amounts taken, by provider and class. */
  readonly #used = new Map<string, number>();

  constructor(private readonly fleet: Fleet) {
    this.#takeOvers = new TakeOvers(fleet);
    this.queue = new QueueWatch(fleet.history, {
      latestOf: (uuid) => this.known.get(uuid)?.latest,
      claimedAtMs: (uuid) => this.#claimedAtMs.get(uuid),
      isAlone: (uuid) => this.#isAlone(uuid),
      hasBorrowed: (projectId, sinceMs) => this.quotas.hasBorrowed(projectId, sinceMs),
      isOvercommitted: (host, sinceMs) => this.#isOvercommitted(host, sinceMs),
      mayBeForgotten: (uuid) => this.forgiven.has(uuid) && this.#isAnyUnheard(),
    });
    this.survivors = new SurvivorWatch({
      machines: fleet.machines,
      latestOf: (uuid) => this.known.get(uuid)?.latest,
      isAskedToEnd: (uuid) => this.#isAskedToEnd(uuid),
      isOperated: (uuid, state) => this.mayOperate.has(`${state} ${uuid}`),
      isInDoubt: (uuid, host) => this.isInDoubt(uuid, host),
      isTakenOver: (uuid, host) => this.#takeOvers.has(uuid, host),
      isDeclaredDead: (host) => this.hosts.get(host)?.deadAtMs !== undefined,
      isForgotten: (host) => !this.hosts.has(host) && !fleet.presentAgents().includes(agentOf(host)),
    });
    fleet.onMachineEvent = (event) => this.#onMachineEvent(event);
    fleet.onDefect = (name, error) => this.fail('no defect', `${name}: ${error.message} ${String(error.cause)}`);
    fleet.onClone = (agent) => this.operatedHosts.isBack(agent);
    fleet.onDoubt = (uuid, host, finding) => {
      if (finding === 'group_broken') this.#brokenShownAtMs.set(uuid, fleet.time.nowMs);
      this.#doubts.set(`${uuid} on ${host}`, { finding, atMs: fleet.time.nowMs });
    };
    fleet.server.onWrite = (by, what, result) => {
      this.#onWrite(by, what, result);
      this.#takeOvers.onWrite(by, what, result);
    };
  }

  async watch(bus: Bus): Promise<void> {
    await bus.subscribe('instance.#', (_topic, { body }) => {
      const event = instanceEventCodec.decode(body);
      const { instanceUuid, projectId, version } = event;
      this.known.get(instanceUuid)?.told.push(version);
      this.isTold(projectId, { ...event, fault: event.fault?.message });
    });
    await bus.subscribe('request.refused.#', (_topic, { body }) => {
      this.refused.add(buildRefusedCodec.decode(body).requestId);
    });
  }

  /** The store goes back to a time, or to the beginning: later writes may be lost. */
  async storeGoesBackTo(atMs: number): Promise<void> {
    await this.fleet.server.goBackTo(atMs);
    this.survivors.storeWentBack();
    this.#wentBackAtMs = this.fleet.time.nowMs;
    for (const uuid of this.known.keys()) this.forgiven.add(uuid);
    for (const { uuids } of this.requests) for (const uuid of uuids) this.forgiven.add(uuid);
    this.foreign.clear();
    this.decisions.clear();
    this.storeBegan++;
    this.#consumers.clear();
    this.#used.clear();
    this.hosts.clear();
    this.quotas.reset();
    this.queue.reset();
    this.operatedHosts.reset();
    this.#takeOvers.storeGoesBackTo(atMs);
    const all: Rows[] = [];
    await this.fleet.server.stores.placement.snapshot((rows) => {
      all.push(rows);
      this.quotas.load(rows);
      const { providers = [], consumers = [], usages = [], hosts = [] } = rows;
      for (const host of hosts) this.hosts.set(host.name, host);
      for (const provider of providers) this.#providers.set(provider.uuid, provider);
      for (const consumer of consumers) this.#consumers.set(consumer.uuid, consumer);
      for (const { providerUuid, used } of usages) {
        for (const [name, amount] of Object.entries(used)) this.#used.set(`${providerUuid} ${name}`, amount);
      }
    });
    this.reservations.load(all);
    this.devices.storeWentBack([...this.#consumers.values()], [...this.#providers.values()], this.fleet.time.nowMs);
    this.#checkGroups(true);
  }

  /** Notes whether the source still has an instance that goes back there; a dead destination can't keep it, and is not asked. */
  #noteSource({ uuid, migration }: Instance): void {
    const { source, destination } = migration ?? {};
    const hasIt = ({ running, stopped, building }: Machine) =>
      running.has(uuid) || stopped.has(uuid) || building.has(uuid);
    const machines = [...this.fleet.machines.values()].filter(
      ({ name }) => name.replace('-clone', '') === source?.host,
    );
    const isServed = this.hosts.get(destination?.host ?? '')?.up;
    if (isServed && !machines.some(hasIt)) this.#sourceless.add(uuid);
    else this.#sourceless.delete(uuid);
  }

  /** A preempted instance is built anew and running, whatever operation came before. */
  #operationIsUndone(uuid: string): void {
    this.operated.delete(uuid);
    this.operating.delete(uuid);
  }

  /** The host has only a disk from before the start of an instance: that start is void. */
  startIsUndone(uuid: string): void {
    if (this.operated.get(uuid) === 'start') this.operated.delete(uuid);
    this.operating.delete(uuid);
  }

  /** An older or a new disk may bring back an instance that was destroyed or lost on a host, and whose record may be forgotten. */
  comesBack(uuid: string, host: string): void {
    this.#cameBack.add(`${uuid} on ${host}`);
  }

  /**
   * True if an instance is kept and reported as a doubt, because its record is gone or contradicts it: the store went back and names
   * another host; the host was taken over, and its machine is back; or its disk is from before the instance's destruction.
   */
  isInDoubt(uuid: string, host: string): boolean {
    const { finding, atMs = 0 } = this.#doubts.get(`${uuid} on ${host}`) ?? {};
    if (this.fleet.time.nowMs - atMs > DOUBT_SHOWN_EVERY_MS) return false;
    if (finding !== 'stray' && finding !== 'unknown_instance') return false;
    // Its record was lost, and its seal is too old when the host is back.
    if (this.forgiven.has(uuid)) return true;
    return this.#takeOvers.has(uuid, host) || this.#cameBack.has(`${uuid} on ${host}`);
  }

  /** True while a host neither said what runs there since the store went back, nor was declared dead. */
  #isAnyUnheard(): boolean {
    return [...this.hosts.values()].some((host) => mayRunForgotten(host, this.#wentBackAtMs));
  }

  /** A host's root provider, as written last. */
  providerOf(host: string): Provider | undefined {
    return this.#providers.get(this.hosts.get(host)?.providerUuid ?? '');
  }

  /** One of a host's providers that has VCPUs, as written last, with its generation. */
  providerWithVcpus(host: string): Provider | undefined {
    const rootUuid = this.hosts.get(host)?.providerUuid;
    const all = [...this.#providers.values()].filter((one) => one.rootUuid === rootUuid && one.inventories['VCPU']);
    const [first] = all.sort((a, b) => (a.name < b.name ? -1 : 1));
    return first && { ...first, generation: this.#generations.get(first.uuid) ?? first.generation };
  }

  /** True if no zone, tenant, taint or rule has kept a project from a host lately. */
  letsIn(host: string, projectId: string): boolean {
    return this.#zones.letsIn(host, projectId, this.fleet.time.nowMs);
  }

  #isAskedToEnd(uuid: string): boolean {
    const latest = this.known.get(uuid)?.latest;
    return this.terminated.has(uuid) || (latest !== undefined && this.queue.isEnded(latest));
  }

  /** True if a client requested the instance. */
  isAskedFor(uuid: string): boolean {
    return this.requests.some(({ uuids }) => uuids.includes(uuid));
  }

  /** The time by which all instances with a time limit have ended, and are destroyed. */
  limitsOverAtMs(): number {
    const nowMs = this.fleet.time.nowMs;
    return Math.max(0, ...Array.from(this.known.values(), ({ latest }) => this.queue.limitOverAtMs(latest, nowMs)));
  }

  /** True if the instance has ended, so that its record will be deleted. */
  isEnded(uuid: string): boolean {
    const state = this.known.get(uuid)?.latest.state;
    return state === 'deleted' || state === 'error';
  }

  /**
   * Checks an answer or event to a project: it names no instance of another project and no foreign consumer, except those that the project
   * named itself.
   */
  isTold(projectId: string, told: unknown): void {
    const text = JSON.stringify(told);
    const tells = (what: string, owner: string) =>
      this.fail(
        'nobody is told of another',
        `${projectId} is told of ${what}, which is ${owner}'s: ${text.slice(0, 300)}`,
      );
    for (const uuid of text.match(UUIDS) ?? []) {
      const owner = this.known.get(uuid)?.latest.projectId ?? (this.foreign.has(uuid) ? 'nova' : undefined);
      if (owner === undefined || owner === projectId || this.named.has(`${projectId} ${uuid}`)) continue;
      tells(uuid, owner);
    }
    for (const owner of TENANTS) {
      if (owner !== projectId && text.includes(nameOf(owner))) tells(nameOf(owner), owner);
    }
  }

  /** An explanation of a request near, or away from, another project's instance does not reveal its host. */
  isLocated(projectId: string, uuid: string, { diagnosis, hosts }: ExplainResponse, isBeside: boolean): void {
    if (this.known.get(uuid)?.latest.projectId === projectId) return;
    const refused = diagnosis.filters.some(({ reasons }) => 'same_host_as_other' in reasons);
    const text = JSON.stringify(hosts);
    if (refused || (isBeside && diagnosis.hostsPassed > 0) || /asked for are on|to keep away/.test(text)) {
      this.fail('nobody is told of another', `${projectId} is told where ${uuid} is: ${text.slice(0, 300)}`);
    }
  }

  /** No agent's reports raise more than their share of the doubts. */
  checkShares(doubts: readonly Doubt[]): void {
    const counts = new Map<string, number>();
    for (const doubt of doubts) counts.set(doubtShare(doubt), (counts.get(doubtShare(doubt)) ?? 0) + 1);
    const [most] = [...counts].filter(([share, count]) => share.startsWith('said ') && count > MOST_SAID);
    if (most) this.fail('nothing grows without bound', `${most[1]} doubts are ${most[0]}`);
  }

  fail(invariant: Invariant, message: string): void {
    this.violation ??= { invariant, message };
  }

  /** Writes the allocations of the other consumer of the placement store; Berth never releases them. */
  async claimAsNova(uuid: string, allocations: Allocations): Promise<void> {
    const { stores, process } = this.fleet.member('nova');
    const owner = { projectId: 'nova', userId: 'nova', consumerType: 'INSTANCE', owner: 'api' } as const;
    const write = { uuid, ...owner, allocations, mappings: {}, expect: { kind: 'any' } } as const;
    const isRelease = Object.keys(allocations).length === 0;
    if (isRelease) this.foreign.delete(uuid);
    const atMs = process.clock.now();
    const { storeBegan } = this;
    const result = await stores.placement.commit({ kind: 'write_allocations', atMs, consumers: [write] });
    // An answer from before the store went back may arrive after it; that write is lost.
    const isKept = result.kind === 'committed' && this.storeBegan === storeBegan;
    if (isKept && !isRelease) this.foreign.set(uuid, JSON.stringify([allocations, 'nova']));
  }

  #onWrite({ name, atMs }: Asking, what: string, result: unknown): void {
    const answered = this.confirming.onWrite(what, result, FORGED);
    if (answered) this.fail('nobody acts for another', answered);
    if (typeof result !== 'object' || result === null) return;
    if ('created' in result) {
      const { created, instances } = result as { created: boolean; instances: Instance[] };
      if (created) instances.forEach((instance) => this.#onRecord(instance, atMs));
    } else if ('updated' in result) {
      const { updated, instance } = result as { updated: boolean; instance: Instance };
      if (updated) this.#onRecord(instance, atMs);
    } else if ('change' in result) {
      this.#onChange(name, what, result.change as Change);
    } else if ('kind' in result && result.kind === 'reserved' && what.startsWith('write_allocations')) {
      const { providerUuid } = result as unknown as { readonly providerUuid: string };
      const wrong = this.reservations.wrongOfRefusal(providerUuid, this.fleet.time.nowMs - JUST_MS);
      if (wrong) this.fail('reservations are kept', wrong);
    }
  }

  #onRecord(instance: Instance, writtenAtMs: number): void {
    const { uuid, version, state } = instance;
    const before = this.known.get(uuid)?.latest;
    const unfit = misfits(instance).join(', ');
    if (unfit !== '') this.fail('a record has what its state has', `${uuid} is ${state} and has ${unfit}`);
    const leavesDevice =
      MOVING.includes(state) && this.devices.isEvicted(instance, this.fleet.time.nowMs, EVICTED_LATELY_MS);
    if (leavesDevice || isByPolicy(instance) || (before && isByPolicy(before)))
      this.triedByPolicyAtMs = this.fleet.time.nowMs;
    if (before && isByPolicy(before) && state === 'building') this.leftByPolicyAtMs = this.fleet.time.nowMs;
    if (state === 'deleted' && before) this.#checkDeleted(before);
    // A move that goes back may find nothing at its source.
    const isHeldAgain = before?.state === state && (BUILT_STATES.includes(state) || state === 'revert_resize');
    if (isHeldAgain && before.claimToken !== instance.claimToken) this.claimedAgainAtMs = this.fleet.time.nowMs;
    const wrong = this.queue.take(instance, this.fleet.time.nowMs);
    if (wrong !== undefined && !this.forgiven.has(uuid)) this.fail('who waits and who makes room', wrong);
    // An end by time limit, or by preemption, counts as terminated.
    if (state === 'deleting' && this.queue.isEnded(instance)) this.terminated.add(uuid);
    if (state === 'deleting' && !this.terminated.has(uuid)) {
      this.fail('nobody acts for another', `${uuid} is DELETING, but neither its project nor an operator asked for it`);
    }
    const isOperated = OPERATED.includes(state);
    // A build on a new host ends STOPPED if the instance was stopped before.
    const isAsItWas = state === 'stopping' && before?.state === 'building' && powerStateToBuild(before) === 'shutdown';
    const isAlong = state === 'rebuilding' && this.#hasMateThatLeaves(instance);
    if (
      isOperated &&
      !this.mayOperate.has(`${state} ${uuid}`) &&
      !isByPolicy(instance) &&
      !leavesDevice &&
      !isAlong &&
      !isAsItWas
    ) {
      this.fail('nobody acts for another', `${uuid} is ${state}, but neither its project nor an operator asked for it`);
    }
    if (state === 'error' && instance.fault?.message.includes(FORGED)) {
      this.fail('nobody acts for another', `${uuid} is in ERROR by the word of another host`);
    }
    if (version === 1) this.#noteGroup(instance);
    if (version === 1 && this.isEnded(uuid) && this.#isEndKnown(instance)) this.#beginsAgain(uuid);
    if (state === 'deleted' || state === 'error') this.#endedIn.set(uuid, this.storeBegan);
    if (version === 1 && !this.isAskedFor(uuid)) this.fail('nobody acts for another', `nobody asked for ${uuid}`);
    const hasArrived = state === 'verify_resize' && before?.state === 'resize';
    if (hasArrived || (state === 'active' && before?.state === 'building')) this.#checkActive(instance);
    if (before?.migration && before.formerState === 'stopped') this.#checkStaysStopped(instance);
    if (instance.host !== undefined && this.companions.has(uuid)) {
      this.fail(
        'nobody acts for another',
        `${uuid} came to ${instance.host}, to be with an instance of another project`,
      );
    }
    if (state === 'preempting') this.#operationIsUndone(uuid);
    if (state === 'revert_resize' && before?.state !== 'revert_resize') this.#noteSource(instance);
    if (state === 'stopped') this.#checkStopped(instance);
    if (state === 'shelved_offloaded' && before) this.#checkShelved(before);
    if (state === 'rebuilding') this.#checkEvacuated(instance);
    // A failed start is not repeated elsewhere; its fault goes with the host that reported it.
    if (state === 'rebuilding' && before?.state === 'stopped') this.startIsUndone(uuid);
    if (state === 'error') this.#checkNoHost(instance);
    if (instance.fault?.message.includes('host_quarantined')) this.#checkBlame(uuid);
    if (state === 'error' && before?.attempts.at(-1)?.outcome === 'active') this.#checkLost(instance);
    // A build that timed out was given up: its host may run it until it takes orders.
    const wasBuilt = before?.state !== 'preempting' && before?.state !== 'building';
    if (state === 'pending' && before?.host && wasBuilt) this.#checkLost(before);
    this.#checkAttempt(instance, writtenAtMs);
    const unconfirmed = this.confirming.onRecord(instance, before);
    if (unconfirmed) this.fail('hosts confirm what asks for it', unconfirmed);
    const ofBudget = this.#budgets.onRecord(instance, before, this.fleet.time.nowMs);
    if (ofBudget && this.storeBegan === 0) this.fail('groups are kept', ofBudget);
    const ofGang = this.gangs.onRecord(instance);
    if (ofGang && !this.forgiven.has(uuid)) this.fail('gangs are kept', ofGang);
    for (const { host, number, outcome } of instance.attempts) {
      // The attempt of a victim counts as given up from the order on.
      if (GIVEN_UP.includes(outcome) || state === 'preempting')
        this.#givenUp.add(`${uuid} on ${host}, attempt ${number}`);
    }
    for (const { name, running, building } of this.fleet.machines.values()) {
      // A machine builds on while its agent stands still.
      const isThere = running.has(uuid) || building.has(uuid);
      if (isThere && this.#takeOvers.isFenced(name)) this.#leftOnDead.add(`${uuid} on ${name}`);
    }
    const known = this.known.get(uuid) ?? { states: new Map(), told: [], latest: instance };
    known.states.set(version, state);
    known.latest = instance;
    this.known.set(uuid, known);
  }

  /**
   * True if a machine has a copy of before another machine's agent took its host over, which runs the later attempt: both machines have
   * the host's name. On the machine that was built on last the journal names that attempt.
   */
  #isOlderCopy(uuid: string, host: string, attempt: number): boolean {
    const builtBy = this.fleet.machines.get(host)?.disk.get(uuid)?.attempt ?? attempt;
    return this.#takeOvers.has(uuid, host) && builtBy < attempt;
  }

  /**
   * True if the instance has ended on its host, too: the store has not gone back since, and the ended record had tried that host, or the
   * instance was seen there. (A copy of its request may have ended on other hosts.) An instance on a host that was taken over is lost, and
   * may come back with its machine.
   */
  #isEndKnown({ uuid, host = '' }: Instance): boolean {
    if (!this.forgiven.has(uuid)) return true;
    if (this.#takeOvers.has(uuid, host)) return false;
    const attempts = this.known.get(uuid)?.latest.attempts ?? [];
    // A host that could not be claimed got no order.
    const wasTried = attempts.some((one) => one.host === host && one.outcome !== 'not_claimed');
    const wasSeen = this.#doubts.get(`${uuid} on ${host}`)?.finding === 'stray';
    return this.#endedIn.get(uuid) === this.storeBegan && (wasTried || wasSeen);
  }

  /** A repeated request is refused after its instances were forgotten; another request may reuse the uuid. */
  #beginsAgain(uuid: string): void {
    const isOfOneRequest = this.requests.filter(({ uuids }) => uuids.includes(uuid)).length < 2;
    if (isOfOneRequest) this.fail('what has ended stays so', `${uuid} had ended and was forgotten, and is built again`);
    this.known.delete(uuid);
    for (const { name } of this.fleet.machines.values()) this.#endedOn.delete(`${uuid} on ${name}`);
    this.terminated.delete(uuid);
    this.terminating.delete(uuid);
    this.operated.delete(uuid);
  }

  /** An instance that becomes ACTIVE was built on its host and holds the claim that its record names. */
  #checkActive({ uuid, claimToken, host }: Instance): void {
    if (this.forgiven.has(uuid)) return;
    if (!this.#built.has(`${uuid} on ${host}`)) {
      this.fail('claims are what runs', `${uuid} is ACTIVE on ${host}, which has not built it`);
    }
    const held = this.#consumers.get(uuid)?.claimToken;
    if (held === claimToken) return;
    this.fail('claims are what runs', `${uuid} is ACTIVE on ${host} by claim ${claimToken} and holds ${held}`);
  }

  /** Only a host that was silent for the length of its lease is evacuated. */
  #checkEvacuated({ uuid, host = '' }: Instance): void {
    if (this.forgiven.has(uuid) || !this.#takeOvers.isAlive(host)) return;
    this.fail('nothing healthy is destroyed', `${uuid} is evacuated from ${host}, which is alive`);
  }

  /** A shelved instance is gone from its host as soon as its state says so, unless the host is dead: it is destroyed on its return. */
  #checkShelved({ uuid, state, host = '' }: Instance): void {
    if (!this.#takeOvers.isAlive(host)) return;
    if (state !== 'shelving' || this.forgiven.has(uuid) || this.#takeOvers.has(uuid, host)) return;
    const { running, stopped } = this.fleet.machines.get(host) ?? {};
    if (running?.has(uuid) || stopped?.has(uuid))
      this.fail('claims are what runs', `${uuid} is shelved and on ${host}`);
  }

  /** True if the affinity group leaves a dead host as one, for a member that asked for it or that an operator named. */
  #hasMateThatLeaves({ uuid, projectId }: Instance): boolean {
    const group = this.#groups.get(uuid);
    if (group === undefined) return false;
    return [...this.known.values()].some(({ latest }) => {
      const { rebuildPolicy } = requestSpecCodec.decode(latest.requestSpec);
      const isToLeave = rebuildPolicy === 'evacuate' || this.mayOperate.has(`rebuilding ${latest.uuid}`);
      return latest.projectId === projectId && this.#groups.get(latest.uuid) === group && isToLeave;
    });
  }

  #noteGroup({ uuid, requestSpec }: Instance): void {
    const { group } = requestSpecCodec.decode(requestSpec);
    if (group) this.#groups.set(uuid, group.id);
  }

  /** A STOPPED instance does not run from the moment its state says so. */
  #checkStopped({ uuid, host = '' }: Instance): void {
    if (this.forgiven.has(uuid) || this.#takeOvers.has(uuid, host)) return;
    if (!this.fleet.machines.get(host)?.running.has(uuid)) return;
    this.fail('claims are what runs', `${uuid} is STOPPED and runs on ${host}`);
  }

  /** A move starts no instance that was stopped before it. */
  #checkStaysStopped({ uuid, state }: Instance): void {
    if (state !== 'active' || this.forgiven.has(uuid)) return;
    this.fail('what was asked is done', `${uuid} was stopped when its move began, and is ACTIVE after it`);
  }

  /** No live host's attempt times out early, whatever the conductor's clock says. */
  #checkAttempt({ uuid, attempts }: Instance, writtenAtMs: number): void {
    const last = attempts.at(-1);
    const key = `${uuid} ${last?.number}`;
    // The timeout runs while the write is under way.
    if (last?.outcome === 'building' && !this.#begun.has(key)) this.#begun.set(key, writtenAtMs);
    if (last?.outcome !== 'timed_out' || this.forgiven.has(uuid) || !this.#takeOvers.isAlive(last.host)) return;
    const afterMs = this.fleet.time.nowMs - (this.#begun.get(key) ?? 0);
    if (afterMs > BUILD_TIMEOUT_MS - CLOCK_TOLERANCE_MS) return;
    this.fail('nothing is given up early', `${last.host} had ${Math.round(afterMs)} ms to build ${uuid}`);
  }

  /** An active instance that ended in ERROR, or that its gang restores, does not run where it was. */
  #checkLost({ uuid, host = '' }: Instance): void {
    if (this.forgiven.has(uuid) || this.#takeOvers.has(uuid, host)) return;
    const machine = this.fleet.machines.get(host);
    if (!machine?.running.has(uuid) && !machine?.stopped.has(uuid)) return;
    this.fail('nothing healthy is destroyed', `${uuid} is given up and runs on ${host}`);
  }

  /**
   * A group without members forbids no host, even if another project has a group of that name; an anti-affinity group also forbids hosts of
   * the same request.
   */
  #checkNoHost({ uuid, projectId, fault, requestSpec, createdAtMs }: Instance): void {
    const message = fault?.message ?? '';
    const isByGroup =
      message.includes('group_is_elsewhere') || (message.includes('group_is_here') && this.#isAlone(uuid));
    const { group } = requestSpecCodec.decode(requestSpec);
    if (!isByGroup || group === undefined || this.forgiven.has(uuid)) return;
    if (this.#hadMembers(`${projectId} ${group.id}`, createdAtMs) || this.#isBeingPlaced(uuid, projectId, group.id))
      return;
    this.fail('nobody acts for another', `${uuid} of ${projectId} was refused for another project's ${group.id}`);
  }

  /** A host is left out for build failures of several projects, or for its own reports; never for those of one project. */
  #checkBlame(uuid: string): void {
    const attempts = [...this.known.values()].flatMap(({ latest: { projectId, attempts: tried } }) => {
      return tried.filter(({ outcome }) => outcome === 'failed').map(({ host }) => ({ host, projectId }));
    });
    // By the attempts, for a scheduler may not know yet that the host is deleted.
    const isBySeveral = attempts.some((one) =>
      attempts.some(({ host, projectId }) => host === one.host && projectId !== one.projectId),
    );
    const isByItself = [...this.hosts.values()].some(({ failuresInARow }) => failuresInARow >= REFUSED_REPORTS);
    if (this.storeBegan > 0 || isBySeveral || isByItself) return;
    this.fail('nobody acts for another', `${uuid} was refused a host for what the builds of one project did there`);
  }

  /** True if a scheduler may have known of members of a group since then. */
  #hadMembers(group: string, sinceMs: number): boolean {
    const isMember = ({ projectId, groupId }: Consumer) => `${projectId} ${groupId}` === group;
    return (
      [...this.#consumers.values()].some(isMember) || (this.#memberAtMs.get(group) ?? -Infinity) >= sinceMs - STALE_MS
    );
  }

  /** True if it was the only instance of its request. */
  #isAlone(uuid: string): boolean {
    return this.requests.some(({ uuids }) => uuids.length === 1 && uuids[0] === uuid);
  }

  /** True if the host is above capacity, or was since then. */
  #isOvercommitted(host: string, sinceMs: number): boolean {
    const rootUuid = this.hosts.get(host)?.providerUuid;
    const tree = [...this.#providers.values()].filter((one) => one.rootUuid === rootUuid);
    return tree.some(
      (one) => this.#isAboveCapacity(one) || (this.#aboveCapacityAtMs.get(one.uuid) ?? -Infinity) >= sinceMs,
    );
  }

  #isAboveCapacity({ uuid, inventories }: Provider): boolean {
    return Object.entries(inventories).some(
      ([name, one]) => (this.#used.get(`${uuid} ${name}`) ?? 0) > capacityOf(one),
    );
  }

  /** True if another member of its group is SCHEDULING: the claim under way counts. */
  #isBeingPlaced(except: string, projectId: string, groupId: string): boolean {
    return [...this.known.values()].some(({ latest }) => {
      if (latest.uuid === except || latest.state !== 'scheduling' || latest.projectId !== projectId) return false;
      return requestSpecCodec.decode(latest.requestSpec).group?.id === groupId;
    });
  }

  /**
   * While its host is up, and was up throughout, an instance becomes DELETED before its deadline only if it is destroyed, by the report of
   * the holder.
   */
  #checkDeleted({ uuid, host = '', dueAtMs = 0 }: Instance): void {
    const terminatedAtMs = dueAtMs - DESTROY_TIMEOUT_MS - CLOCK_TOLERANCE_MS;
    const isUp = this.hosts.get(host)?.up === true && (this.#cameUpAtMs.get(host) ?? 0) < terminatedAtMs;
    const isInTime = this.fleet.time.nowMs < dueAtMs - CLOCK_TOLERANCE_MS;
    if (this.#takeOvers.has(uuid, host)) return;
    if (isUp && isInTime && this.fleet.machines.get(host)?.running.has(uuid)) {
      this.fail('nothing is DELETED that runs', `${uuid} is DELETED and runs on ${host}`);
    }
  }

  #onChange(by: string, what: string, change: Change): void {
    for (const provider of this.#providers.values()) {
      if (this.#isAboveCapacity(provider)) this.#aboveCapacityAtMs.set(provider.uuid, this.fleet.time.nowMs);
    }
    for (const provider of change.providers ?? []) {
      this.#checkOwner(provider, by);
      this.#providers.set(provider.uuid, provider);
    }
    for (const host of change.hosts ?? []) this.#onHost(host);
    for (const host of change.deletedHosts ?? []) this.#onHostDeleted(host);
    for (const { providerUuid, used, generation } of change.usages ?? []) {
      this.#generations.set(providerUuid, generation);
      const provider = this.#providers.get(providerUuid);
      for (const [name, amount] of Object.entries(used)) {
        const inventory = provider?.inventories[name];
        const capacity = inventory === undefined ? 0 : capacityOf(inventory);
        const key = `${providerUuid} ${name}`;
        const isMore = amount > (this.#used.get(key) ?? 0);
        this.#used.set(key, amount);
        const isForced = what.includes('by force');
        if (amount > capacity && isMore && !isForced && what.startsWith('write_allocations')) {
          this.fail(
            'no provider above capacity',
            `${by} took ${name} of ${provider?.name} to ${amount} of ${capacity}`,
          );
        }
      }
    }
    const exceeded = this.quotas.take(change, this.fleet.time.nowMs);
    if (exceeded.length > 0 && what.startsWith('write_allocations') && !what.includes('by force')) {
      this.fail('quotas are kept', `${by} took ${exceeded.join(', ')}`);
    }
    for (const uuid of change.deletedProviders ?? []) this.#checkGone(uuid, by);
    // Writes of others on a host's provider go with the host.
    if (what === 'delete_host') for (const uuid of change.deletedProviders ?? []) this.decisions.delete(uuid);
    if (by === 'nova') this.#checkNova(change);
    const isClaim = what.startsWith('write_allocations') && !what.includes('by force');
    const reserved = this.reservations.take(change, isClaim, this.fleet.time.nowMs);
    if (reserved) this.fail('reservations are kept', reserved);
    this.#zones.take(change, this.fleet.time.nowMs);
    const twice = this.devices.take(change, this.fleet.time.nowMs);
    if (twice && !what.includes('by force')) this.fail('devices are what was asked', twice);
    if (!what.includes('by force')) this.#checkZones(change);
    this.#checkWhose(by, change);
    const joining = this.#joiningSpread(change);
    // An instance that goes back takes the place kept for it. That forced claim breaks no policy, unless the store forgot the place.
    const isKept = (uuid: string) => this.#consumers.get(uuid)?.consumerType === MIGRATION_CONSUMER;
    const isByForce = what.includes('by force');
    const goesBack = isByForce && (change.deletedConsumers ?? []).some(isKept);
    const isForced = isByForce && !(goesBack && this.storeBegan === 0);
    const goneBack = goesBack ? (change.consumers ?? []).map(({ uuid }) => uuid) : [];
    for (const uuid of change.deletedConsumers ?? []) this.#consumers.delete(uuid);
    for (const consumer of change.consumers ?? []) {
      const isNew = this.#consumers.get(consumer.uuid)?.claimToken !== consumer.claimToken;
      if (isNew) this.#claimedAtMs.set(consumer.uuid, this.fleet.time.nowMs);
      this.#consumers.set(consumer.uuid, consumer);
    }
    this.#checkGroups(isForced, new Set(goneBack));
    this.#checkSpread(joining, isForced);
    const hostsOf = ({ allocations }: Consumer) => {
      return Object.keys(allocations).map(
        (on) => this.#providers.get(this.#providers.get(on)?.rootUuid ?? on)?.name ?? on,
      );
    };
    const parted = this.within.onMembers([...this.#consumers.values()].filter(isWithin), hostsOf, isForced);
    if (parted && this.storeBegan === 0) this.fail('groups are kept', parted);
    for (const { uuid, owner, consumerType } of change.consumers ?? []) {
      const instanceUuid = instanceOfConsumer({ uuid, consumerType });
      if (owner === 'conductor' && !this.isAskedFor(instanceUuid)) {
        this.fail('nobody acts for another', `${by} claimed for ${uuid}, which nobody asked for`);
      }
    }
    if (by === 'nova') return;
    for (const uuid of change.deletedConsumers ?? []) {
      if (this.foreign.has(uuid)) this.fail('foreign consumers are left alone', `${by} removed ${uuid} of nova`);
    }
    for (const consumer of change.consumers ?? []) {
      const expected = this.foreign.get(consumer.uuid);
      if (expected !== undefined && expected !== allocationsOf(consumer)) {
        this.fail('foreign consumers are left alone', `${by} changed ${consumer.uuid} of nova`);
      }
    }
  }

  /** A consumer keeps its type and project; that of an instance at rest is not released while its record names the claim. */
  #checkWhose(by: string, { consumers = [], deletedConsumers = [] }: Change): void {
    for (const { uuid, projectId, consumerType } of consumers) {
      const before = this.#consumers.get(uuid);
      if (before === undefined || (before.projectId === projectId && before.consumerType === consumerType)) continue;
      const [was, is] = [`${before.consumerType} of ${before.projectId}`, `${consumerType} of ${projectId}`];
      this.fail('nobody acts for another', `${by} made ${uuid}, ${was}, into ${is}`);
    }
    for (const uuid of deletedConsumers) {
      const { latest } = this.known.get(uuid) ?? {};
      const isHeld = latest?.claimToken !== undefined && latest.claimToken === this.#consumers.get(uuid)?.claimToken;
      if (!isHeld || !BUILT_STATES.includes(latest.state) || latest.migration || this.forgiven.has(uuid)) continue;
      this.fail('nobody acts for another', `${by} released what ${uuid} holds, which is ${latest.state}`);
    }
  }

  /** A new claim for an instance is in its zone, and on a host for its tenant. A store that went back may know of neither. */
  #checkZones({ consumers = [] }: Change): void {
    for (const consumer of this.storeBegan > 0 ? [] : consumers) {
      const record = this.known.get(consumer.uuid)?.latest;
      const rootsOf = ({ allocations }: Consumer) => {
        return new Set(Object.keys(allocations).map((on) => this.#providers.get(on)?.rootUuid ?? on));
      };
      const before = this.#consumers.get(consumer.uuid);
      const stays = before && [...rootsOf(consumer)].every((root) => rootsOf(before).has(root));
      if (record === undefined || stays || consumer.owner !== 'conductor') continue;
      const host = [...this.hosts.values()].find(({ providerUuid }) => rootsOf(consumer).has(providerUuid));
      const wrong = host && this.#zones.wrongOf(consumer, host.name, record);
      if (wrong) this.fail('zones and tenants are kept', wrong);
      const device = this.devices.wrongOf(consumer, record);
      if (device) this.fail('devices are what was asked', device);
    }
  }

  #onHost(host: Host): void {
    if (!host.up || !host.enabled) this.#servesSinceMs.delete(host.name);
    else if (!this.#servesSinceMs.has(host.name)) this.#servesSinceMs.set(host.name, this.fleet.time.nowMs);
    if (host.up && this.hosts.get(host.name)?.up !== true) this.#cameUpAtMs.set(host.name, this.fleet.time.nowMs);
    this.hosts.set(host.name, host);
  }

  /** A host is deleted only when it is dead, and no record names it. */
  #onHostDeleted(name: string): void {
    this.#servesSinceMs.delete(name);
    this.hosts.delete(name);
    this.operatedHosts.isDeleted(name);
    if (this.#takeOvers.isAlive(name)) this.fail('nothing healthy is destroyed', `${name} is deleted and alive`);
    const there = [...this.known.values()]
      .map(({ latest }) => latest)
      .find(({ uuid, host, state, migration }) => {
        const isOn = host === name || migration?.source.host === name;
        return isOn && state !== 'deleted' && state !== 'error' && !this.forgiven.has(uuid);
      });
    if (there) this.fail('claims are what runs', `${name} is deleted, and ${there.uuid} is ${there.state} there`);
  }

  /** An agent writes only its own providers; it neither shares them nor adds them to aggregates. */
  #checkOwner({ uuid, name, traits, aggregates }: Provider, by: string): void {
    const isTaken = this.ofNova.has(uuid) && by !== 'nova';
    if (isTaken) this.fail('nobody acts for another', `${by} changed ${name} of nova`);
    if (traits.includes(SHARING_TRAIT) || aggregates.includes(LIE_AGGREGATE)) {
      this.fail('nobody acts for another', `${name} is shared, or in an aggregate, by the word of its agent`);
    }
  }

  /** A provider is deleted only without claims on it. */
  #checkGone(providerUuid: string, by: string): void {
    const holder = [...this.#consumers.values()].find(({ allocations }) => allocations[providerUuid] !== undefined);
    if (holder === undefined) return;
    const { name = providerUuid } = this.#providers.get(providerUuid) ?? {};
    this.fail('claims are what runs', `${by} removed ${name}, on which ${holder.uuid} holds its claim`);
  }

  /** Other services change no claim of Berth's. */
  #checkNova({ consumers = [], deletedConsumers = [] }: Change): void {
    for (const uuid of [...consumers.map((one) => one.uuid), ...deletedConsumers]) {
      if (this.#consumers.get(uuid)?.owner === 'conductor') {
        this.fail('nobody acts for another', `nova changed the claim of ${uuid}`);
      }
    }
  }

  /** Resources of a new build exist on each provider that it was claimed on. */
  #checkMachine(host: string, uuid: string): void {
    const machine = this.fleet.machines.get(host);
    if (machine === undefined) return;
    const uses = [...Array.from(machine.running.values(), ({ use }) => use), ...machine.building.values()];
    for (const part of Object.keys(machine.building.get(uuid) ?? {})) {
      const inventories = machine.inventoriesOf(part);
      const sum = uses.map((use) => use[part] ?? {}).reduce<Resources>(addResources, {});
      for (const [name, amount] of Object.entries(sum)) {
        const inventory = inventories?.[name];
        const capacity = inventory === undefined ? 0 : capacityOf(inventory);
        if (amount <= capacity) continue;
        this.fail('no host runs more than it has', `${host} runs ${amount} ${name} of ${capacity} on '${part}'`);
      }
    }
  }

  /**
   * A moved or evacuated instance runs on one host. But a timed-out build may still end there, and an instance left on a dead host runs
   * until that is back; both are then destroyed.
   */
  #checkOneHost(host: string, uuid: string): void {
    const { attempts = [] } = this.known.get(uuid)?.latest ?? {};
    if (this.forgiven.has(uuid)) return;
    const mayRun = ({ name, disk }: Machine) => {
      const builtBy = disk.get(uuid)?.attempt;
      const isTimedOut = attempts.some(
        (one) => one.host === name && one.number === builtBy && one.outcome === 'timed_out',
      );
      return isTimedOut || this.#leftOnDead.has(`${uuid} on ${name}`) || this.#takeOvers.has(uuid, name);
    };
    const runsIt = [...this.fleet.machines.values()].filter(({ running }) => running.has(uuid));
    const other = runsIt.find((machine) => machine.name !== host && !mayRun(machine));
    const here = runsIt.find(({ name }) => name === host);
    if (other && here && !mayRun(here)) this.fail('one host each', `${uuid} runs on ${other.name} and on ${host}`);
  }

  /**
   * Policies of groups, by the claims of their members. A running instance is claimed again by force, whatever its group's policy; a member
   * of an affinity group that can't follow the others goes back. An audit reports both (`hiddenBreaks`).
   */
  #checkGroups(isForced: boolean, goneBack: ReadonlySet<string> = new Set()): void {
    for (const [group, placesOf] of this.#placesByGroup()) {
      this.#memberAtMs.set(group, this.fleet.time.nowMs);
      const isBroken = isBrokenPolicy([...placesOf.values()], group);
      const back = [...placesOf.keys()].filter((uuid) => goneBack.has(uuid));
      const hasLeft = (uuid: string) =>
        !back.includes(uuid) && this.#isLeavingFrom(uuid, placesOf.get(back[0] ?? '') ?? []);
      const isOfAffinity = !group.endsWith('anti-affinity');
      if (isOfAffinity && back.length > 0 && [...placesOf.keys()].some(hasLeft)) this.#parted.add(group);
      else if (!isBroken && [...placesOf.values()].every((ends) => ends.length === 1)) this.#parted.delete(group);
      if (!isBroken) this.#brokenByForce.delete(group);
      else if (isForced || this.#parted.has(group)) this.#brokenByForce.add(group);
      else if (!this.#brokenByForce.has(group)) {
        const members = [...placesOf].map(([uuid, ends]) => `${uuid} on ${ends.join(' or ')}`);
        this.fail('groups are kept', `${group}: ${members.join(', ')}`);
      }
    }
  }

  /** Hosts of group members, by group and instance. A moving member of an affinity group is at either end. */
  #placesByGroup(): ReadonlyMap<string, Map<string, readonly string[]>> {
    const places = new Map<string, Map<string, readonly string[]>>();
    for (const consumer of this.#consumers.values()) {
      const { projectId, groupId, groupKept, allocations } = consumer;
      if (groupId === undefined) continue;
      const group = `${projectId} ${groupId}`;
      const roots = Object.keys(allocations).map((on) => this.#providers.get(on)?.rootUuid ?? on);
      const here = [...new Set(roots)].join(' ');
      const ofGroup = places.get(group) ?? new Map<string, readonly string[]>();
      places.set(group, ofGroup);
      // A place that an anti-affinity policy keeps counts as a member.
      const isEitherEnd = groupKept === undefined || !groupId.endsWith('anti-affinity');
      const uuid = isEitherEnd ? instanceOfConsumer(consumer) : consumer.uuid;
      ofGroup.set(uuid, [...(ofGroup.get(uuid) ?? []), here]);
    }
    return places;
  }

  /** True if the instance was ordered on another host, or rests there: it does not go back with the others. */
  #isLeavingFrom(uuid: string, hosts: readonly string[]): boolean {
    const places = this.#placesByGroup();
    const ends = [...places.values()].flatMap((ofGroup) => ofGroup.get(uuid) ?? []);
    const { migration } = this.known.get(uuid)?.latest ?? {};
    return (migration?.destination.attempt ?? 0) > 0 || !ends.some((end) => hosts.includes(end));
  }

  /** Broken groups that no audit has reported lately. */
  hiddenBreaks(): readonly string[] {
    const { nowMs } = this.fleet.time;
    return [...this.#placesByGroup()].flatMap(([group, placesOf]) => {
      const isShown = [...placesOf.keys()].some(
        (uuid) => nowMs - (this.#brokenShownAtMs.get(uuid) ?? -Infinity) < DOUBT_SHOWN_EVERY_MS,
      );
      return isBrokenPolicy([...placesOf.values()], group) && !isShown ? [group] : [];
    });
  }

  /** Members that join a rack with a change; none when another leaves one with it, as the order is then unknown. */
  #joiningSpread({ consumers = [], deletedConsumers = [] }: Change): readonly Consumer[] {
    const isMember = (uuid: string) => {
      const present = this.#consumers.get(uuid);
      return present?.groupDomain !== undefined && !isWithin(present);
    };
    const joining = consumers.filter((consumer) => {
      const { uuid, groupDomain, groupKept } = consumer;
      return (
        !isWithin(consumer) &&
        groupKept === undefined &&
        groupDomain !== undefined &&
        this.#consumers.get(uuid)?.groupDomain?.domain !== groupDomain.domain
      );
    });
    return deletedConsumers.some(isMember) || joining.some(({ uuid }) => isMember(uuid)) ? [] : joining;
  }

  /**
   * A group that spreads has at most one member more in the joined rack than in the other, unless it was made uneven by force, or no host
   * of the other rack accepts the project. A store that went back may not know the racks any more.
   */
  #checkSpread(joining: readonly Consumer[], isForced: boolean): void {
    for (const { uuid, projectId, groupId, groupDomain } of this.storeBegan > 0 ? [] : joining) {
      const group = `${projectId} ${groupId}`;
      const members = [...this.#consumers.values()].filter(
        (one) => one.projectId === projectId && one.groupId === groupId && one.groupKept === undefined,
      );
      const open = RACK_NAMES.filter((rack) => rack === groupDomain?.domain || this.#isOpen(rack, projectId));
      const counts = open.map((rack) => members.filter((one) => one.groupDomain?.domain === rack).length);
      const here = counts[open.findIndex((rack) => rack === groupDomain?.domain)] ?? 0;
      if (here - Math.min(...counts) <= 1) this.#unevenByForce.delete(group);
      else if (isForced) this.#unevenByForce.add(group);
      else if (!this.#unevenByForce.has(group)) {
        this.fail('groups are kept', `${uuid} came to ${groupDomain?.domain} of ${group}: ${counts.join(' and ')}`);
      }
    }
  }

  /** True if some host of a rack accepts the project and is in service, and was when the decision may have been made. */
  #isOpen(rack: (typeof RACK_NAMES)[number], projectId: string): boolean {
    const sinceMs = this.fleet.time.nowMs - STALE_MS;
    const serves = ({ name }: Host) => (this.#servesSinceMs.get(name) ?? Infinity) < sinceMs;
    const inRack = [...this.hosts.values()].filter(({ aggregates }) => aggregates.includes(RACKS[rack]));
    const hosts = inRack.filter(serves);
    return hosts.some(({ name }) => this.#zones.letsIn(name, projectId, this.fleet.time.nowMs));
  }

  /** True if a host was ordered to shelve an instance, or the store forgot that it was. */
  #isShelvedFrom({ uuid, state, host: recorded, attempts }: Instance, host: string): boolean {
    if (state === 'shelving' && recorded === host) return true;
    if (attempts.some((one) => one.host === host && one.outcome === 'shelved')) return true;
    return this.forgiven.has(uuid) && this.mayOperate.has(`shelving ${uuid}`);
  }

  #isEnding(uuid: string): boolean {
    const state = this.known.get(uuid)?.latest.state;
    return state === 'deleting' || state === 'deleted';
  }

  /** A destroyed instance is not built again on the same disk, however late a copy of its order is. */
  #checkNotAgain(uuid: string, host: string): void {
    const place = `${uuid} on ${host}`;
    if (!this.#endedOn.has(place) || !this.#isEnding(uuid)) return;
    if (this.forgiven.has(uuid) || this.#cameBack.has(place)) return;
    this.fail('what has ended stays so', `${uuid} was destroyed on ${host} and is built there again`);
  }

  #onMachineEvent({ kind, machine: host, uuid }: MachineEvent): void {
    if (kind === 'begins') this.#checkMachine(host, uuid);
    if (kind === 'begins') this.#checkNotAgain(uuid, host);
    if (kind === 'begins') this.survivors.begins(uuid, host);
    if (kind === 'built') this.#built.add(`${uuid} on ${host.replace('-clone', '')}`);
    if (kind === 'built' || kind === 'started') this.#checkOneHost(host, uuid);
    const twice = kind === 'built' || kind === 'started' ? this.survivors.wrongOfBuilt(uuid, host) : undefined;
    if (twice) this.fail('what ran before a loss runs after it', twice);
    if (kind === 'exited' || kind === 'stopped') this.survivors.isGone(uuid, host);
    if (kind !== 'destroyed') return;
    if (this.#isEnding(uuid)) this.#endedOn.add(`${uuid} on ${host}`);
    this.#leftOnDead.delete(`${uuid} on ${host}`);
    const wrong = this.survivors.wrongOfDestroyed(uuid, host);
    if (wrong) this.fail('what ran before a loss runs after it', wrong);
    const known = this.known.get(uuid);
    if (known === undefined || this.terminated.has(uuid)) return;
    // The order came from a record that the store has since forgotten, and its client saw it.
    const builtBy = this.fleet.machines.get(host)?.disk.get(uuid)?.attempt;
    if (this.forgiven.has(uuid) && this.#givenUp.has(`${uuid} on ${host}, attempt ${builtBy}`)) return;
    const { latest } = known;
    if (this.queue.isEnded(latest) || this.#isShelvedFrom(latest, host)) return;
    const { migration } = latest;
    const isReverted = latest.state === 'revert_resize' && migration?.destination.host === host;
    if (isReverted && this.#sourceless.has(uuid)) {
      this.fail(
        'nothing healthy is destroyed',
        `${uuid} is destroyed on ${host} to go back to ${migration.source.host}, which had lost it before`,
      );
    }
    const wasActiveHere = latest.attempts.some(
      (one) => one.host === host && one.outcome === 'active' && !this.#isOlderCopy(uuid, host, one.number),
    );
    const isElsewhere = latest.host !== undefined && latest.host !== host && BUILT_STATES.includes(latest.state);
    if (wasActiveHere && !isElsewhere) {
      this.fail(
        'nothing healthy is destroyed',
        `${uuid} ran on ${host} and was destroyed; its record: ${latest.state}, ${latest.fault?.message ?? 'no fault'}`,
      );
    }
  }
}

const UUIDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** States that only a requested operation leads to. */
const OPERATED: readonly Instance['state'][] = [
  'stopping',
  'starting',
  'rebuilding',
  'shelving',
  'unshelving',
  'resize',
  'migrating',
];

/** True if its rebuild policy, or its gang, evacuates it from a dead host. */
function isByPolicy({ state, requestSpec, gang }: Instance): boolean {
  if (state === 'rebuilding' && gang?.onLoss === 'restore') return true;
  return state === 'rebuilding' && requestSpecCodec.decode(requestSpec).rebuildPolicy === 'evacuate';
}

/** True if the policy is broken: two members on one host, or no host that all can be on. */
function isBrokenPolicy(members: readonly (readonly string[])[], groupId: string): boolean {
  const hosts = members.flat();
  if (groupId.endsWith('anti-affinity')) return new Set(hosts).size < hosts.length;
  return groupId.endsWith('affinity') && !hosts.some((host) => members.every((ends) => ends.includes(host)));
}

export function allocationsOf({ allocations, projectId }: Consumer): string {
  return JSON.stringify([allocations, projectId]);
}

/** A write of a placement API client on a provider. */
export type Decision = 'reserves' | 'hasTrait' | 'isInAggregate';

/** Acknowledged writes of placement API clients on a provider. */
export type Decisions = {
  readonly [D in Decision]?: true;
};
