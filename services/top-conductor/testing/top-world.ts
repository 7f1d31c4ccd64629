import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { ACK, type Bus, type IncomingMessage } from '#libs/bus/port';
import { answer, castTyped } from '#libs/bus/typed-calls';
import { Client } from '#libs/client/client';
import { type CellView, listCellsMethod } from '#libs/contracts/cell-methods';
import {
  type BuildRequest,
  buildRefusedCodec,
  buildRequestCodec,
  terminateInstanceCodec,
} from '#libs/contracts/conductor';
import { type GroupView, listGroupsMethod } from '#libs/contracts/groups';
import { type Identity, SERVICE } from '#libs/contracts/identity';
import {
  type InstanceEvent,
  type InstanceView,
  instanceEventCodec,
  listInstancesMethod,
} from '#libs/contracts/instance';
import type { OperateInstanceRequest } from '#libs/contracts/operations';
import { operateInstanceMethod } from '#libs/contracts/operations';
import { BUILD_REQUESTS, instanceTopic, RPC_CONDUCTOR, RPC_SCHEDULER, refusalTopic } from '#libs/contracts/queues';
import { releaseClaimsMethod } from '#libs/contracts/release-claims';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import {
  type SelectDestinationsRequest,
  type SelectDestinationsResponse,
  selectDestinationsMethod,
} from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import type { InstanceRow } from '#libs/domain/instance';
import type { Resources } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import type { RequestSpec } from '#libs/domain/request-spec';
import { memoryFlavorStore } from '#libs/instances/memory/flavor-store';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { memoryLeaseStore } from '#libs/instances/memory/lease-store';
import type { InstanceStore } from '#libs/instances/store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { Running } from '#libs/runtime/service';
import { fakeClock } from '#libs/testing/fake-clock';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { topConductorOptions } from '../options';
import { startTopConductor } from '../start';

/** The subject of a cell's report. */
type Said = Pick<InstanceRow, 'uuid' | 'requestId' | 'projectId' | 'userId' | 'requestSpec'>;

/** A scripted cell: the messages it got, and the reports it sends. */
export class ScriptedCell {
  /** Its conductors' records. */
  readonly records = new Map<string, InstanceView>();
  readonly requests: BuildRequest[] = [];
  readonly terminated: string[] = [];
  /** Instances with released claims. */
  readonly released: string[] = [];
  readonly operations: OperateInstanceRequest[] = [];
  /** True when it accepts requests. */
  heeds = true;
  /** True when it builds, stops, starts and ends instances as ordered. */
  obeys = false;
  /** True when it stops instances as ordered, if it obeys. */
  stops = true;
  /** True when its builds become ACTIVE. */
  builds = true;
  /** True when its conductors answer. */
  answers = true;

  constructor(
    readonly name: string,
    readonly bus: Bus,
  ) {}

  async open(): Promise<void> {
    await this.bus.serve(RPC_CONDUCTOR, {
      ...answer(listInstancesMethod, async ({ instanceUuid, requestId, marker }) => {
        if (!this.answers) throw new BerthError('unavailable', 'scripted', 'this cell says nothing');
        const all = [...this.records.values()].filter(({ uuid }) => uuid > marker);
        const asked = all.filter((one) => instanceUuid === '' || one.uuid === instanceUuid);
        return { instances: asked.filter((one) => requestId === '' || one.requestId === requestId) };
      }),
      ...answer(releaseClaimsMethod, async ({ claims }) => {
        this.released.push(...claims.map(({ instanceUuid }) => instanceUuid));
        return { released: claims.length };
      }),
      ...answer(operateInstanceMethod, async (request) => {
        this.operations.push(request);
        if (this.obeys && this.stops && request.operation === 'stop')
          await this.#becomes(request.instanceUuid, 'stopped');
        if (this.obeys && request.operation === 'start') await this.#becomes(request.instanceUuid, 'active');
        const instance = this.records.get(request.instanceUuid);
        if (instance && this.heeds) return { instance };
        throw new BerthError('failed_precondition', 'instance_state', 'it can not');
      }),
    });
    await this.bus.consume(BUILD_REQUESTS, (message) => this.#take(message), { prefetch: 10 });
  }

  async #take({ type, body }: IncomingMessage): Promise<typeof ACK> {
    if (type === terminateInstanceCodec.type) {
      const { instanceUuid } = terminateInstanceCodec.decode(body);
      this.terminated.push(instanceUuid);
      if (this.obeys) await this.#becomes(instanceUuid, 'deleted');
      return ACK;
    }
    const request = buildRequestCodec.decode(body);
    this.requests.push(request);
    if (!this.obeys) return ACK;
    for (const uuid of request.instanceUuids) {
      const { projectId, userId } = requestSpecCodec.decode(request.requestSpec);
      const of = { ...request, uuid, projectId, userId };
      await this.says(of, { state: this.builds ? 'active' : 'error', host: `h1-${this.name}`, version: 1 });
    }
    return ACK;
  }

  async #becomes(uuid: string, state: InstanceView['state']): Promise<void> {
    const view = this.records.get(uuid);
    if (!view) return;
    const requestSpec = requestSpecCodec.encode(view.requestSpec);
    await this.says({ ...view, requestSpec }, { ...view, state, version: view.version + 1 });
  }

  /** Refuses a request. */
  async refuses({ requestId }: BuildRequest): Promise<void> {
    const error = new BerthError('failed_precondition', 'scripted', 'this cell does not take it');
    const body = buildRefusedCodec.encode({ requestId, error });
    await this.bus.publish(refusalTopic(''), { type: buildRefusedCodec.type, body });
  }

  /** Writes a record, and by default publishes it. */
  async says(of: Said, fields: Partial<InstanceView>, isHeard = true): Promise<void> {
    const { uuid, requestId, projectId, userId } = of;
    const about = {
      uuid,
      requestId,
      projectId,
      userId,
      name: 'web',
      requestSpec: requestSpecCodec.decode(of.requestSpec),
    };
    const how = { state: 'active', host: 'h1', attempts: [], fault: undefined, version: 3 } as const;
    const view: InstanceView = { ...about, ...how, createdAtMs: 1, updatedAtMs: 1, ...fields };
    this.records.set(uuid, view);
    if (!isHeard) return;
    const { state, version, host, attempts, fault, name } = view;
    const event = { instanceUuid: uuid, requestId, projectId, state, host, atMs: 1, version, fault, attempts, name };
    const message = { type: instanceEventCodec.type, body: instanceEventCodec.encode(event) };
    await this.bus.publish(instanceTopic(state, projectId, uuid), message);
  }
}

/** A conductor of the top among a scripted scheduler of the top and scripted cells `a` and `b`. */
export class TopWorld {
  readonly clock = fakeClock();
  readonly random = seededRandom(3);
  readonly instances: InstanceStore<InstanceRow> = memoryInstanceStore(this.clock);
  readonly leases = memoryLeaseStore(this.clock);
  readonly flavors = memoryFlavorStore(this.clock);
  readonly placement = new MemoryPlacementStore();
  readonly #broker = new MemoryBroker(this.clock, silentLog);
  readonly bus = this.openBus('top');
  readonly a = new ScriptedCell('a', this.openBus('a'));
  readonly b = new ScriptedCell('b', this.openBus('b'));
  readonly events: InstanceEvent[] = [];
  readonly asked: SelectDestinationsRequest[] = [];
  /** Server groups of the fleet. */
  groups: readonly GroupView[] = [];
  /** Cells as reported by the scheduler of the top. */
  cells: readonly CellView[] = [];
  /** The selection by the scheduler of the top. */
  select: (request: SelectDestinationsRequest) => Promise<SelectDestinationsResponse> | SelectDestinationsResponse =
    () => chosen('a', []);
  /** Metrics of the conductor started last. */
  metrics = createMetrics({});
  readonly #running: Running[] = [];

  openBus(cell: string, identity: Identity = SERVICE): Bus {
    const config = { ...readConfig(busOptions, {}), cell, drainTimeoutMs: 100 };
    return new MemoryBus(this.#broker, identity, config, this.#around());
  }

  async open(): Promise<void> {
    await Promise.all([this.a.open(), this.b.open()]);
    await this.bus.serve(RPC_SCHEDULER, {
      ...answer(selectDestinationsMethod, async (request) => {
        this.asked.push(request);
        return this.select(request);
      }),
      ...answer(listCellsMethod, async () => ({ cells: this.cells })),
      ...answer(listGroupsMethod, async ({ name }) => {
        const group = this.groups.find((one) => one.name === name);
        if (group) return { groups: [group], members: [] };
        throw new BerthError('not_found', 'no_such_group', `there is no group '${name}'`);
      }),
    });
    await this.bus.subscribe('instance.#', (_topic, { body }) => this.events.push(instanceEventCodec.decode(body)));
    await this.start();
  }

  /** Starts another conductor of the top with these cells. */
  async start(cells: readonly string[] = ['a', 'b']): Promise<Running> {
    const config = readConfig(topConductorOptions, {
      BERTH_TOP_CONDUCTOR_SYNC_INTERVAL_MS: '1000',
      BERTH_TOP_CONDUCTOR_RESYNC_INTERVAL_MS: '20000',
      BERTH_TOP_CONDUCTOR_SCHEDULING_TIMEOUT_MS: '5000',
      BERTH_TOP_CONDUCTOR_RESERVATION_INTERVAL_MS: '30000',
      BERTH_TOP_CONDUCTOR_MOVE_TIMEOUT_MS: '90000',
    });
    this.metrics = createMetrics({});
    const running = await startTopConductor({
      ...this.#around(),
      metrics: this.metrics,
      bus: this.openBus('top'),
      instances: this.instances,
      leases: this.leases,
      flavors: this.flavors,
      placement: this.placement,
      cells,
      openCell: async (cell) => this.openBus(cell),
      config,
    });
    this.#running.push(running);
    await this.clock.advance(0);
    return running;
  }

  async close(): Promise<void> {
    const closing = Promise.all(this.#running.splice(0).map((one) => one.close()));
    await this.clock.advance(60_000);
    await closing;
  }

  /** Sends a build request; returns the outcomes and the client's answer. */
  async request(count = 1, spec: Partial<RequestSpec> = {}, fields: Partial<BuildRequest> = {}): Promise<string> {
    const requestId = this.random.uuid();
    const about = { requestId, requestSpec: anEncodedSpec(spec), count, name: 'web', instanceUuids: [] };
    await castTyped(
      { bus: this.bus, queue: BUILD_REQUESTS },
      buildRequestCodec,
      { ...about, ...fields },
      { id: requestId },
    );
    await this.clock.advance(0);
    return requestId;
  }

  /** Sends a build request; returns the error of a refusal, or undefined. */
  async refusal(spec: Partial<RequestSpec>, count = 1): Promise<BerthError | undefined> {
    let refused: BerthError | undefined;
    await this.bus.subscribe('request.refused.#', (_topic, { body }) => {
      refused = buildRefusedCodec.decode(body).error;
    });
    await this.request(count, spec);
    return refused;
  }

  async terminate(instanceUuid: string): Promise<void> {
    await castTyped({ bus: this.bus, queue: BUILD_REQUESTS }, terminateInstanceCodec, { instanceUuid, projectId: '' });
    await this.clock.advance(0);
  }

  /** Sets limits of project-1 at the top. */
  async limit(limits: Resources): Promise<void> {
    const quota = { projectId: 'project-1', version: 0, limits, borrowLimits: {}, cohort: undefined, unset: [] };
    await this.placement.commit({ kind: 'write_quota', atMs: this.clock.now(), ...quota });
  }

  /** The amounts of project-1 counted at the top. */
  async used(): Promise<Resources> {
    const usages = await this.placement.projectUsages();
    return usages.find(({ projectId }) => projectId === 'project-1')?.used ?? {};
  }

  async all(): Promise<InstanceRow[]> {
    return this.instances.list({}, undefined, 1_000);
  }

  /** The only instance. */
  async only(): Promise<InstanceRow> {
    const [instance] = await this.all();
    if (!instance) throw new Error('there is no instance');
    return instance;
  }

  /** A client of the top that does not retry. */
  client(): Client {
    const { clock, random } = this;
    return new Client(this.bus, { clock, random, timeoutMs: 5_000, retryForMs: 0 });
  }

  #around() {
    return { clock: this.clock, random: this.random, log: silentLog, metrics: createMetrics({}) };
  }
}

/** The answer that a cell has claimed hosts for these. */
export function chosen(cell: string, instanceUuids: readonly string[]): SelectDestinationsResponse {
  const selected = { host: 'h1', cell, allocationRequest: Uint8Array.of(1), serviceHost: 'h1', epoch: 1 };
  const destinations = instanceUuids.map((instanceUuid, n) => {
    return { instanceUuid, selected, alternates: [], claimToken: n + 1 };
  });
  return { destinations, noValidHost: undefined, cell };
}

/** The answer that cells have claimed hosts in zones, by instance: `a z1`. */
export function chosenInZones(
  zones: readonly string[],
  places: Readonly<Record<string, string>>,
): SelectDestinationsResponse {
  const destinations = Object.entries(places).flatMap(([uuid, place]) => {
    const [cell = '', zone = ''] = place.split(' ');
    return chosen(cell, [uuid]).destinations.map((one) => ({ ...one, zone }));
  });
  return { destinations, noValidHost: undefined, zones };
}

/** The combined answer of several cells. */
export function chosenAcross(...parts: readonly SelectDestinationsResponse[]): SelectDestinationsResponse {
  return { destinations: parts.flatMap(({ destinations }) => destinations), noValidHost: undefined };
}

/** The answer that no cell takes it, for a reason that may pass or not. */
export function refusedBy(filter: 'cell_reachable' | 'cell_capacity' | 'cell_spread'): SelectDestinationsResponse {
  const filters = [{ filter, refused: 2, reasons: { scripted: 2 } }];
  const counts = { hostsConsidered: 2, hostsPassed: 0, claimConflicts: 0 };
  return { destinations: [], noValidHost: { ...counts, filters, summary: 'no cell', quotaExceeded: [] } };
}
