import { setMaxListeners } from 'node:events';
import type { Bus, Subscription } from '../bus/port';
import { callMethod, castTyped } from '../bus/typed-calls';
import { type CapacityWantedEvent, capacityWantedCodec } from '../contracts/capacity-wanted';
import { type CellView, listCellsMethod, setCellStateMethod } from '../contracts/cell-methods';
import type { Method } from '../contracts/codec';
import { buildRequestCodec, terminateInstanceCodec } from '../contracts/conductor';
import {
  type Decision,
  type ExplainRequest,
  type ExplainResponse,
  explainInstanceMethod,
  explainMethod,
} from '../contracts/diagnosis';
import {
  type ListDoubtsResponse,
  listDoubtsMethod,
  type SettleDoubtRequest,
  settleDoubtMethod,
} from '../contracts/doubts';
import {
  type CreateFlavorRequest,
  createFlavorMethod,
  deleteFlavorMethod,
  listFlavorsMethod,
  type UpdateFlavorRequest,
  updateFlavorMethod,
} from '../contracts/flavors';
import {
  deleteGuaranteeMethod,
  type GuaranteeStatus,
  type GuaranteeTerms,
  type ListGuaranteesResponse,
  listGuaranteesMethod,
  setGuaranteeMethod,
} from '../contracts/guarantees';
import {
  clearHostFailuresMethod,
  deleteHostMethod,
  type HostSummary,
  listHostsMethod,
  listOverAllocatedMethod,
  type OverAllocated,
  setDeviceTaintMethod,
  setHostEnabledMethod,
} from '../contracts/hosts';
import {
  type InstanceEvent,
  type InstanceView,
  type ListInstancesRequest,
  listInstancesMethod,
} from '../contracts/instance';
import { MAX_PAGE, MAX_USAGE_PROJECTS } from '../contracts/limits';
import { checkCountOfAll, kindsOf, minimumOf } from '../contracts/member-kinds';
import type { MoveInstancesRequest, MoveInstancesResponse } from '../contracts/moves';
import { moveInstancesMethod } from '../contracts/moves';
import { type HealAllocationResponse, healAllocationMethod, listNodesMethod, type NodeView } from '../contracts/nodes';
import { type InstanceOperation, operateInstanceMethod } from '../contracts/operations';
import {
  agentQueue,
  BUILD_REQUESTS,
  CAPACITY_TOPIC,
  type QueueAddress,
  RPC_CONDUCTOR,
  RPC_SCHEDULER,
} from '../contracts/queues';
import {
  type FairShareView,
  type ListFairSharesRequest,
  type ListFairSharesResponse,
  type ListQuotasRequest,
  type ListQuotasResponse,
  type ListUsageRequest,
  type ListUsageResponse,
  listFairSharesMethod,
  listQuotasMethod,
  listUsageMethod,
  type ProjectQuotaView,
  type ProjectUsageView,
  type SetQuotaRequest,
  setQuotaMethod,
  type UsageBy,
  type UsageShareView,
  unsetQuotaMethod,
} from '../contracts/quotas';
import { requestSpecCodec } from '../contracts/request-spec';
import {
  createReservationMethod,
  deleteReservationMethod,
  listReservationsMethod,
  type ReservationStatus,
  type ReservationTerms,
} from '../contracts/reservations';
import type { CellState } from '../domain/cells/cell-summary';
import type { Clock } from '../domain/clock';
import { BerthError, invalidArgument, isRetryable } from '../domain/errors';
import { resolveSpec } from '../domain/extra-specs/resolve';
import type { Flavor } from '../domain/flavor';
import { INSTANCE_STATES, type InstanceState, type OnLoss } from '../domain/instance';
import { type Admission, NO_ADMISSION } from '../domain/queueing/admission';
import type { Random } from '../domain/random';
import { type RequestSpec, requestSpec } from '../domain/request-spec';
import type { Within } from '../domain/server-group';
import { retryWithBackoff } from '../runtime/backoff';
import { inTrace, type SpanFacts } from '../runtime/tracing';
import { type EventFilter, listen } from './event-stream';
import { AggregateCalls, type AskScheduler, GroupCalls } from './grouping';
import { eventOf, type InstanceWatch, watchInstances } from './instance-watch';
import { type NodeOrder, operateNode } from './operate-node';

export interface BuildOptions {
  /** Requirements of each instance; omitted fields require nothing. */
  readonly spec: SpecFields;
  /** Number of instances, all placed or none; default 1. */
  readonly count?: number;
  /**
   * Makes the instances a gang: as many as find a host are built, none if fewer than this do. When fewer than this can
   * still become ACTIVE, the built ones are destroyed. At most `count`.
   */
  readonly minCount?: number;
  /**
   * Members of the gang with specs of their own, after the `count` first ones: all find a host in one decision or none
   * does, and each kind reaches its minimum or nothing stays.
   */
  readonly furtherMembers?: readonly FurtherMembers[] | undefined;
  /** For a gang: what becomes of it when members that were ACTIVE are lost; default: each goes its own way. */
  readonly onLoss?: OnLoss | undefined;
  /**
   * Keeps all of the request in one domain, such as a rack, by a group of its own; or, where the spec has a group with
   * a policy, by that.
   */
  readonly within?: Within | undefined;
  /** Display name; with a count above 1 the instances are called name-1, name-2, ... */
  readonly name?: string;
  /** Identifies a resent request, from any process; default: a new UUID. */
  readonly requestId?: string;
  /** When the request was first published; with a given request id, it tells a copy from a new request. */
  readonly publishedAtMs?: number;
  /** Uuids of the instances, `count` of them; default: new ones. */
  readonly instanceUuids?: readonly string[];
  /** Rules for waiting, preemption and lifetime; omitted fields keep their defaults. */
  readonly admission?: Partial<Admission> | undefined;
}

/** Members of a gang of one spec. */
export interface FurtherMembers {
  readonly spec: SpecFields;
  /** Default 1. */
  readonly count?: number;
  /** So many are enough; default: all. */
  readonly minCount?: number;
  readonly name?: string;
}

/** A reservation to create: its name, its window and the request of one unit. */
export type NewReservation = Omit<ReservationTerms, 'requestSpec'> & { readonly spec: SpecFields };

/**
 * A request spec with its required fields. It names a flavor, of version 0, or gives its own resources and extra specs.
 */
export type SpecFields = Partial<RequestSpec> & {
  readonly projectId: string;
  readonly userId: string;
};

/** A request that the broker has confirmed: each of its instances will end ACTIVE or in ERROR. */
export interface Build {
  readonly requestId: string;
  readonly instanceUuids: readonly string[];
}

/** Options of a move. */
export interface MoveOptions {
  /** Target of a resize: resources and extra specs, or a flavor. */
  readonly resizeTo?: Partial<Pick<RequestSpec, 'resources' | 'extraSpecs' | 'flavor'>> | undefined;
  /** Target host of a migration; default: any host. */
  readonly targetHost?: string | undefined;
  /** Target cell of a cold migration, which builds the instance anew there; for clients of the top. */
  readonly targetCell?: string | undefined;
  /** Delay after arrival until a resize or cold migration is confirmed automatically. */
  readonly confirmAfterMs?: number | undefined;
}

export interface WaitOptions {
  /** Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** Dependencies of a client besides the bus. */
export interface ClientParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Time limit of a call. */
  readonly timeoutMs: number;
  /** Time limit of resending a request while the broker or Berth is away; 0 for no retry. */
  readonly retryForMs: number;
  /** The project of the client's user, and the only one it sees; undefined for an operator. */
  readonly projectId?: string | undefined;
}

/** A change of a quota: omitted fields keep their value. */
export type QuotaChange = Partial<Omit<SetQuotaRequest, 'projectId' | 'isDefault'>>;

const BUILT = ['active', 'error'] as const;
/** The final states of a failed gang's member. */
const UNDONE = ['error', 'deleted'] as const;
/** The final states of each operation. A failed start ends where it began. */
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
/** Rows per page of an answer. */
const PAGE = 500;
const EVERY_INSTANCE = { instanceUuid: '', requestId: '', projectId: '', state: undefined, host: '' };
const NO_CHANGE = { version: 0, description: undefined, setExtraSpecs: {}, unsetExtraSpecs: [] };
const quotaOf = (projectId: string | undefined) => ({
  projectId: projectId ?? '',
  isDefault: projectId === undefined,
});
const NO_LIMITS = { version: 0, limits: {}, borrowLimits: {}, cohort: undefined };
const BACKOFF = { firstMs: 50, maxMs: 3_000 };

/** A taint of a device. */
export interface DeviceTaint {
  readonly key: string;
  /** Without one the taint is taken off. */
  readonly value?: string | undefined;
  /** True to move away who has the device and does not tolerate the taint. */
  readonly noExecute?: boolean | undefined;
}

/**
 * A client of Berth: requests builds, waits for them, lists, explains, and listens to events. Every request is
 * idempotent and is resent, with growing pauses, while the broker or Berth is away.
 *
 * All methods throw BerthErrors: `invalid_argument` for an impossible request; `unavailable` and `deadline_exceeded`
 * without an answer in time (the same request may be sent again); the service's own refusals with their reason.
 */
export class Client {
  /** Host aggregates and zones. */
  readonly aggregates: AggregateCalls;
  /** Server groups. */
  readonly groups: GroupCalls;
  #watch: Promise<InstanceWatch> | undefined;
  /**
   * Instances requested by `build`, oldest first, and the time until which they may be missing because no conductor has
   * taken the request.
   */
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

  /** The project of the client's user; undefined for an operator. */
  get projectId(): string | undefined {
    return this.parts.projectId;
  }

  /** Requests instances. Resolves when the broker has confirmed the request. */
  async build(options: BuildOptions): Promise<Build> {
    const build = this.#named(options);
    await inTrace(spanOf(build), () => this.#publish(build, options));
    this.#noteAsked(build);
    return build;
  }

  /**
   * Requests instances and waits until each is ACTIVE or in ERROR.
   *
   * @throws BerthError `deadline_exceeded / not_settled`; the error with which Berth refused the request.
   */
  async buildAndWait(options: BuildOptions, { timeoutMs }: WaitOptions = {}): Promise<InstanceEvent[]> {
    const build = this.#named(options);
    return inTrace(spanOf(build), () => this.#buildAndWait(build, options, timeoutMs));
  }

  /**
   * Requests instances and waits until a conductor has them on record. `isOnRecord` is false when none has answered in
   * time: the broker keeps the request.
   *
   * @throws BerthError  the error with which Berth refused the request.
   */
  async buildOnRecord(
    options: BuildOptions,
    { timeoutMs }: WaitOptions,
  ): Promise<{ readonly build: Build; readonly isOnRecord: boolean }> {
    const build = this.#named(options);
    const { requestId, instanceUuids } = build;
    const [first = ''] = instanceUuids;
    const isOnRecord = await inTrace(spanOf(build), () =>
      this.#whileWatching(async (watch, signal) => {
        const recorded = watch.until(first, INSTANCE_STATES, { timeoutMs, requestId, signal }).then(
          () => true,
          (thrown: unknown) => {
            if (BerthError.from(thrown).reason !== 'not_settled') throw thrown;
            return false;
          },
        );
        const [isRecorded] = await Promise.all([recorded, this.#publish(build, options)]);
        return isRecorded;
      }),
    );
    this.#noteAsked(build);
    return { build, isOnRecord };
  }

  #buildAndWait(build: Build, options: BuildOptions, timeoutMs: number | undefined): Promise<InstanceEvent[]> {
    const { requestId, instanceUuids } = build;
    return this.#whileWatching(async (watch, signal) => {
      const ends = instanceUuids.map((uuid) => watch.until(uuid, BUILT, { timeoutMs, requestId, signal }));
      const [events] = await Promise.all([Promise.all(ends), this.#publish(build, options)]);
      if (hasReachedMinimum(events, options)) return events;
      // The gang has failed: its ACTIVE members will be destroyed.
      return Promise.all(
        events.map(async (event) => {
          return event.state === 'error' ? event : this.wait(event.instanceUuid, UNDONE, { timeoutMs });
        }),
      );
    });
  }

  /** Requests the termination of an instance. Resolves when the broker has confirmed the request. */
  async terminate(instanceUuid: string): Promise<void> {
    await this.#terminate(instanceUuid, this.parts.random.uuid());
  }

  /**
   * Terminates an instance and waits until it is gone.
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
   * Stops an instance (it keeps its host and its claim) or starts it; shelves and unshelves it; resizes it, and
   * confirms or reverts that. For operators also: migrates it, or evacuates it from a dead host. Resolves when the
   * operation is on record; it is done once the instance is in one of its final states.
   *
   * @throws BerthError `not_found / no_such_instance`; `failed_precondition / instance_state` when its state forbids
   *   it, `/ instance_changed` when it changed meanwhile, `/ host_alive` when its host is not dead.
   */
  async operate(
    instanceUuid: string,
    operation: InstanceOperation,
    { resizeTo, targetHost, targetCell, confirmAfterMs }: MoveOptions = {},
  ): Promise<InstanceView> {
    // Guarded by the present version: a late copy of the call changes nothing.
    const { version, projectId, userId } = await this.instance(instanceUuid);
    const spec = resizeTo && requestSpec(resizeTo.resources ?? {}, { projectId, userId, ...resizeTo });
    const request = { instanceUuid, operation, version, resizeTo: spec, targetHost, targetCell, confirmAfterMs };
    return (await this.#call(RPC_CONDUCTOR, operateInstanceMethod, request)).instance;
  }

  /**
   * Migrates several instances together: claims a destination for each, all at once or none; with `dryRun` only names
   * the destinations. Each instance then runs where it was until `operate` starts its move, without a target, or
   * reverts it; `plan` names the set until then. For operators.
   *
   * @returns no moves when an instance has no host, with that instance and the reason
   * @throws BerthError `not_found / no_such_instance`; `failed_precondition / instance_state` for one that can't be
   *   moved now.
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

  /** Like `operate`, and waits until it is done. @throws BerthError also `deadline_exceeded / not_settled`. */
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
      // Earlier events may still arrive.
      if (event.version >= version) return event;
    }
  }

  /**
   * Waits until an instance is in one of these states, which it may be already, whoever requested it. An instance that
   * this client requested by `build` may appear as late as a request is resent.
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
    const found = (await this.instances({ instanceUuid }, 1)).find(({ uuid }) => uuid === instanceUuid);
    if (found === undefined) throw noSuchInstance(instanceUuid);
    return found;
  }

  /** At most `most` instances that match, ordered by UUID. */
  instances(query: Partial<ListInstancesRequest> = {}, most = Number.POSITIVE_INFINITY): Promise<InstanceView[]> {
    return allPages(most, async (last: InstanceView | undefined, limit) => {
      const request = { ...EVERY_INSTANCE, ...query, marker: last?.uuid ?? query.marker ?? '', limit };
      return (await this.#call(RPC_CONDUCTOR, listInstancesMethod, request)).instances;
    });
  }

  /** Events of instances, from now on and in order, until the signal aborts or the client is closed. */
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

  /** Sets whether the top gives a cell new builds; for clients of the top. Its present instances stay. */
  async setCellState(cell: string, state: CellState, reason = ''): Promise<CellView> {
    return (await this.#call(RPC_SCHEDULER, setCellStateMethod, { cell, state, reason })).cell;
  }

  /** Takes a host out of service, or back; its instances stay. */
  async setHostEnabled(host: string, enabled: boolean, reason = ''): Promise<HostSummary> {
    return (await this.#call(RPC_SCHEDULER, setHostEnabledMethod, { host, enabled, reason })).host;
  }

  /**
   * Taints a device of a host for new claims, and with `noExecute` for who has it, too; without a value takes that taint off. Returns
   * all of its taints. For operators.
   *
   * @throws BerthError `not_found / no_such_host`, `/ no_such_device`; `resource_exhausted / too_many_taints`.
   */
  async setDeviceTaint(
    host: string,
    device: string,
    { key, value = '', noExecute = false }: DeviceTaint,
  ): Promise<Readonly<Record<string, string>>> {
    return (await this.#call(RPC_SCHEDULER, setDeviceTaintMethod, { host, device, key, value, noExecute })).taints;
  }

  /** Ends the quarantine of a host with repeated failures: resets its consecutive failures. For operators. */
  async clearHostFailures(host: string): Promise<HostSummary> {
    return (await this.#call(RPC_SCHEDULER, clearHostFailuresMethod, { host })).host;
  }

  /**
   * Replaces the processors, memory and disk that an instance on a bare metal node holds by the node's class; it keeps
   * running. For operators.
   *
   * @throws BerthError `not_found / no_such_instance`; `failed_precondition / instance_state`, `/ no_node`, `/
   *   flavor_without_class`; `aborted / instance_changed`, `/ claim_changed`: ask again.
   */
  healAllocation(instanceUuid: string): Promise<HealAllocationResponse> {
    return this.#call(RPC_CONDUCTOR, healAllocationMethod, { instanceUuid });
  }

  /**
   * Deletes a dead and empty host with its providers. If its agent comes back, its first report creates it again.
   * `withQueue` is for a host that is gone for good: it also deletes the queue, with pending destroy orders, and an
   * enrolled agent must be enrolled again, which makes its queue. For operators.
   *
   * @throws BerthError `failed_precondition / host_has_instances`, `/ host_alive`, `/ host_in_use`; `not_found /
   *   no_such_host`.
   */
  async deleteHost(host: string, { withQueue = false } = {}): Promise<void> {
    const { serviceHost } = await this.#call(RPC_CONDUCTOR, deleteHostMethod, { host });
    if (!withQueue) return;
    // An agent that carries other hosts still consumes from the queue.
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

  /** Orders the agent of a node to operate on it, and waits until that has begun. For operators. */
  operateNode(host: string, order: NodeOrder): Promise<NodeView> {
    const { clock, timeoutMs } = this.parts;
    return operateNode({ bus: this.bus, clock, timeoutMs, show: (name) => this.nodes(name) }, host, order);
  }

  /** Doubts about instances, and when the store may have lost writes. For operators. */
  doubts(): Promise<ListDoubtsResponse> {
    return this.#call(RPC_CONDUCTOR, listDoubtsMethod, {});
  }

  /**
   * Settles a doubt about an instance by an operator's decision.
   *
   * @throws BerthError `not_found / no_such_doubt`, `failed_precondition / has_record`.
   */
  async settleDoubt(request: SettleDoubtRequest): Promise<void> {
    await this.#call(RPC_CONDUCTOR, settleDoubtMethod, request);
  }

  /** Allocations above the capacity of their providers. For operators. */
  async overAllocated(): Promise<readonly OverAllocated[]> {
    return (await this.#call(RPC_SCHEDULER, listOverAllocatedMethod, {})).overAllocated;
  }

  /**
   * Explains where a request would go, and why the other hosts are refused. With `host` it answers for that host alone.
   * A flavor is explained at its present version. For a request that may preempt, it names the victims; for one that
   * may displace (operators), the instances that would have to move.
   */
  async explain(
    spec: SpecFields,
    { host = '', limit = 10, ...asked }: Partial<Omit<ExplainRequest, 'requestSpec'>> = {},
  ): Promise<ExplainResponse> {
    const request = { requestSpec: encodedSpec(await this.spelledOut(spec)), host, limit, ...asked };
    return this.#call(RPC_SCHEDULER, explainMethod, request);
  }

  /** The last decision for an instance, or for a request by its id, with its reasons. @throws BerthError `not_found / no_such_decision`. */
  async explainInstance(uuid: string): Promise<Decision> {
    return (await this.#call(RPC_SCHEDULER, explainInstanceMethod, { instanceUuid: uuid })).decision;
  }

  /** All flavors, by name; or the named one. @throws BerthError `not_found / no_such_flavor`. */
  async flavors(name = ''): Promise<readonly Flavor[]> {
    return (await this.#call(RPC_CONDUCTOR, listFlavorsMethod, { name })).flavors;
  }

  /** Adds a flavor. @throws BerthError `already_exists / flavor_exists`. */
  async createFlavor(request: CreateFlavorRequest): Promise<Flavor> {
    return (await this.#call(RPC_CONDUCTOR, createFlavorMethod, request)).flavor;
  }

  /** Changes a flavor's extra specs or description for later builds. */
  async updateFlavor(name: string, change: Partial<Omit<UpdateFlavorRequest, 'name'>>): Promise<Flavor> {
    return (await this.#call(RPC_CONDUCTOR, updateFlavorMethod, { ...NO_CHANGE, ...change, name })).flavor;
  }

  /** Deletes a flavor; instances built from it stay. Returns its last content. */
  async deleteFlavor(name: string): Promise<Flavor> {
    return (await this.#call(RPC_CONDUCTOR, deleteFlavorMethod, { name })).flavor;
  }

  /** Quotas and usage of all projects that have either; or of the named one. */
  async quotas(projectId = ''): Promise<ProjectQuotaView[]> {
    return allPages(Number.POSITIVE_INFINITY, async (last: ProjectQuotaView | undefined, limit) => {
      const request = { projectId, marker: last?.projectId ?? '', limit };
      return (await this.#call(RPC_SCHEDULER, listQuotasMethod, request)).projects;
    });
  }

  /** Guarantees and whether they hold, one or all; with a flavor also how many more of it fit. For operators. */
  async guarantees(name = '', flavor?: string): Promise<ListGuaranteesResponse> {
    if (flavor === undefined) return this.#call(RPC_SCHEDULER, listGuaranteesMethod, { name });
    const [found] = await this.flavors(flavor);
    if (found === undefined) throw new BerthError('not_found', 'no_such_flavor', `there is no flavor '${flavor}'`);
    const { version, resources, extraSpecs } = found;
    const who = { projectId: this.parts.projectId ?? 'default', userId: 'operator' };
    const spec = requestSpec(resources, { ...who, flavor: { name: flavor, version }, extraSpecs });
    return this.#call(RPC_SCHEDULER, listGuaranteesMethod, { name, requestSpec: spec });
  }

  /** Sets a guarantee, instead of the one of its name. For operators. */
  async setGuarantee(guarantee: GuaranteeTerms): Promise<GuaranteeStatus> {
    const request = { guarantee: { ...guarantee, updatedAtMs: 0 } };
    return (await this.#call(RPC_SCHEDULER, setGuaranteeMethod, request)).guarantee;
  }

  /** Ends a guarantee. For operators. @throws BerthError `not_found / no_such_guarantee`. */
  async deleteGuarantee(name: string): Promise<void> {
    await this.#call(RPC_SCHEDULER, deleteGuaranteeMethod, { name });
  }

  /** Reservations, where their units are and whether each has a host, one or all. For operators. */
  async reservations(name = ''): Promise<readonly ReservationStatus[]> {
    return (await this.#call(RPC_SCHEDULER, listReservationsMethod, { name })).reservations;
  }

  /**
   * Holds capacity for a project over a window of time: one unit of the spec for each of `count` instances. For operators.
   *
   * @throws BerthError `resource_exhausted / no_room_to_reserve`; `already_exists / reservation_exists`.
   */
  async createReservation({ spec, ...terms }: NewReservation): Promise<ReservationStatus> {
    const whole = await this.spelledOut(spec);
    const reservation = { ...terms, requestSpec: requestSpec(whole.resources ?? {}, whole) };
    return (await this.#call(RPC_SCHEDULER, createReservationMethod, { reservation })).reservation;
  }

  /** Ends a reservation; its instances stay. For operators. @throws BerthError `not_found / no_such_reservation`. */
  async deleteReservation(name: string): Promise<void> {
    await this.#call(RPC_SCHEDULER, deleteReservationMethod, { name });
  }

  /** One page of quotas, of projects after the marker, and the limits of projects without their own. */
  quotasPage(request: ListQuotasRequest): Promise<ListQuotasResponse> {
    return this.#call(RPC_SCHEDULER, listQuotasMethod, request);
  }

  /** The limits of projects without their own. */
  async defaultLimits(): Promise<Readonly<Record<string, number>>> {
    const request = { projectId: this.parts.projectId ?? '', marker: '', limit: 1 };
    return (await this.#call(RPC_SCHEDULER, listQuotasMethod, request)).defaultLimits;
  }

  /** One page of what projects use and used lately, of projects after the marker. */
  fairSharesPage(request: ListFairSharesRequest): Promise<ListFairSharesResponse> {
    return this.#call(RPC_SCHEDULER, listFairSharesMethod, request);
  }

  /** Present and recent use of projects, by which those who wait are ordered; a tenant's own. */
  async fairShares(projectId = ''): Promise<Pick<ListFairSharesResponse, 'halfLifeMs' | 'shares'>> {
    let halfLifeMs = 0;
    const shares = await allPages(
      Number.POSITIVE_INFINITY,
      async (last: FairShareView | undefined, limit) => {
        const page = await this.fairSharesPage({ projectId, marker: last?.projectId ?? '', limit });
        halfLifeMs = page.halfLifeMs;
        return page.shares;
      },
      MAX_PAGE,
    );
    return { halfLifeMs, shares };
  }

  /** Sets limits of a project, undefined for the default; omitted ones stay. For operators. */
  async setQuota(projectId: string | undefined, change: QuotaChange): Promise<ProjectQuotaView> {
    const request = { ...NO_LIMITS, ...change, ...quotaOf(projectId) };
    return (await this.#call(RPC_SCHEDULER, setQuotaMethod, request)).quota;
  }

  /** Removes limits of a project, undefined for the default; without classes the whole quota. For operators. */
  async unsetQuota(projectId: string | undefined, classes: readonly string[] = []): Promise<ProjectQuotaView> {
    const request = { ...quotaOf(projectId), version: 0, classes };
    return (await this.#call(RPC_SCHEDULER, unsetQuotaMethod, request)).quota;
  }

  /** The daily usage of projects, or of the named one, in unit-seconds, from the day of `sinceMs` on. */
  async usage(sinceMs: number, projectId = ''): Promise<ProjectUsageView[]> {
    return allPages(
      Number.POSITIVE_INFINITY,
      async (last: ProjectUsageView | undefined, limit) => {
        const marker = last?.projectId ?? '';
        return (await this.usagePage({ ...NO_USAGE, projectId, sinceMs, marker, limit })).projects;
      },
      MAX_USAGE_PROJECTS,
    );
  }

  /**
   * The same, shared out by user, flavor or instance, in the order of these; shares sum to the projects' usage.
   *
   * @param asked  `untilMs`: up to this day, which counts; 0 for now
   */
  async usageShares(
    by: readonly UsageBy[],
    asked: { readonly sinceMs: number; readonly untilMs?: number; readonly projectId?: string },
  ): Promise<UsageShareView[]> {
    const shares: UsageShareView[] = [];
    let shareMarker = '';
    do {
      const page = await this.usagePage({ ...NO_USAGE, limit: MAX_USAGE_PROJECTS, ...asked, by, shareMarker });
      shares.push(...page.shares);
      shareMarker = page.nextMarker;
    } while (shareMarker !== '');
    return shares;
  }

  /** Hears which hosts would serve what waits for capacity, while anything waits. For operators. */
  onCapacityWanted(listener: (wanted: CapacityWantedEvent) => void): Promise<Subscription> {
    return this.bus.subscribe(CAPACITY_TOPIC, (_topic, { body }) => listener(capacityWantedCodec.decode(body)));
  }

  /** One page of usage. */
  usagePage(request: ListUsageRequest): Promise<ListUsageResponse> {
    return this.#call(RPC_SCHEDULER, listUsageMethod, request);
  }

  /** Rejects open waits and ends listeners (`aborted / interrupted`), then closes the connection. */
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

  #named({ requestId = this.parts.random.uuid(), instanceUuids, ...counts }: BuildOptions): Build {
    const length = kindCounts(counts).reduce((sum, { count }) => sum + count, 0);
    checkCountOfAll(length);
    const chosen = () => Array.from({ length }, () => this.parts.random.uuid());
    return { requestId, instanceUuids: instanceUuids ?? chosen() };
  }

  async #publish({ requestId, instanceUuids }: Build, asked: BuildOptions) {
    const options = inOneDomain(asked, requestId);
    const {
      spec,
      count = 1,
      name = 'instance',
      publishedAtMs = this.parts.clock.now(),
      minCount = 0,
      onLoss,
    } = options;
    const admission = options.admission && { ...NO_ADMISSION, ...options.admission };
    const about = { count, name, instanceUuids, publishedAtMs, minCount, admission, onLoss };
    const furtherMembers = (options.furtherMembers ?? []).map((kind) => {
      const { count: ofKind = 1, name: called = '', minCount: least = 0 } = kind;
      return { requestSpec: encodedSpec(kind.spec), count: ofKind, name: called, minCount: least };
    });
    const further = furtherMembers.length > 0 ? { furtherMembers } : {};
    const request = { requestId, requestSpec: encodedSpec(spec), ...about, ...further };
    // Fails early with the conductor's own checks.
    for (const { requestSpec: encoded } of kindsOf(buildRequestCodec.decode(buildRequestCodec.encode(request)))) {
      const wanted = requestSpecCodec.decode(encoded);
      if (wanted.flavor === undefined) resolveSpec(wanted, 'request_spec');
    }
    const id = { id: requestId };
    await this.#persistently(() => castTyped({ bus: this.bus, queue: BUILD_REQUESTS }, buildRequestCodec, request, id));
  }

  /** @param id  the request id that a refusal carries */
  async #terminate(instanceUuid: string, id: string): Promise<void> {
    const message = { instanceUuid, projectId: this.parts.projectId ?? '' };
    await this.#persistently(() =>
      castTyped({ bus: this.bus, queue: BUILD_REQUESTS }, terminateInstanceCodec, message, { id }),
    );
  }

  /** The request; a named flavor is replaced by its present content. */
  async spelledOut(spec: SpecFields): Promise<SpecFields> {
    const { flavor: named } = spec;
    if (named?.version !== 0) return spec;
    const flavor = (await this.flavors(named.name)).find((one) => one.name === named.name);
    if (flavor === undefined) return spec;
    const { name, version, resources, extraSpecs } = flavor;
    return { ...spec, flavor: { name, version }, resources, extraSpecs };
  }

  #call<Q, A>(queue: QueueAddress, method: Method<Q, A>, request: Q): Promise<A> {
    const { timeoutMs } = this.parts;
    return this.#persistently(() => callMethod({ bus: this.bus, queue }, method, request, { timeoutMs }));
  }

  /** Waits still open when `work` ends, such as by an error, end with it. */
  async #whileWatching<T>(work: (watch: InstanceWatch, signal: AbortSignal) => Promise<T>): Promise<T> {
    const ended = new AbortController();
    // Each wait adds a listener.
    setMaxListeners(0, ended.signal);
    try {
      return await work(await this.#watching(), ended.signal);
    } finally {
      ended.abort();
    }
  }

  /** The client's only watch, opened on first use. */
  #watching(): Promise<InstanceWatch> {
    const read = (instanceUuid: string) => this.instances({ instanceUuid }, 1);
    this.#watch ??= watchInstances(this.bus, this.parts, read).catch((thrown: unknown) => {
      this.#watch = undefined;
      throw thrown;
    });
    return this.#watch;
  }

  /** Retries with growing pauses while that may help. A try without an answer may have been done: then it never says that nothing was. */
  async #persistently<T>(send: () => Promise<T>): Promise<T> {
    const { clock, random, retryForMs } = this.parts;
    const untilMs = clock.elapsed() + retryForMs;
    let unanswered: BerthError | undefined;
    try {
      return await retryWithBackoff(send, {
        ...BACKOFF,
        clock,
        random,
        signal: this.#closing.signal,
        isRetryable: (thrown) => clock.elapsed() < untilMs && mayComeBack(BerthError.from(thrown)),
        onFailure(thrown) {
          const error = BerthError.from(thrown);
          if (error.code === 'deadline_exceeded') unanswered = error;
        },
      });
    } catch (thrown) {
      throw BerthError.from(thrown).code === 'unavailable' ? (unanswered ?? thrown) : thrown;
    }
  }
}

/** A rebuilt broker has no queues until the services declare them again. */
function mayComeBack(error: BerthError): boolean {
  return isRetryable(error) || error.reason === 'no_such_queue';
}

/** The error for an instance, or several, that Berth does not know. */
export function noSuchInstance(uuid: string): BerthError {
  return new BerthError('not_found', 'no_such_instance', `there is no instance ${uuid}`);
}

/** The request with its group of members that stay together. */
function inOneDomain({ within, ...options }: BuildOptions, requestId: string): BuildOptions {
  if (within === undefined) return options;
  const together = (spec: SpecFields): SpecFields => {
    if (spec.group && spec.group.policy === undefined) throw namedGroupHasRules(spec.group.id);
    const own = { id: `gang-${requestId}`, policy: 'soft-affinity', maxPerHost: 1 } as const;
    return { ...spec, group: { ...(spec.group ?? own), within } };
  };
  const furtherMembers = options.furtherMembers?.map((kind) => ({ ...kind, spec: together(kind.spec) }));
  return { ...options, spec: together(options.spec), furtherMembers };
}

function namedGroupHasRules(id: string): BerthError {
  const message = `group '${id}' has rules of its own: create it with what its members are to stay within, or say its policy`;
  return invalidArgument('conflicting_rules', message, 'within');
}

/** Number of instances of each kind, and the number that must become ACTIVE. */
function kindCounts({ count = 1, minCount = 0, furtherMembers = [] }: Omit<BuildOptions, 'spec'>) {
  const kinds = [{ count, minCount }, ...furtherMembers.map((kind) => ({ ...kind, count: kind.count ?? 1 }))];
  return kinds.map((kind) => ({ count: kind.count, minCount: minimumOf(kind, kinds.length > 1) }));
}

/** True if of each kind, whose instances come one kind after the other, enough are ACTIVE. */
function hasReachedMinimum(events: readonly InstanceEvent[], options: BuildOptions): boolean {
  let from = 0;
  return kindCounts(options).every(({ count, minCount }) => {
    const ofKind = events.slice(from, from + count);
    from += count;
    return ofKind.filter(({ state }) => state === 'active').length >= minCount;
  });
}

function encodedSpec({ resources = {}, ...rest }: SpecFields): Uint8Array {
  return requestSpecCodec.encode(requestSpec(resources, rest));
}

const NO_USAGE = { projectId: '', marker: '', untilMs: 0, by: [], shareMarker: '' } as const;

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
