import { setMaxListeners } from 'node:events';
import type { Bus } from '../bus/port';
import { callMethod, castTyped } from '../bus/typed-calls';
import { type CellView, listCellsMethod, setCellStateMethod } from '../contracts/cell-methods';
import type { Method } from '../contracts/codec';
import { buildRequestCodec, terminateInstanceCodec } from '../contracts/conductor';
import { explainInstanceMethod, explainMethod } from '../contracts/diagnosis';
import { listDoubtsMethod, settleDoubtMethod } from '../contracts/doubts';
import { createFlavorMethod, deleteFlavorMethod, listFlavorsMethod, updateFlavorMethod } from '../contracts/flavors';
import {
  clearHostFailuresMethod,
  deleteHostMethod,
  listHostsMethod,
  listOverAllocatedMethod,
  setHostEnabledMethod,
} from '../contracts/hosts';
import { listInstancesMethod } from '../contracts/instance';
import { MAX_USAGE_PROJECTS } from '../contracts/limits';
import type {
  CreateFlavorRequest,
  Decision,
  ExplainRequest,
  ExplainResponse,
  HealAllocationResponse,
  HostSummary,
  InstanceEvent,
  InstanceOperation,
  InstanceView,
  ListDoubtsResponse,
  ListInstancesRequest,
  MoveInstancesRequest,
  MoveInstancesResponse,
  NodeView,
  OverAllocated,
  ProjectQuotaView,
  ProjectUsageView,
  SetQuotaRequest,
  SettleDoubtRequest,
  UpdateFlavorRequest,
} from '../contracts/messages';
import { moveInstancesMethod } from '../contracts/moves';
import { healAllocationMethod, listNodesMethod } from '../contracts/nodes';
import { operateInstanceMethod } from '../contracts/operations';
import { agentQueue, BUILD_REQUESTS, type QueueAddress, RPC_CONDUCTOR, RPC_SCHEDULER } from '../contracts/queues';
import { listQuotasMethod, listUsageMethod, setQuotaMethod, unsetQuotaMethod } from '../contracts/quotas';
import { requestSpecCodec } from '../contracts/request-spec';
import type { CellState } from '../domain/cells/cell-summary';
import type { Clock } from '../domain/clock';
import { BerthError, isRetryable } from '../domain/errors';
import { resolveSpec } from '../domain/extra-specs/resolve';
import type { Flavor } from '../domain/flavor';
import type { InstanceState } from '../domain/instance';
import { type Admission, NO_ADMISSION } from '../domain/queueing/admission';
import type { Random } from '../domain/random';
import { type RequestSpec, requestSpec } from '../domain/request-spec';
import { retryWithBackoff } from '../runtime/backoff';
import { inTrace, type SpanFacts } from '../runtime/tracing';
import { type EventFilter, listen } from './event-stream';
import { AggregateCalls, type AskScheduler, GroupCalls } from './grouping';
import { eventOf, type InstanceWatch, watchInstances } from './instance-watch';
import { type NodeOrder, operateNode } from './operate-node';

/** What to build. */
export interface BuildOptions {
  /** What each instance needs; what is not given does not matter. */
  readonly spec: SpecFields;
  /** Instances, all placed or none: 1 when not given. */
  readonly count?: number;
  /**
   * Makes them a gang: as many as find a host are built, none if fewer than this do, and when fewer than this can become
   * ACTIVE any more, what was built of the others is destroyed. At most the count.
   */
  readonly minCount?: number;
  /** For people; with a count above 1 they are called name-1, name-2, ... */
  readonly name?: string;
  /** Makes a request that is sent again recognisable, by another process too; a new UUID when not given. */
  readonly requestId?: string;
  /** When it was asked for first: with a request id that is given, so that a copy is told from a new request. */
  readonly publishedAtMs?: number;
  /** Of the instances, as many as the count; new ones when not given. */
  readonly instanceUuids?: readonly string[];
  /** How they wait for capacity, whom they give way to, and how long they live; what is not given is as ever. */
  readonly admission?: Partial<Admission> | undefined;
}

/**
 * The fields of a request spec that every request has, and any others. It names a flavor, of version 0, or says itself which
 * resources and extra specs it means.
 */
export type SpecFields = Partial<RequestSpec> & {
  readonly projectId: string;
  readonly userId: string;
};

/** A request that the broker has: each of its instances will end ACTIVE or in ERROR. */
export interface Build {
  readonly requestId: string;
  readonly instanceUuids: readonly string[];
}

/** Of moves. */
export interface MoveOptions {
  /** What a resize is to: resources and extra specs, or a flavor. */
  readonly resizeTo?: Partial<Pick<RequestSpec, 'resources' | 'extraSpecs' | 'flavor'>> | undefined;
  /** Where a migration is to go; any host when not given. */
  readonly targetHost?: string | undefined;
  /** Of a cold migration, from a client of the top: the cell to build it in anew. */
  readonly targetCell?: string | undefined;
  /** Confirms a resize or a cold migration by itself, so long after it has arrived. */
  readonly confirmAfterMs?: number | undefined;
}

export interface WaitOptions {
  /** No limit when not given. */
  readonly timeoutMs?: number | undefined;
}

/** What a client works with, besides the bus. */
export interface ClientParts {
  readonly clock: Clock;
  readonly random: Random;
  /** How long a call waits for its answer. */
  readonly timeoutMs: number;
  /** How long a request is sent again while the broker or Berth is away; 0 for once only. */
  readonly retryForMs: number;
  /** Whose user it is, and all that it sees; undefined for an operator. */
  readonly projectId?: string | undefined;
}

/** What is to be changed of a quota: what is not given stays. */
export type QuotaChange = Partial<Omit<SetQuotaRequest, 'projectId' | 'isDefault'>>;

/** The states in which a build has ended. */
const BUILT = ['active', 'error'] as const;
/** The states in which one of a gang that has failed ends. */
const UNDONE = ['error', 'deleted'] as const;
/** The states in which an operation has ended. A start that failed ends where it began. */
const OPERATED: Readonly<Record<InstanceOperation, readonly InstanceState[]>> = {
  stop: ['stopped', 'error', 'deleted'],
  start: ['active', 'stopped', 'error', 'deleted'],
  evacuate: ['active', 'stopped', 'unknown', 'error', 'deleted'],
  shelve: ['shelved_offloaded', 'error', 'deleted'],
  unshelve: ['active', 'shelved_offloaded', 'error', 'deleted'],
  resize: ['verify_resize', 'active', 'stopped', 'error', 'deleted'],
  migrate: ['verify_resize', 'active', 'stopped', 'error', 'deleted'],
  live_migrate: ['active', 'stopped', 'error', 'deleted'],
  confirm: ['active', 'stopped', 'error', 'deleted'],
  revert: ['active', 'stopped', 'error', 'deleted'],
};
/** Rows in a page of an answer. */
const PAGE = 500;
const EVERY_INSTANCE = { instanceUuid: '', requestId: '', projectId: '', state: undefined, host: '' };
const NO_CHANGE = { version: 0, description: undefined, setExtraSpecs: {}, unsetExtraSpecs: [] };
const NO_LIMITS = { version: 0, limits: {}, borrowLimits: {}, cohort: undefined };
const BACKOFF = { firstMs: 50, maxMs: 3_000 };

/**
 * A program's hold on Berth: asks for builds, waits for them, lists, explains, and listens. Every request is idempotent
 * and is sent again, with growing pauses, while the broker or Berth is away.
 *
 * All methods throw BerthErrors: `invalid_argument` for what can't be meant; `unavailable` and `deadline_exceeded` when
 * nobody answered in time, and the same request may be sent again; what the service itself refuses, with its reason.
 */
export class Client {
  /** Host aggregates and zones. */
  readonly aggregates: AggregateCalls;
  /** Server groups. */
  readonly groups: GroupCalls;
  #watch: Promise<InstanceWatch> | undefined;
  /** What `build` has asked for, and until when it may not be there yet, because no conductor has taken its request. Oldest first. */
  readonly #asked = new Map<string, { readonly requestId: string; readonly untilMs: number }>();
  readonly #closing = new AbortController();

  constructor(
    private readonly bus: Bus,
    private readonly parts: ClientParts,
  ) {
    const ask: AskScheduler = (method, request) => this.#call(RPC_SCHEDULER, method, request);
    this.aggregates = new AggregateCalls(ask, parts.random);
    this.groups = new GroupCalls(ask);
  }

  /** Asks for instances. Resolves when the broker has confirmed the request. */
  async build(options: BuildOptions): Promise<Build> {
    const build = this.#named(options);
    await inTrace(spanOf(build), () => this.#publish(build, options));
    this.#noteAsked(build);
    return build;
  }

  /**
   * Asks for instances and waits until each is ACTIVE or in ERROR.
   *
   * @throws BerthError `deadline_exceeded / not_settled`; the error by which Berth refused the request.
   */
  async buildAndWait(options: BuildOptions, { timeoutMs }: WaitOptions = {}): Promise<InstanceEvent[]> {
    const build = this.#named(options);
    return inTrace(spanOf(build), () => this.#buildAndWait(build, options, timeoutMs));
  }

  #buildAndWait(build: Build, options: BuildOptions, timeoutMs: number | undefined): Promise<InstanceEvent[]> {
    const { requestId, instanceUuids } = build;
    return this.#whileWatching(async (watch, signal) => {
      const ends = instanceUuids.map((uuid) => watch.until(uuid, BUILT, { timeoutMs, requestId, signal }));
      const [events] = await Promise.all([Promise.all(ends), this.#publish(build, options)]);
      const activeCount = events.filter(({ state }) => state === 'active').length;
      if (activeCount >= (options.minCount ?? 0)) return events;
      // A gang that has failed: those that were ACTIVE will not stay so.
      return Promise.all(
        events.map(async (event) => {
          return event.state === 'error' ? event : this.wait(event.instanceUuid, UNDONE, { timeoutMs });
        }),
      );
    });
  }

  /** Asks for the end of an instance. Resolves when the broker has confirmed the request. */
  async terminate(instanceUuid: string): Promise<void> {
    await this.#terminate(instanceUuid, this.parts.random.uuid());
  }

  /**
   * Asks for the end of an instance and waits until it is gone.
   *
   * @throws BerthError `deadline_exceeded / not_settled`, `not_found / no_such_instance`.
   */
  terminateAndWait(instanceUuid: string, { timeoutMs }: WaitOptions = {}): Promise<InstanceEvent> {
    return this.#whileWatching(async (watch, signal) => {
      const requestId = this.parts.random.uuid();
      const gone = watch.until(instanceUuid, ['deleted'], { timeoutMs, requestId, signal });
      const [event] = await Promise.all([gone, this.#terminate(instanceUuid, requestId)]);
      return event;
    });
  }

  /**
   * Stops an instance, which keeps its host and what it holds there, starts it again, or, for operators, evacuates it: builds
   * it on another host when its own is dead; shelves and unshelves it; resizes it, or, for operators, migrates it, and confirms
   * or reverts that. Resolves when that is on record; it is done when the instance is in a state in which that ends.
   *
   * @throws BerthError `not_found / no_such_instance`; `failed_precondition / instance_state` when it is in no state for it,
   *   `/ instance_changed` when somebody else has changed it meanwhile, `/ host_alive` when its host is not dead.
   */
  async operate(
    instanceUuid: string,
    operation: InstanceOperation,
    { resizeTo, targetHost, targetCell, confirmAfterMs }: MoveOptions = {},
  ): Promise<InstanceView> {
    // Of what is seen now: a copy of the call that comes late changes nothing.
    const { version, projectId, userId } = await this.instance(instanceUuid);
    const spec = resizeTo && requestSpec(resizeTo.resources ?? {}, { projectId, userId, ...resizeTo });
    const request = { instanceUuid, operation, version, resizeTo: spec, targetHost, targetCell, confirmAfterMs };
    return (await this.#call(RPC_CONDUCTOR, operateInstanceMethod, request)).instance;
  }

  /**
   * Has several instances migrated together: a destination is claimed for each, all at once or for none; or says where they would go
   * (`dryRun`). Then each runs where it was until `operate` asks for its move, with no target, or reverts it; `plan` is a name by which
   * they are known until then. For operators.
   *
   * @returns no moves when one has no host: which, and why
   * @throws BerthError `not_found / no_such_instance`; `failed_precondition / instance_state` of one that can not be moved now.
   */
  moveInstances(
    operation: MoveInstancesRequest['operation'],
    moves: MoveInstancesRequest['moves'],
    {
      leaveHosts = [],
      dryRun = false,
      plan,
    }: Partial<Pick<MoveInstancesRequest, 'leaveHosts' | 'dryRun' | 'plan'>> = {},
  ): Promise<MoveInstancesResponse> {
    return this.#call(RPC_CONDUCTOR, moveInstancesMethod, { operation, moves, leaveHosts, dryRun, plan });
  }

  /** As `operate`, and waits until it is done. @throws BerthError also `deadline_exceeded / not_settled`. */
  async operateAndWait(
    instanceUuid: string,
    operation: InstanceOperation,
    options: WaitOptions & MoveOptions = {},
  ): Promise<InstanceEvent> {
    const { clock } = this.parts;
    const { timeoutMs } = options;
    const untilMs = clock.elapsed() + (timeoutMs ?? 0);
    const { version } = await this.operate(instanceUuid, operation, options);
    for (;;) {
      const left = timeoutMs === undefined ? {} : { timeoutMs: Math.max(0, untilMs - clock.elapsed()) };
      const event = await this.wait(instanceUuid, OPERATED[operation], left);
      // Events of what was before may still be on their way.
      if (event.version >= version) return event;
    }
  }

  /**
   * Waits until an instance is in one of these states, as it may be already, whoever asked for it. One that this client has asked
   * for by `build` may come as late as a request is sent again.
   *
   * @throws BerthError `deadline_exceeded / not_settled`, `not_found / no_such_instance`.
   */
  wait(
    instanceUuid: string,
    states: readonly InstanceState[] = BUILT,
    { timeoutMs }: WaitOptions = {},
  ): Promise<InstanceEvent> {
    return this.#whileWatching(async (watch, signal) => {
      const { requestId, untilMs = 0 } = this.#asked.get(instanceUuid) ?? {};
      const reached = watch.until(instanceUuid, states, { timeoutMs, requestId, signal });
      const { clock, random } = this.parts;
      const mayCome = (thrown: unknown) => BerthError.from(thrown).code === 'not_found' && clock.elapsed() < untilMs;
      const retry = { ...BACKOFF, clock, random, signal, isRetryable: mayCome, onFailure() {} };
      const isThere = retryWithBackoff(() => this.instance(instanceUuid), retry).then((instance) => {
        if (states.includes(instance.state)) return eventOf(instance);
        return reached;
      });
      return Promise.race([reached, isThere]);
    });
  }

  /** One instance. @throws BerthError `not_found / no_such_instance`. */
  async instance(instanceUuid: string): Promise<InstanceView> {
    const [found] = await this.instances({ instanceUuid }, 1);
    if (found === undefined) throw noSuchInstance(instanceUuid);
    return found;
  }

  /** At most `most` instances that match, ordered by UUID. */
  instances(query: Partial<ListInstancesRequest> = {}, most = Number.POSITIVE_INFINITY): Promise<InstanceView[]> {
    return allPages(most, async (last: InstanceView | undefined, limit) => {
      const request = { ...EVERY_INSTANCE, ...query, marker: last?.uuid ?? '', limit };
      return (await this.#call(RPC_CONDUCTOR, listInstancesMethod, request)).instances;
    });
  }

  /** What happens to instances, from now on and in order, until the signal aborts or the client is closed. */
  events(filter: EventFilter = {}, signal?: AbortSignal): AsyncIterable<InstanceEvent> {
    const ends = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    return listen(this.bus, { ...filter, projectId: filter.projectId ?? this.parts.projectId }, ends);
  }

  /** All hosts, ordered by name; or the named one. @throws BerthError `not_found / no_such_host`. */
  hosts(host = ''): Promise<HostSummary[]> {
    return allPages(Number.POSITIVE_INFINITY, async (last: HostSummary | undefined, limit) => {
      const request = { host, marker: last?.host ?? '', limit };
      return (await this.#call(RPC_SCHEDULER, listHostsMethod, request)).hosts;
    });
  }

  /** The cells of the fleet, from a client of its top; or the named one. @throws BerthError `not_found / no_such_cell`. */
  async cells(cell = ''): Promise<readonly CellView[]> {
    return (await this.#call(RPC_SCHEDULER, listCellsMethod, { cell })).cells;
  }

  /** Whether the top gives a cell new builds, from a client of the top. What is in the cell goes on. */
  async setCellState(cell: string, state: CellState, reason = ''): Promise<CellView> {
    return (await this.#call(RPC_SCHEDULER, setCellStateMethod, { cell, state, reason })).cell;
  }

  /** Takes a host out of service, or back; what runs there stays. */
  async setHostEnabled(host: string, enabled: boolean, reason = ''): Promise<HostSummary> {
    return (await this.#call(RPC_SCHEDULER, setHostEnabledMethod, { host, enabled, reason })).host;
  }

  /** Ends the quarantine of a host that kept failing: its failures in a row are forgotten. For operators. */
  async clearHostFailures(host: string): Promise<HostSummary> {
    return (await this.#call(RPC_SCHEDULER, clearHostFailuresMethod, { host })).host;
  }

  /**
   * Gives an instance that has a node of bare metal by processors, memory and disk the node's class instead; it runs on. For operators.
   *
   * @throws BerthError `not_found / no_such_instance`; `failed_precondition / instance_state`, `/ no_node`, `/ flavor_without_class`;
   *   `aborted / instance_changed`, `/ claim_changed`: ask again.
   */
  healAllocation(instanceUuid: string): Promise<HealAllocationResponse> {
    return this.#call(RPC_CONDUCTOR, healAllocationMethod, { instanceUuid });
  }

  /**
   * Deletes a host that is dead and empty, with its providers. One whose agent comes back is there again with its first report.
   * With its queue, for a host that is gone for good: what it is still to destroy goes with it, and an agent that was enrolled
   * must be enrolled again, because that makes its queue. For operators.
   *
   * @throws BerthError `failed_precondition / host_has_instances`, `/ host_alive`, `/ host_in_use`; `not_found / no_such_host`.
   */
  async deleteHost(host: string, { withQueue = false } = {}): Promise<void> {
    const { serviceHost } = await this.#call(RPC_CONDUCTOR, deleteHostMethod, { host });
    if (!withQueue) return;
    // The queue of an agent that carries other hosts has its consumer.
    await this.bus.remove(agentQueue(serviceHost).name).catch((thrown: unknown) => {
      if (BerthError.from(thrown).reason !== 'queue_in_use') throw thrown;
    });
  }

  /** All nodes of bare metal, ordered by name; or the named one. For operators. @throws BerthError `not_found / unknown_node`. */
  nodes(host = ''): Promise<NodeView[]> {
    return allPages(Number.POSITIVE_INFINITY, async (last: NodeView | undefined, limit) => {
      const request = { host, marker: last?.host ?? '', limit };
      return [...(await this.#call(RPC_SCHEDULER, listNodesMethod, request)).nodes];
    });
  }

  /** Has the agent that manages a node do something with it, and waits until it has begun. For operators. */
  operateNode(host: string, order: NodeOrder): Promise<NodeView> {
    const { clock, timeoutMs } = this.parts;
    return operateNode({ bus: this.bus, clock, timeoutMs, show: (name) => this.nodes(name) }, host, order);
  }

  /** What is in doubt, and when the store may have lost writes. For operators. */
  doubts(): Promise<ListDoubtsResponse> {
    return this.#call(RPC_CONDUCTOR, listDoubtsMethod, {});
  }

  /**
   * An operator's word on an instance in doubt.
   *
   * @throws BerthError `not_found / no_such_doubt`, `failed_precondition / has_record`.
   */
  async settleDoubt(request: SettleDoubtRequest): Promise<void> {
    await this.#call(RPC_CONDUCTOR, settleDoubtMethod, request);
  }

  /** What is allocated above the capacity of its provider. For operators. */
  async overAllocated(): Promise<readonly OverAllocated[]> {
    return (await this.#call(RPC_SCHEDULER, listOverAllocatedMethod, {})).overAllocated;
  }

  /**
   * Where a request would go, and what refuses the other hosts. A `host` asks about that one alone. A flavor is explained as
   * it is now. One that may preempt is told whose place it would take; one that may displace, for operators, which instances
   * would have to be moved away.
   */
  async explain(
    spec: SpecFields,
    { host = '', limit = 10, ...asked }: Partial<Omit<ExplainRequest, 'requestSpec'>> = {},
  ): Promise<ExplainResponse> {
    const request = { requestSpec: encodedSpec(await this.#spelledOut(spec)), host, limit, ...asked };
    return this.#call(RPC_SCHEDULER, explainMethod, request);
  }

  /** What was decided for an instance last, and why. @throws BerthError `not_found / no_such_decision`. */
  async explainInstance(instanceUuid: string): Promise<Decision> {
    return (await this.#call(RPC_SCHEDULER, explainInstanceMethod, { instanceUuid })).decision;
  }

  /** All flavors, by name; or the named one. @throws BerthError `not_found / no_such_flavor`. */
  async flavors(name = ''): Promise<readonly Flavor[]> {
    return (await this.#call(RPC_CONDUCTOR, listFlavorsMethod, { name })).flavors;
  }

  /** Adds a flavor. @throws BerthError `already_exists / flavor_exists`. */
  async createFlavor(request: CreateFlavorRequest): Promise<Flavor> {
    return (await this.#call(RPC_CONDUCTOR, createFlavorMethod, request)).flavor;
  }

  /** Changes a flavor's extra specs or description for what is built from now on. */
  async updateFlavor(name: string, change: Partial<Omit<UpdateFlavorRequest, 'name'>>): Promise<Flavor> {
    return (await this.#call(RPC_CONDUCTOR, updateFlavorMethod, { ...NO_CHANGE, ...change, name })).flavor;
  }

  /** Takes a flavor away; instances built from it stay. Answers what it was. */
  async deleteFlavor(name: string): Promise<Flavor> {
    return (await this.#call(RPC_CONDUCTOR, deleteFlavorMethod, { name })).flavor;
  }

  /** The quotas of all projects that have one or hold something, and what they hold; or of the named one. */
  async quotas(projectId = ''): Promise<ProjectQuotaView[]> {
    return allPages(Number.POSITIVE_INFINITY, async (last: ProjectQuotaView | undefined, limit) => {
      const request = { projectId, marker: last?.projectId ?? '', limit };
      return (await this.#call(RPC_SCHEDULER, listQuotasMethod, request)).projects;
    });
  }

  /** The limits of all that have none of their own. */
  async defaultLimits(): Promise<Readonly<Record<string, number>>> {
    const request = { projectId: this.parts.projectId ?? '', marker: '', limit: 1 };
    return (await this.#call(RPC_SCHEDULER, listQuotasMethod, request)).defaultLimits;
  }

  /** Sets limits of a project, '' for the default; those that are not named stay. For operators. */
  async setQuota(projectId: string, change: QuotaChange): Promise<ProjectQuotaView> {
    const request = { ...NO_LIMITS, ...change, projectId, isDefault: projectId === '' };
    return (await this.#call(RPC_SCHEDULER, setQuotaMethod, request)).quota;
  }

  /** Takes limits of a project away, '' for the default; without classes the whole quota. For operators. */
  async unsetQuota(projectId: string, classes: readonly string[] = []): Promise<ProjectQuotaView> {
    const request = { projectId, isDefault: projectId === '', version: 0, classes };
    return (await this.#call(RPC_SCHEDULER, unsetQuotaMethod, request)).quota;
  }

  /** What projects held on each day, from that of `sinceMs` on, in unit-seconds; or the named project. */
  async usage(sinceMs: number, projectId = ''): Promise<ProjectUsageView[]> {
    return allPages(
      Number.POSITIVE_INFINITY,
      async (last: ProjectUsageView | undefined, limit) => {
        const request = { projectId, sinceMs, marker: last?.projectId ?? '', limit };
        return (await this.#call(RPC_SCHEDULER, listUsageMethod, request)).projects;
      },
      MAX_USAGE_PROJECTS,
    );
  }

  /** Ends what waits and listens (`aborted / interrupted`), and closes the connection. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watch?.then((watch) => watch.close()).catch(() => {});
    await this.bus.close();
  }

  #noteAsked({ requestId, instanceUuids }: Build): void {
    const nowMs = this.parts.clock.elapsed();
    for (const [uuid, { untilMs }] of this.#asked) {
      if (untilMs > nowMs) break;
      this.#asked.delete(uuid);
    }
    const untilMs = nowMs + this.parts.retryForMs;
    for (const uuid of instanceUuids) this.#asked.set(uuid, { requestId, untilMs });
  }

  #named({ requestId = this.parts.random.uuid(), count = 1, instanceUuids }: BuildOptions): Build {
    const chosen = () => Array.from({ length: count }, () => this.parts.random.uuid());
    return { requestId, instanceUuids: instanceUuids ?? chosen() };
  }

  async #publish({ requestId, instanceUuids }: Build, options: BuildOptions) {
    const { spec, count = 1, name = 'instance', publishedAtMs = this.parts.clock.now(), minCount = 0 } = options;
    const admission = options.admission && { ...NO_ADMISSION, ...options.admission };
    const about = { count, name, instanceUuids, publishedAtMs, minCount, admission };
    const request = { requestId, requestSpec: encodedSpec(spec), ...about };
    // Refuses here what the conductor would refuse later.
    const asked = requestSpecCodec.decode(buildRequestCodec.decode(buildRequestCodec.encode(request)).requestSpec);
    if (asked.flavor === undefined) resolveSpec(asked, 'request_spec');
    const id = { id: requestId };
    await this.#persistently(() => castTyped(this.bus, BUILD_REQUESTS, buildRequestCodec, request, id));
  }

  /** @param id  by which a refusal names the request */
  async #terminate(instanceUuid: string, id: string): Promise<void> {
    const message = { instanceUuid, projectId: this.parts.projectId ?? '' };
    await this.#persistently(() => castTyped(this.bus, BUILD_REQUESTS, terminateInstanceCodec, message, { id }));
  }

  /** A request that names a flavor, with what the flavor says now. */
  async #spelledOut(spec: SpecFields): Promise<SpecFields> {
    if (spec.flavor?.version !== 0) return spec;
    const [flavor] = await this.flavors(spec.flavor.name);
    if (flavor === undefined) return spec;
    const { name, version, resources, extraSpecs } = flavor;
    return { ...spec, flavor: { name, version }, resources, extraSpecs };
  }

  #call<Q, A>(queue: QueueAddress, method: Method<Q, A>, request: Q): Promise<A> {
    const { timeoutMs } = this.parts;
    return this.#persistently(() => callMethod(this.bus, queue, method, request, { timeoutMs }));
  }

  /** Waits that are left when `work` has ended, such as by an error, end with it. */
  async #whileWatching<T>(work: (watch: InstanceWatch, signal: AbortSignal) => Promise<T>): Promise<T> {
    const ended = new AbortController();
    // Each instance that is waited for listens.
    setMaxListeners(0, ended.signal);
    try {
      return await work(await this.#watching(), ended.signal);
    } finally {
      ended.abort();
    }
  }

  /** The one watch of this client, from when it is first needed. */
  #watching(): Promise<InstanceWatch> {
    const read = (instanceUuid: string) => this.instances({ instanceUuid }, 1);
    this.#watch ??= watchInstances(this.bus, this.parts, read).catch((thrown: unknown) => {
      this.#watch = undefined;
      throw thrown;
    });
    return this.#watch;
  }

  /** Does it again, with growing pauses, while that may help. */
  #persistently<T>(send: () => Promise<T>): Promise<T> {
    const { clock, random, retryForMs } = this.parts;
    const untilMs = clock.elapsed() + retryForMs;
    return retryWithBackoff(send, {
      ...BACKOFF,
      clock,
      random,
      signal: this.#closing.signal,
      isRetryable: (thrown) => clock.elapsed() < untilMs && mayComeBack(BerthError.from(thrown)),
      onFailure: () => {},
    });
  }
}

/** A broker that was built anew has no queues until the services have declared them again. */
function mayComeBack(error: BerthError): boolean {
  return isRetryable(error) || error.reason === 'no_such_queue';
}

/** The error for an instance, or several, that Berth does not know. */
export function noSuchInstance(uuid: string): BerthError {
  return new BerthError('not_found', 'no_such_instance', `there is no instance ${uuid}`);
}

function encodedSpec({ resources = {}, ...rest }: SpecFields): Uint8Array {
  return requestSpecCodec.encode(requestSpec(resources, rest));
}

async function allPages<T>(
  limit: number,
  read: (last: T | undefined, pageLimit: number) => Promise<readonly T[]>,
  pageSize = PAGE,
): Promise<T[]> {
  const rows: T[] = [];
  for (;;) {
    const pageLimit = Math.min(pageSize, limit - rows.length);
    const page = await read(rows.at(-1), pageLimit);
    rows.push(...page);
    if (page.length < pageLimit || rows.length >= limit) return rows;
  }
}

function spanOf({ requestId, instanceUuids }: Build): SpanFacts {
  const attributes = { 'berth.request.id': requestId, 'berth.instances': instanceUuids.length };
  return { name: 'build', kind: 'internal', attributes };
}
