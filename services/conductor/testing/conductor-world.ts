import { isDeepStrictEqual } from 'node:util';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { ACK, type Bus } from '#libs/bus/port';
import { answer, callMethod, castTyped } from '#libs/bus/typed-calls';
import type { PreemptionView } from '#libs/contracts/admission';
import {
  type BuildInstance,
  type BuildReport,
  buildInstanceCodec,
  buildReportCodec,
  type DestroyInstance,
  destroyInstanceCodec,
  type HostDiscrepancy,
  hostDiscrepancyCodec,
} from '#libs/contracts/compute';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { type ListGroupsResponse, listGroupsMethod } from '#libs/contracts/groups';
import { deleteHostMethod } from '#libs/contracts/hosts';
import { type Identity, SERVICE } from '#libs/contracts/identity';
import {
  type InstanceEvent,
  type InstanceView,
  instanceEventCodec,
  listInstancesMethod,
} from '#libs/contracts/instance';
import type { GangMembers } from '#libs/contracts/member-kinds';
import type { ClaimMovesRequest, ClaimMovesResponse, MoveInstancesRequest } from '#libs/contracts/moves';
import { claimMovesMethod, moveInstancesMethod } from '#libs/contracts/moves';
import { type InstanceOperation, type OperateInstanceRequest, operateInstanceMethod } from '#libs/contracts/operations';
import { type PowerReport, powerReportCodec, type SetPowerState, setPowerStateCodec } from '#libs/contracts/power';
import { agentQueue, BUILD_REQUESTS, BUILD_RESULTS, RPC_CONDUCTOR, RPC_SCHEDULER } from '#libs/contracts/queues';
import { type ListFairSharesResponse, listFairSharesMethod, listQuotasMethod } from '#libs/contracts/quotas';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type Move, type Selection, selectDestinationsMethod } from '#libs/contracts/selection';
import type { RunningInstance } from '#libs/contracts/stats';
import { DEVICE_CLASS, type Device } from '#libs/domain/devices/device';
import { BerthError } from '#libs/domain/errors';
import { type HostPosition, isAfter } from '#libs/domain/host-position';
import type { Instance, OnLoss } from '#libs/domain/instance';
import { inventory, type Resources } from '#libs/domain/inventory';
import { keptForMove } from '#libs/domain/moves/kept-for-move';
import { MIGRATION_CONSUMER } from '#libs/domain/moves/migration';
import { type Admission, NO_ADMISSION } from '#libs/domain/queueing/admission';
import { GANG_FAILED } from '#libs/domain/queueing/gang';
import type { QuotaExcess } from '#libs/domain/quotas/quota';
import { seededRandom } from '#libs/domain/random';
import type { RebuildPolicy, RequestSpec } from '#libs/domain/request-spec';
import type { ServerGroup } from '#libs/domain/server-group';
import { memoryFlavorStore } from '#libs/instances/memory/flavor-store';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { memoryLeaseStore } from '#libs/instances/memory/lease-store';
import { MAX_OUTBOX } from '#libs/instances/store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import type { ConsumerWrite } from '#libs/placement/port/placement-store';
import { type AllocationRequest, open, sealer } from '#libs/placement/sealed/allocation-request';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import { referenceTo } from '#libs/placement/sealed/reference';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { Running } from '#libs/runtime/service';
import { fakeClock } from '#libs/testing/fake-clock';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { nestedDevices } from '#libs/testing/placement/hosts/devices';
import type { ConductorDeps } from '../context';
import { isGivenUp } from '../evidence';
import { conductorOptions } from '../options';
import { startConductor } from '../start';

const KEY = 'the key of this test fleet';
/** A host's answer to an order to build. `late` answers when the test says so; `is dead` takes no orders: they wait for it. */
export type Behaviour = 'builds' | 'fails' | 'refuses' | 'is silent' | 'late' | 'is dead';

/** The unusual fields of a request. */
type RequestFields = Partial<RequestSpec> & {
  readonly admission?: Partial<Admission>;
  readonly minCount?: number;
  readonly furtherMembers?: readonly GangMembers[];
  readonly onLoss?: OnLoss;
};

/** Conductors among a scripted scheduler and scripted hosts, on a bus and stores in memory: the claims are real. */
export class ConductorWorld {
  /** Projects by instance that was selected for. */
  readonly #projects = new Map<string, string>();
  readonly clock = fakeClock();
  readonly random = seededRandom(7);
  readonly placement = new MemoryPlacementStore();
  readonly instances = memoryInstanceStore(this.clock, MAX_OUTBOX, this.placement);
  readonly leases = memoryLeaseStore(this.clock);
  readonly flavors = memoryFlavorStore(this.clock);
  /** Time for which the store keeps referenced alternates; they are sealed when undefined. */
  referenceTtlMs: number | undefined;
  readonly events: InstanceEvent[] = [];
  /** Best first: what the scheduler answers, as long as there is room. */
  hosts: readonly string[] = [];
  readonly behaviour = new Map<string, Behaviour>();
  /** By host: its device, which each instance there has as `device:gpu`. */
  readonly devices = new Map<string, Device>();
  /** Preferred resources of instances: the hosts opened later have them for one instance each. */
  preferred: Resources = {};
  /** Running instances, each with its hosts. */
  readonly running = new Map<string, Set<string>>();
  readonly orders: BuildInstance[] = [];
  /** Reports of the hosts. */
  readonly reports: BuildReport[] = [];
  /** The service host of each host that is not its own. */
  readonly #serviceHosts = new Map<string, string>();
  /** By which each host is held, 1 unless the test says otherwise. */
  readonly epochs = new Map<string, number>();
  readonly discrepancies: HostDiscrepancy[] = [];
  /** Instances destroyed while they ran, though nobody terminated them and no attempt there was given up. */
  readonly harmed: string[] = [];
  /** The destroys that hosts were ordered. */
  readonly destroys: DestroyInstance[] = [];
  /** Stopped copies on hosts: `instance host`. */
  readonly stopped = new Set<string>();
  /** True if hosts build stopped instances without running them. */
  heedsPowerState = true;
  /** A claim that the scheduler takes for held, though it was released. */
  staleClaim: number | undefined;
  /** True if orders to destroy arrive. */
  heedsDestroy = true;
  readonly powerOrders: SetPowerState[] = [];
  readonly powerReports: PowerReport[] = [];
  /** Server group of later claims, as their allocation requests say. */
  group: ServerGroup | undefined;
  /** Metadata of the stored group of that name; undefined where the group is not stored. */
  groupMetadata: Readonly<Record<string, string>> | undefined;
  /** Rebuild policy of later requests. */
  rebuildPolicy: RebuildPolicy = 'never';
  readonly #poweredAt = new Map<string, HostPosition>();
  readonly #positions = new Map<string, number>();
  readonly #sequences = new Map<string, number>();
  #reportCount = 0;
  readonly #waiting: { readonly host: string; readonly take: () => Promise<void> }[] = [];
  /** Default limits of its scheduler's quotas. */
  defaultLimits: Resources = {};
  /** Its scheduler's word on projects' use: those who wait take turns, unless the test says otherwise. */
  fairShares: ListFairSharesResponse = { halfLifeMs: 0, atMs: 0, shares: [], capacity: {}, defaultWeight: 1 };
  /** The preemption that its scheduler finds. */
  preemption: PreemptionView | undefined;
  /** Likewise, where not the same for all. */
  preemptionFor: (instanceUuids: readonly string[]) => PreemptionView | undefined = () => this.preemption;
  /** The instances that its scheduler was asked for, each time. */
  readonly asked: (readonly string[])[] = [];
  /** Its scheduler's answer when a quota refuses. */
  private quotaExceeded: readonly QuotaExcess[] = [];
  readonly #broker = new MemoryBroker(this.clock, silentLog);
  readonly bus: Bus = this.openBus();

  openBus(identity: Identity = SERVICE): Bus {
    const config = { ...readConfig(busOptions, {}), drainTimeoutMs: 100 };
    return new MemoryBus(this.#broker, identity, config, this.around());
  }

  around() {
    return { clock: this.clock, random: this.random, log: silentLog, metrics: createMetrics({}) };
  }

  /**
   * Hosts with room for `vcpus` instances of one VCPU each, and a scheduler that prefers them in this order.
   *
   * @param atMs  time of their first reports: of the store's birth
   */
  async open(hosts: Readonly<Record<string, number>>, atMs = 0): Promise<void> {
    this.hosts = Object.keys(hosts);
    for (const [host, vcpus] of Object.entries(hosts)) await this.#addHost(host, vcpus, atMs);
    await this.bus.serve(RPC_SCHEDULER, {
      ...answer(selectDestinationsMethod, (request) => {
        const { instanceUuids, requestSpec, mayPreempt = false, minCount, move, furtherKinds } = request;
        this.askedKinds.push([instanceUuids, ...(furtherKinds ?? []).map((kind) => kind.instanceUuids)]);
        if (furtherKinds) return this.#select(this.askedKinds.at(-1)?.flat() ?? [], [], mayPreempt);
        const spec = requestSpecCodec.decode(requestSpec);
        const [instanceUuid = ''] = instanceUuids;
        for (const uuid of instanceUuids) this.#projects.set(uuid, spec.projectId);
        if (move) return this.#selectForMove(instanceUuid, spec, move);
        return this.#select(instanceUuids, spec.ignoreHosts, mayPreempt, minCount || undefined);
      }),
      ...answer(claimMovesMethod, (request) => this.#claimMoves(request)),
      ...answer(listGroupsMethod, ({ name, projectId }) => this.#listGroup(projectId, name)),
      ...answer(listFairSharesMethod, async () => this.fairShares),
      ...answer(listQuotasMethod, async () => ({ projects: [], defaultLimits: this.defaultLimits })),
    });
    await this.bus.subscribe('instance.#', (_topic, { body }) => this.events.push(instanceEventCodec.decode(body)));
  }

  /** Deletes a host; resolves to `deleted`, or the error. */
  async deleteHost(host: string): Promise<'deleted' | BerthError> {
    const on = { bus: this.bus, queue: RPC_CONDUCTOR };
    const answered = callMethod(on, deleteHostMethod, { host }, { timeoutMs: 1_000 }).then(
      () => 'deleted' as const,
      (thrown: unknown) => BerthError.from(thrown),
    );
    await this.clock.advance(0);
    return answered;
  }

  /** Closes conductors, which wait for some of their work on this world's clock. */
  async closed(...conductors: readonly Running[]): Promise<void> {
    const closing = Promise.all(conductors.map((conductor) => conductor.close()));
    await this.clock.advance(1_000);
    await closing;
  }

  /** Starts a conductor; `wrap` may put something between it and what it works with. */
  conductor(wrap: (deps: ConductorDeps) => ConductorDeps = (deps) => deps, settings = {}): Promise<Running> {
    const config = readConfig(conductorOptions, {
      BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '10000',
      BERTH_CONDUCTOR_DESTROY_TIMEOUT_MS: '10000',
      BERTH_CONDUCTOR_SCHEDULING_TIMEOUT_MS: '5000',
      BERTH_CONDUCTOR_POWER_TIMEOUT_MS: '10000',
      BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '20000',
      BERTH_CONDUCTOR_AUDIT_GRACE_MS: '1000',
      ...settings,
    });
    const { placement, instances, leases, flavors } = this;
    const sealed = { open: this.opened, seal: this.#seal };
    return startConductor(
      wrap({ ...this.around(), bus: this.openBus(), placement, instances, leases, flavors, config, ...sealed }),
    );
  }

  /** When schedulers seal: when the test begins, unless it says. */
  sealedAtMs = this.clock.now();
  /** Total capacities of hosts, as schedulers seal them. */
  sealedCapacities: Resources | undefined = undefined;
  readonly #seal = sealer(KEY, () => ({ sealedAtMs: this.sealedAtMs }));

  /** Opens a sealed allocation request. */
  readonly opened = (sealed: Uint8Array, nowMs?: number): AllocationRequest => open(sealed, KEY, nowMs);

  /** By call of a scheduler, the instances of each kind. */
  readonly askedKinds: (readonly (readonly string[])[])[] = [];

  /** Publishes a request; answers its id. A minimum makes it a gang. */
  async request(
    count = 1,
    requestId: string = this.random.uuid(),
    publishedAtMs = this.clock.now(),
    { admission, minCount = 0, furtherMembers, onLoss, ...spec }: RequestFields = {},
  ): Promise<string> {
    const { rebuildPolicy } = this;
    const requestSpec = anEncodedSpec({ resources: { VCPU: 1 }, rebuildPolicy, ...spec });
    const about = {
      minCount,
      furtherMembers,
      onLoss,
      ...(admission && { admission: { ...NO_ADMISSION, ...admission } }),
    };
    const request = { requestId, requestSpec, count, name: 'web', instanceUuids: [], publishedAtMs, ...about };
    await castTyped({ bus: this.bus, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: requestId });
    return requestId;
  }

  terminate(instanceUuid: string): Promise<void> {
    return castTyped({ bus: this.bus, queue: BUILD_REQUESTS }, terminateInstanceCodec, { instanceUuid, projectId: '' });
  }

  report(order: BuildInstance, outcome: BuildReport['outcome']): Promise<void> {
    const { instanceUuid, host, attempt, claimToken, alternates } = order;
    const of = { instanceUuid, host, attempt, claimToken, alternates, ...this.nextPosition(host) };
    return this.sendReport({ ...of, outcome, reason: outcome, message: '' });
  }

  /** The position of what a host says now. */
  nextPosition(host: string): HostPosition {
    const position = (this.#positions.get(host) ?? 0) + 1;
    this.#positions.set(host, position);
    return { epoch: this.epochs.get(host) ?? 1, position };
  }

  async sendReport(report: BuildReport): Promise<void> {
    this.reports.push(report);
    await castTyped({ bus: this.bus, queue: BUILD_RESULTS }, buildReportCodec, report);
  }

  /** The differences of a host's next report and the store, with the test's fields. */
  discrepancy(host: string, fields: Partial<HostDiscrepancy> = {}): HostDiscrepancy {
    const sequence = (this.#sequences.get(host) ?? 0) + 1;
    this.#sequences.set(host, sequence);
    const nothing = { unclaimed: [], missing: [], present: [] };
    const place = { host, providerUuid: providerOf(host), serviceHost: this.#serviceHostOf(host) };
    return { ...place, ...nothing, ...this.nextPosition(host), sequence, atMs: this.clock.now(), ...fields };
  }

  /** Says that a host's report and the store disagree. */
  sendDiscrepancy(discrepancy: HostDiscrepancy): Promise<void> {
    this.discrepancies.push(discrepancy);
    return castTyped({ bus: this.bus, queue: BUILD_RESULTS }, hostDiscrepancyCodec, discrepancy);
  }

  /** A host says all that is there, as it is now. */
  async hearInFull(host: string, fields: Partial<HostDiscrepancy> = {}): Promise<void> {
    await this.sendDiscrepancy(this.discrepancy(host, { saidAfterMs: this.clock.now(), ...fields }));
  }

  /** Two reports of a host in a row disagree with the store. */
  async disagreeTwice(host: string, fields: Partial<HostDiscrepancy>): Promise<void> {
    for (let times = 0; times < 2; times++) await this.sendDiscrepancy(this.discrepancy(host, fields));
  }

  /** An instance as a host reports it that was ordered to build it, or says so. */
  runningInstance(instanceUuid: string, host: string, fields: Partial<RunningInstance> = {}): RunningInstance {
    const order = this.orders.findLast((one) => one.instanceUuid === instanceUuid && one.host === host);
    const { attempt = 1, claimToken = 0, allocationRequest = new Uint8Array() } = order ?? {};
    const who = { projectId: 'project-1', userId: 'user-1', name: 'web', groupId: '', requestId: instanceUuid };
    const how = { attempt, claimToken, allocationRequest, running: true };
    const power = this.stopped.has(`${instanceUuid} ${host}`) ? ({ powerState: 'shutdown' } as const) : {};
    return { ...who, ...how, ...power, instanceUuid, resources: { VCPU: 1 }, ...fields };
  }

  /** By which a scheduler let an instance run on a host. */
  allocationRequest(instanceUuid: string, host: string, terms: Partial<AllocationRequest> = {}): Uint8Array {
    const request = { ...this.#requestOn(instanceUuid, host, this.preferred), group: this.group, ...terms };
    return this.#seal(request)({ ...request, capacities: this.sealedCapacities });
  }

  /** Takes hosts as down that did not report for long, or as up again. */
  async setUp(host: string, isUp: boolean): Promise<void> {
    if (isUp) return this.#report(host, 10, this.clock.now());
    const atMs = this.clock.now();
    await this.placement.commit({ kind: 'sweep_hosts', atMs, silentSinceMs: 0, limit: 1_000 });
  }

  /** Somebody else takes what a host has free. */
  async setFull(host: string): Promise<void> {
    const write = claimWrite(this.#requestOn(this.random.uuid(), host));
    await this.placement.commit({ kind: 'write_allocations', atMs: this.clock.now(), consumers: [write] });
  }

  async all(): Promise<Instance[]> {
    return this.instances.list({}, undefined, 1_000);
  }

  /** The instance of a request of one. */
  async only(): Promise<Instance> {
    const [instance] = await this.all();
    if (!instance) throw new Error('there is no instance');
    return instance;
  }

  /** Claims as `consumer host`. */
  async claims(): Promise<string[]> {
    const claims: string[] = [];
    await this.placement.scanConsumers(async (consumers) => {
      for (const { uuid, allocations } of consumers)
        claims.push(`${uuid} ${Object.keys(allocations).map(hostOf).join('+')}`);
    });
    return claims.sort();
  }

  /** Running instances as `instance host`. */
  runs(): string[] {
    return [...this.running].flatMap(([uuid, hosts]) => [...hosts].map((host) => `${uuid} ${host}`)).sort();
  }

  /** One more host. */
  async add(host: string, vcpus: number): Promise<void> {
    this.hosts = [...this.hosts, host];
    await this.#addHost(host, vcpus, this.clock.now());
  }

  async #addHost(host: string, vcpus: number, atMs: number): Promise<void> {
    await this.#report(host, vcpus, atMs);
    await this.serveOrders(host);
  }

  async #report(host: string, vcpus: number, atMs = 0): Promise<void> {
    const nothing = { traits: [], aggregates: [], capabilities: {}, ioOps: 0, externalInstances: 0 };
    const identity = {
      host,
      providerUuid: providerOf(host),
      cell: 'cell1',
      serviceHost: this.#serviceHostOf(host),
      agentRun: 'run',
    };
    const preferred = Object.entries(this.preferred).map(([name, amount]) => [name, inventory(amount)] as const);
    const inventories = { VCPU: inventory(vcpus), ...Object.fromEntries(preferred) };
    const sequence = ++this.#reportCount;
    const device = this.devices.get(host);
    const nested = device ? nestedDevices(host, providerOf(host), { gpu: device }) : [];
    await this.placement.reportHost({ atMs, epoch: 0, ...identity, ...nothing, sequence, inventories, nested });
  }

  #serviceHostOf(host: string): string {
    return this.#serviceHosts.get(host) ?? host;
  }

  /** From now on one service host carries these hosts; its queue is for the test to declare or serve. */
  async carryTogether(serviceHost: string, hosts: readonly string[]): Promise<void> {
    for (const host of hosts) {
      this.#serviceHosts.set(host, serviceHost);
      await this.#report(host, 10);
    }
  }

  /** Takes the orders of a service host until the answer is called; from then on they wait. */
  async serveOrdersUntil(serviceHost: string): Promise<() => Promise<void>> {
    const { subscription } = await this.#serve(serviceHost);
    return () => subscription.cancel();
  }

  /** Takes the orders of a service host; answers the host and the type of each, as they come. */
  async serveOrders(serviceHost: string): Promise<string[]> {
    return (await this.#serve(serviceHost)).taken;
  }

  async #serve(serviceHost: string) {
    const taken: string[] = [];
    const takeOrWait = async (host: string, what: string, take: () => Promise<void>) => {
      if (this.behaviour.get(host) === 'is dead') return void this.#waiting.push({ host, take });
      taken.push(`${what} ${host}`);
      await take();
    };
    const subscription = await this.bus.consume(agentQueue(serviceHost), async ({ type, body }) => {
      if (type === destroyInstanceCodec.type) {
        const destroy = destroyInstanceCodec.decode(body);
        await takeOrWait(destroy.host, 'destroy', () => this.#destroy(destroy));
      } else if (type === setPowerStateCodec.type) {
        const order = setPowerStateCodec.decode(body);
        await takeOrWait(order.host, order.powerState, () => this.#setPowerState(order));
      } else {
        const build = buildInstanceCodec.decode(body);
        await takeOrWait(build.host, 'build', () => this.#build(build));
      }
      return ACK;
    });
    return { taken, subscription };
  }

  /** A host that was dead is back: it takes what waits for it, in order. */
  async comesBack(host: string): Promise<void> {
    this.behaviour.delete(host);
    await this.setUp(host, true);
    for (const one of this.#waiting.filter((order) => order.host === host)) await one.take();
  }

  async #build(order: BuildInstance): Promise<void> {
    const { host, instanceUuid } = order;
    this.orders.push(order);
    if (order.arrival?.inPlace) {
      if (this.behaviour.get(host) === 'is silent') return;
      if (this.behaviour.get(host) === 'refuses') return this.report(order, 'refused');
      const isHere = this.running.get(instanceUuid)?.has(host) ?? false;
      if (isHere && order.powerState !== 'shutdown') this.stopped.delete(`${instanceUuid} ${host}`);
      return this.report(order, isHere ? 'active' : 'refused');
    }
    switch (this.behaviour.get(host) ?? 'builds') {
      case 'builds':
        this.#hasBuilt(order);
        return this.report(order, 'active');
      case 'fails':
        return this.report(order, 'failed');
      case 'refuses':
        return this.report(order, 'refused');
      case 'late':
        this.#hasBuilt(order);
        return;
      case 'is silent':
      case 'is dead':
        return;
    }
  }

  #hasBuilt({ instanceUuid, host, powerState }: BuildInstance): void {
    this.running.set(instanceUuid, (this.running.get(instanceUuid) ?? new Set()).add(host));
    // Agents of an older version run what they build.
    if (powerState === 'shutdown' && this.heedsPowerState) this.stopped.add(`${instanceUuid} ${host}`);
  }

  /** As agents do it: an order that rests on what was said before the last change is a late one. */
  async #setPowerState(order: SetPowerState): Promise<void> {
    const { instanceUuid, host, attempt, claimToken, powerState, restsOnEpoch, restsOnPosition, migrationUuid } = order;
    const behaviour = this.behaviour.get(host) ?? 'builds';
    const place = `${instanceUuid} ${host}`;
    this.powerOrders.push(order);
    if (!this.running.get(instanceUuid)?.has(host) || behaviour === 'is silent') return;
    const restsOn = { epoch: restsOnEpoch, position: restsOnPosition };
    const isLate = restsOnEpoch > 0 && isAfter(this.#poweredAt.get(place) ?? NEVER, restsOn);
    const fails = behaviour === 'fails' && powerState === 'running' && !isLate;
    if (!isLate && !fails && (powerState === 'shutdown') !== this.stopped.has(place)) {
      if (powerState === 'shutdown') this.stopped.add(place);
      else this.stopped.delete(place);
      this.#poweredAt.set(place, this.nextPosition(host));
    }
    if (behaviour === 'late') return;
    const now = this.stopped.has(place) ? 'shutdown' : 'running';
    const moved = migrationUuid ? { migrationUuid, handover: Buffer.from(`data of ${instanceUuid}`) } : {};
    const about = { instanceUuid, host, attempt, claimToken, restsOnEpoch, restsOnPosition, ...moved };
    const reason = fails ? 'not_started' : '';
    await this.sendPowerReport({ ...about, powerState: now, reason, message: '', ...this.nextPosition(host) });
  }

  async sendPowerReport(report: PowerReport): Promise<void> {
    this.powerReports.push(report);
    await castTyped({ bus: this.bus, queue: BUILD_RESULTS }, powerReportCodec, report);
  }

  /** As a client does: by the version that it sees, unless the test says another. */
  async operate(
    instanceUuid: string,
    operation: InstanceOperation,
    version?: number,
    move: Pick<OperateInstanceRequest, 'resizeTo' | 'targetHost' | 'confirmAfterMs'> = {},
  ): Promise<InstanceView> {
    const [record] = await this.instances.get([instanceUuid]);
    const request = { instanceUuid, operation, version: version ?? record?.version ?? 0, ...move };
    const options = { timeoutMs: 1_000 };
    return (await callMethod({ bus: this.bus, queue: RPC_CONDUCTOR }, operateInstanceMethod, request, options))
      .instance;
  }

  /** Has several instances moved together, live, or asks where they would go. */
  moveInstances(moves: MoveInstancesRequest['moves'], options: Partial<MoveInstancesRequest> = {}) {
    const request = { operation: 'live_migrate', moves, leaveHosts: [], dryRun: false, ...options } as const;
    return callMethod({ bus: this.bus, queue: RPC_CONDUCTOR }, moveInstancesMethod, request, { timeoutMs: 1_000 });
  }

  /** An instance as clients see it. */
  async view(instanceUuid: string): Promise<InstanceView | undefined> {
    const any = { requestId: '', projectId: '', state: undefined, host: '', marker: '', limit: 1 };
    const request = { ...any, instanceUuid };
    const { instances } = await callMethod({ bus: this.bus, queue: RPC_CONDUCTOR }, listInstancesMethod, request, {
      timeoutMs: 1_000,
    });
    return instances[0];
  }

  /** A claim of one VCPU of a host for an instance. */
  writeFor(instanceUuid: string, host: string): ConsumerWrite {
    return claimWrite(this.#requestOn(instanceUuid, host));
  }

  async #destroy(destroy: DestroyInstance): Promise<void> {
    const { instanceUuid, host, attempt, report } = destroy;
    this.destroys.push(destroy);
    if (!this.heedsDestroy) return;
    const [record] = await this.instances.get([instanceUuid]);
    const isTerminated = ['preempting', 'shelving', 'deleting', 'deleted'].includes(record?.state ?? '');
    const isUndone = record?.fault?.reason === GANG_FAILED;
    const isRunning = this.running.get(instanceUuid)?.has(host) ?? false;
    const mayGo = isTerminated || isUndone || (record !== undefined && isGivenUp(record, host, attempt));
    if (isRunning && !mayGo) this.harmed.push(`${instanceUuid} ${host}, ${record?.state ?? 'no record'}`);
    this.running.get(instanceUuid)?.delete(host);
    this.stopped.delete(`${instanceUuid} ${host}`);
    const order = { instanceUuid, host, attempt, claimToken: 0, alternates: [] } as unknown as BuildInstance;
    if (report) await this.report(order, 'destroyed');
  }

  async #select(
    instanceUuids: readonly string[],
    ignoreHosts: readonly string[],
    mayPreempt: boolean,
    minCount = instanceUuids.length,
  ) {
    this.asked.push(instanceUuids);
    const destinations = [];
    const hosts = this.hosts.filter((host) => !ignoreHosts.includes(host));
    for (const instanceUuid of instanceUuids) {
      const [held] = await this.placement.consumers([instanceUuid]);
      const heldOn = hostOf(Object.keys(held?.allocations ?? {})[0] ?? '');
      const claimed =
        this.staleClaim !== undefined
          ? { host: hosts[0] ?? '', claimToken: this.staleClaim }
          : held && !ignoreHosts.includes(heldOn)
            ? { host: heldOn, claimToken: held.claimToken }
            : await this.#claimFirst(instanceUuid, hosts);
      if (!claimed) {
        const noValidHost = { ...NONE, summary: '0 of 3 hosts fit', quotaExceeded: this.quotaExceeded };
        const preemption = mayPreempt ? this.preemptionFor(instanceUuids) : undefined;
        return { destinations: destinations.length >= minCount ? destinations : [], noValidHost, preemption };
      }
      const others = hosts.filter((host) => host !== claimed.host);
      const alternates = await Promise.all(others.map((host) => this.#alternate(instanceUuid, host)));
      const selected = this.#selection(instanceUuid, claimed.host);
      destinations.push({ instanceUuid, selected, alternates, claimToken: claimed.claimToken });
    }
    return { destinations, noValidHost: undefined };
  }

  /** The group of later claims, with every instance that was selected for as a member. */
  async #listGroup(projectId: string, name: string): Promise<ListGroupsResponse> {
    const { group, groupMetadata: metadata } = this;
    if (group?.id !== name || !metadata) throw new BerthError('not_found', 'no_such_group', `there is no ${name}`);
    const members = [...this.#projects.keys()];
    const { policy, maxPerHost, spread } = group;
    const about = { projectId, name, policy, maxPerHost, spread, metadata, createdAtMs: 0 };
    return { groups: [{ ...about, memberCount: members.length }], members };
  }

  /** Each to the first host that it may go to; all in one commit. */
  async #claimMoves({ moves, dryRun }: ClaimMovesRequest): Promise<ClaimMovesResponse> {
    const refused = { destinations: [], noValidHost: { ...NONE, summary: '0 of 3 hosts fit', quotaExceeded: [] } };
    const places = moves.map(({ requestSpec: spec, ...one }) => {
      const isOpen = (host: string) => spec.forceHosts.length === 0 || spec.forceHosts.includes(host);
      return { ...one, spec, host: this.hosts.filter(isOpen).find((host) => !spec.ignoreHosts.includes(host)) ?? '' };
    });
    const none = places.find(({ host }) => host === '');
    if (none) return { ...refused, refusedInstanceUuid: none.instanceUuid };
    const held = await this.placement.consumers(moves.map(({ instanceUuid }) => instanceUuid));
    const consumers = places.flatMap(({ instanceUuid, host, spec, move }) => {
      const { projectId = '', userId = '', allocations = {} } = held.find(({ uuid }) => uuid === instanceUuid) ?? {};
      if (move === undefined) return [claimWrite(this.#requestOn(instanceUuid, host, spec.resources))];
      const { migrationUuid, claimToken } = move;
      const who = { projectId, userId, consumerType: MIGRATION_CONSUMER, owner: 'conductor', mappings: {} } as const;
      return [
        { ...who, uuid: migrationUuid, allocations, expect: { kind: 'absent' } as const },
        claimWrite(this.#requestOn(instanceUuid, host, spec.resources), { kind: 'claim', claimToken }),
      ];
    });
    const write = { kind: 'write_allocations', atMs: this.clock.now(), consumers } as const;
    const result = dryRun ? undefined : await this.placement.commit(write);
    if (result && result.kind !== 'committed')
      return { ...refused, refusedInstanceUuid: places[0]?.instanceUuid ?? '' };
    const claimToken = result?.claimToken ?? 0;
    const destinations = places.map(({ instanceUuid, host, spec }) => {
      const selected = this.#selection(instanceUuid, host, spec.resources);
      return { instanceUuid, selected, alternates: [], claimToken };
    });
    return { destinations, noValidHost: undefined, refusedInstanceUuid: '' };
  }

  /** As schedulers do it: the instance's claim passes to the migration, in the commit that claims its destination. */
  async #selectForMove(instanceUuid: string, spec: RequestSpec, { migrationUuid, claimToken, sourceHost }: Move) {
    const [held, former] = await Promise.all(
      [instanceUuid, migrationUuid].map(async (uuid) => (await this.placement.consumers([uuid]))[0]),
    );
    const found = (host: string, token: number) => {
      const selected = this.#selection(instanceUuid, host, spec.resources);
      return { destinations: [{ instanceUuid, selected, alternates: [], claimToken: token }], noValidHost: undefined };
    };
    const hostOfHeld = hostOf(Object.keys(held?.allocations ?? {})[0] ?? '');
    if (held && former?.claimToken === held.claimToken) return found(hostOfHeld, held.claimToken);
    const isInPlace =
      held &&
      isDeepStrictEqual(held.allocations, this.#requestOn(instanceUuid, sourceHost, spec.resources).allocations);
    if (isInPlace && held.claimToken > claimToken) return found(sourceHost, held.claimToken);
    for (const host of this.hosts.filter((one) => !spec.ignoreHosts.includes(one))) {
      if (held?.claimToken !== claimToken) break;
      if (spec.forceHosts.length > 0 && !spec.forceHosts.includes(host)) continue;
      const { projectId, userId, allocations } = held;
      const request = this.#requestOn(instanceUuid, host, spec.resources);
      const kept = keptForMove(allocations, request.allocations, host === sourceHost);
      const who = { projectId, userId, consumerType: MIGRATION_CONSUMER, owner: 'conductor', mappings: {} } as const;
      const consumers = [
        { ...who, uuid: migrationUuid, ...kept, expect: { kind: 'absent' } as const },
        claimWrite(request, { kind: 'claim', claimToken }),
      ];
      const result = await this.placement.commit({ kind: 'write_allocations', atMs: this.clock.now(), consumers });
      if (result.kind === 'committed') return found(host, result.claimToken);
    }
    return { destinations: [], noValidHost: { ...NONE, summary: '0 of 3 hosts fit', quotaExceeded: [] } };
  }

  /** As the scheduler carries it: sealed, or by reference. */
  async #alternate(instanceUuid: string, host: string): Promise<Selection> {
    const selection = this.#selection(instanceUuid, host);
    if (this.referenceTtlMs === undefined) return selection;
    const id = this.random.uuid();
    const terms = { atMs: this.clock.now(), ttlMs: this.referenceTtlMs, most: 1_000 };
    await this.placement.keepAllocationRequests([{ id, sealed: selection.allocationRequest }], terms);
    return { ...selection, allocationRequest: referenceTo(id) };
  }

  #selection(instanceUuid: string, host: string, resources = this.preferred): Selection {
    const capacities = this.sealedCapacities;
    const sealed = (request: AllocationRequest) => this.#seal(request)({ ...request, capacities });
    const allocationRequest = sealed({ ...this.#requestOn(instanceUuid, host, resources), group: this.group });
    const selection = { host, cell: 'cell1', allocationRequest, serviceHost: this.#serviceHostOf(host), epoch: 0 };
    const hasPreferred = Object.keys(this.preferred).length > 0;
    return hasPreferred
      ? { ...selection, requiredAllocationRequest: sealed(this.#requestOn(instanceUuid, host)) }
      : selection;
  }

  #requestOn(consumerUuid: string, host: string, preferred: Resources = {}): AllocationRequest {
    const projectId = this.#projects.get(consumerUuid) ?? 'project-1';
    const who = { projectId, userId: 'user-1', group: undefined, mappings: {} };
    const allocations = { [providerOf(host)]: { VCPU: 1, ...preferred } };
    if (!this.devices.has(host)) return { consumerUuid, host, allocations, ...who };
    const gpu = nestedProviderUuid(providerOf(host), 'gpu');
    const withDevice = { ...allocations, [gpu]: { [DEVICE_CLASS]: 1 } };
    return { consumerUuid, host, allocations: withDevice, ...who, mappings: { 'device:gpu': [gpu] } };
  }

  async #claimFirst(instanceUuid: string, hosts: readonly string[]) {
    for (const host of hosts) {
      const consumers = [claimWrite(this.#requestOn(instanceUuid, host, this.preferred))];
      const atMs = this.clock.now();
      const result = await this.placement.commit({ kind: 'write_allocations', atMs, withinQuota: true, consumers });
      if (result.kind === 'quota') this.quotaExceeded = result.excess;
      if (result.kind === 'committed') return { host, claimToken: result.claimToken };
    }
    return undefined;
  }
}

const NEVER = { epoch: 0, position: 0 };
const NO_VCPU = { filter: 'capacity', refused: 3, reasons: { capacity_vcpu: 3 } };
const NONE = { hostsConsidered: 3, hostsPassed: 0, filters: [NO_VCPU], claimConflicts: 0 };

export function providerOf(host: string): string {
  return `00000000-0000-4000-8000-0000000000${host.slice(1).padStart(2, '0')}`;
}

function hostOf(providerUuid: string): string {
  return `h${Number(providerUuid.slice(-2))}`;
}
