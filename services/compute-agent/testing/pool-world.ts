import { randomUUID } from 'node:crypto';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { ACK, type Bus } from '#libs/bus/port';
import { answer, castTyped } from '#libs/bus/typed-calls';
import {
  type BuildInstance,
  buildInstanceCodec,
  buildReportCodec,
  destroyInstanceCodec,
} from '#libs/contracts/compute';
import { acquireHostsMethod, releaseHostsMethod } from '#libs/contracts/host-leases';
import { SERVICE } from '#libs/contracts/identity';
import type { NodeView, OperateNode } from '#libs/contracts/nodes';
import { operateNodeCodec, readNodesMethod, writeNodeMethod } from '#libs/contracts/nodes';
import { joinPoolMethod, leavePoolMethod } from '#libs/contracts/pools';
import { type PowerReport, powerReportCodec, type SetPowerState, setPowerStateCodec } from '#libs/contracts/power';
import { agentQueue, BUILD_RESULTS, STATS } from '#libs/contracts/queues';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { BerthError } from '#libs/domain/errors';
import { seededRandom } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { Running } from '#libs/runtime/service';
import { fakeClock } from '#libs/testing/fake-clock';
import type { NodeController } from '../drivers/baremetal/node-controller';
import { redfishController } from '../drivers/baremetal/redfish/redfish-controller';
import type { AskRedfish } from '../drivers/baremetal/redfish/redfish-http';
import { redfishServices } from '../drivers/baremetal/redfish/redfish-service';
import { agentOptions } from '../options';
import { startComputeAgent } from '../start';
import { aBuild } from './agent-world';
import { SimulatedControllers, type TakenOrder } from './simulated-controllers';

const GOLD = 'CUSTOM_BAREMETAL_GOLD';
const NODE = 'n1';
const POOL = 'metal';
const ROOT = 'http://rack';
const AWAY = new BerthError('unavailable', 'store_away', 'the store is away');
const REPORT_MS = 3_000;

/** Length of a node's lease here without another accepted report. */
export const LEASE_MS = 2 * REPORT_MS;

/**
 * Agents of a pool of one node, n1, or of several, on a bus in memory; the store answers with schedulers' tables,
 * without checking rights.
 */
export class PoolWorld {
  readonly clock = fakeClock();
  /** A test may replace it by an older or a new one. */
  store = new MemoryPlacementStore();
  isStoreAway = false;
  /** Orders that an agent dropped because another has the node. */
  leftToOthers = 0;
  /** Orders that controllers took, without marks. */
  readonly orders: TakenOrder[] = [];
  /** Reported outcomes of builds and destroys, and power states. */
  readonly results: string[] = [];
  /** The last report of an instance's power. */
  power: PowerReport | undefined;
  readonly controllers: SimulatedControllers;
  readonly bus: Bus;
  readonly #nodes = new Map<string, NodeView>();
  readonly #broker = new MemoryBroker(this.clock, silentLog);
  readonly #agents: Running[] = [];

  constructor(readonly nodeNames: readonly string[] = [NODE]) {
    this.controllers = new SimulatedControllers({ nodes: nodeNames, bootMs: 900 }, this.#around());
    this.controllers.onOrder = (order) => order.what !== 'AssetTag' && this.orders.push(order);
    this.bus = this.#openBus();
  }

  /** Starts the schedulers and conductors that listen. */
  async serve(): Promise<void> {
    const atMs = () => this.clock.now();
    const there = async <T>(effect: (store: MemoryPlacementStore) => Promise<T>) => {
      if (this.isStoreAway) throw AWAY;
      return effect(this.store);
    };
    const requireEpoch = async (host: string, epoch: number) => {
      const [holder] = await there((store) => store.holders([host]));
      if (holder?.epoch === epoch) return;
      const reason = (holder?.epoch ?? 0) > epoch ? 'epoch_superseded' : 'epoch_unknown';
      throw new BerthError('failed_precondition', reason, `held under ${holder?.epoch}`);
    };
    await this.bus.serve(STATS, {
      ...answer(joinPoolMethod, async (request) => {
        const grant = await there((store) => store.joinPool({ ...request, atMs: atMs() }));
        if (grant.kind === 'taken') throw new Error('another run is a member');
        return { ...grant.pool, holderRun: '', heldForMs: 0 };
      }),
      ...answer(leavePoolMethod, async (request) => {
        await there((store) => store.leavePool(request));
        return {};
      }),
      ...answer(acquireHostsMethod, async (request) => {
        const grants = await there((store) => store.acquireHosts({ ...request, atMs: atMs() }));
        return {
          grants: grants.map((grant) => {
            if (grant.kind === 'granted') return { ...NOBODY, epoch: grant.epoch };
            const { agentRun, serviceHost } = grant.holder;
            return { epoch: 0, holderRun: agentRun, holderServiceHost: serviceHost, heldForMs: grant.leftMs };
          }),
          atMs: atMs(),
        };
      }),
      ...answer(releaseHostsMethod, async (request) => {
        await there((store) => store.releaseHosts(request));
        return {};
      }),
      ...answer(readNodesMethod, async ({ hosts }) => {
        return there(async () => ({ nodes: hosts.flatMap((host) => this.#nodes.get(host) ?? []) }));
      }),
      ...answer(writeNodeMethod, async ({ serviceHost, epoch, node }) => {
        await requireEpoch(node.host, epoch);
        this.#nodes.set(node.host, { ...node, serviceHost });
        return {};
      }),
      ...answer(updateResourceStatsMethod, async ({ host, epoch, sequence, serviceHost, agentRun }) => {
        await requireEpoch(host, epoch);
        const holder = { serviceHost, agentRun, hosts: [host], leaseMs: LEASE_MS };
        await this.store.acquireHosts({ ...holder, atMs: atMs() });
        return { sequence, wantsAllocationRequests: false };
      }),
    });
    await this.bus.consume(BUILD_RESULTS, async ({ type, body }) => {
      if (type === powerReportCodec.type) {
        this.power = powerReportCodec.decode(body);
        this.results.push(`${this.power.powerState} ${this.power.reason}`.trim());
      } else {
        this.results.push(buildReportCodec.decode(body).outcome);
      }
      return ACK;
    });
  }

  /** Resolves after enough time for the agent to hold the nodes that the ring assigns to it. */
  async start(host: string, settings: Readonly<Record<string, string>> = {}): Promise<Running> {
    const config = readConfig(agentOptions, { BERTH_AGENT_HOST: host, ...SETTINGS, ...settings });
    const driver = () => Promise.reject(new Error('an agent of a pool carries no hosts of its own'));
    const descriptions = this.nodeNames.map((name) => ({ name, resourceClass: GOLD, traits: [], resources: {} }));
    const services = this.#services();
    const nodes = { descriptions, controller: (name: string) => this.controller(name, services) };
    const starting = startComputeAgent({ ...this.#around(), bus: this.#openBus(), config, driver, nodes });
    await this.clock.advance(3_000);
    const agent = await starting;
    this.#agents.push(agent);
    return agent;
  }

  /** The epoch and the agent of the node's lease, with the epoch in the controller's mark. */
  async holder(): Promise<{ readonly epoch: number; readonly serviceHost: string; readonly mark: number } | undefined> {
    const [holder] = await this.store.holders([NODE]);
    const mark = Number(/\[berth (\d+)\]$/.exec(this.controllers.system(NODE).assetTag)?.[1] ?? 0);
    return holder && { epoch: holder.epoch, serviceHost: holder.serviceHost, mark };
  }

  /** The holder of each node, by name. */
  async holders(): Promise<ReadonlyMap<string, string | undefined>> {
    const holders = await this.store.holders(this.nodeNames);
    return new Map(this.nodeNames.map((name, n) => [name, holders[n]?.serviceHost]));
  }

  /** Replaces the ring's former members by others, as if they had joined unnoticed by the agent. */
  join(serviceHost: string, weight: number): Promise<unknown> {
    return this.store.joinPool({
      pool: POOL,
      serviceHost,
      agentRun: randomUUID(),
      weight,
      leaseMs: 3_600_000,
      atMs: this.clock.now(),
    });
  }

  build(agent: string, instanceUuid: string, epoch = 0): Promise<void> {
    const spec = requestSpec({ [GOLD]: 1 }, { projectId: 'p', userId: 'u' });
    const build: BuildInstance = { ...aBuild({ instanceUuid, requestSpec: spec, epoch }), host: NODE };
    return castTyped({ bus: this.bus, queue: agentQueue(agent).name }, buildInstanceCodec, build);
  }

  destroy(agent: string, instanceUuid: string): Promise<void> {
    const destroy = { instanceUuid, host: NODE, attempt: 0, report: true, epoch: 0, claimToken: 0, ...CLAIMED };
    return castTyped({ bus: this.bus, queue: agentQueue(agent).name }, destroyInstanceCodec, destroy);
  }

  setPower(agent: string, instanceUuid: string, powerState: SetPowerState['powerState']): Promise<void> {
    const { epoch: restsOnEpoch = 0, position: restsOnPosition = 0 } = this.power ?? {};
    const restsOn = { restsOnEpoch, restsOnPosition };
    const order = { instanceUuid, host: NODE, attempt: 1, claimToken: 7, epoch: 0, powerState, ...restsOn, ...CLAIMED };
    return castTyped({ bus: this.bus, queue: agentQueue(agent).name }, setPowerStateCodec, order);
  }

  operate(agent: string, verb: OperateNode['verb']): Promise<void> {
    const order = { host: NODE, verb, reason: '', bootDevice: undefined, epoch: 0, restsOnUpdatedAtMs: 0 };
    return castTyped({ bus: this.bus, queue: agentQueue(agent).name }, operateNodeCodec, order);
  }

  /** The node's stored record; a test may set an earlier one. */
  get node(): NodeView | undefined {
    return this.#nodes.get(NODE);
  }

  set node(record: NodeView | undefined) {
    if (record) this.#nodes.set(NODE, record);
  }

  /** A node's controller, as an agent reaches it. */
  controller(name = NODE, services = this.#services()): NodeController {
    return redfishController(name, ROOT + this.controllers.systemPath(name), services);
  }

  /** The services as one agent reaches them. */
  #services() {
    const ask: AskRedfish = async (url, { method = 'GET', token = '', ifMatch, body = {} }) => {
      const sent = { method, path: url.slice(ROOT.length), token, ifMatch, body: body as Record<string, unknown> };
      const { status, headers, body: answered = {} } = this.controllers.answer(sent);
      return { status, headers: new Headers(headers), body: answered };
    };
    return redfishServices({ user: 'berth', password: 'secret', timeoutMs: 1_000, clock: this.clock, ask });
  }

  async close(): Promise<void> {
    const closing = Promise.all(this.#agents.map((agent) => agent.close()));
    await this.clock.advance(60_000);
    await closing;
    const bus = this.bus.close();
    await this.clock.advance(60_000);
    await bus;
  }

  #openBus(): Bus {
    return new MemoryBus(this.#broker, SERVICE, readConfig(busOptions, {}), this.#around());
  }

  #around() {
    const info = ({ event }: Readonly<Record<string, unknown>>) => {
      if (event === 'order_moved') this.leftToOthers++;
    };
    const log = { ...silentLog, info };
    return { clock: this.clock, random: seededRandom(this.#agents.length + 1), log, metrics: createMetrics({}) };
  }
}

const NOBODY = { holderRun: '', holderServiceHost: '', heldForMs: 0 };
const CLAIMED = { allocations: {}, mappings: {} };
const SETTINGS = {
  BERTH_AGENT_DRIVER: 'baremetal',
  BERTH_AGENT_POOL: POOL,
  BERTH_AGENT_NODE_START: 'available',
  BERTH_AGENT_NODE_POLL_MS: '300',
  BERTH_AGENT_NODE_SHUTDOWN_MS: '1000',
  BERTH_AGENT_REPORT_INTERVAL_MS: String(REPORT_MS),
  BERTH_AGENT_LEASE_REPORTS: '2',
  BERTH_AGENT_REPORT_MIN_INTERVAL_MS: '500',
  BERTH_AGENT_REPORT_TIMEOUT_MS: '1000',
  BERTH_AGENT_RETRY_MAX_MS: '1000',
};
