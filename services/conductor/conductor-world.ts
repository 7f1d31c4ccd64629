import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { ACK, type Bus } from '#libs/bus/port';
import { buildInstanceCodec, buildReportCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { instanceEventCodec } from '#libs/contracts/instance';
import type { BuildInstance, BuildReport, InstanceEvent, Selection } from '#libs/contracts/messages';
import { answer, castTyped } from '#libs/contracts/rpc';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { agentQueue, BUILD_REQUESTS, BUILD_RESULTS, RPC_SCHEDULER } from '#libs/contracts/topology';
import type { Instance } from '#libs/domain/instance';
import { inventory } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { memoryLeaseStore } from '#libs/instances/memory/lease-store';
import { type AllocationRequest, open, sealer } from '#libs/placement/allocation-request';
import { claimWrite } from '#libs/placement/claims';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { Running } from '#libs/runtime/service';
import { fakeClock } from '#libs/testing/fake-clock';
import { aRequestSpec } from '#libs/testing/request-spec';
import type { ConductorDeps } from './context';
import { conductorOptions } from './options';
import { startConductor } from './start';

const KEY = 'the key of this test fleet';
/** How a host answers an order to build. `late` answers when the test says so. */
export type Behaviour = 'builds' | 'fails' | 'refuses' | 'is silent' | 'late';

/** Conductors among a scripted scheduler and scripted hosts, on a bus and stores in memory: the claims are real. */
export class ConductorWorld {
  readonly clock = fakeClock();
  readonly random = seededRandom(7);
  readonly placement = new MemoryPlacementStore();
  readonly instances = memoryInstanceStore();
  readonly leases = memoryLeaseStore(this.clock);
  readonly events: InstanceEvent[] = [];
  /** Best first: what the scheduler answers, as long as there is room. */
  hosts: readonly string[] = [];
  readonly behaviour = new Map<string, Behaviour>();
  /** What runs: instance to hosts. */
  readonly running = new Map<string, Set<string>>();
  readonly orders: BuildInstance[] = [];
  /** The process that carries a host with others, of those that one does. Its queue is for tests to declare or serve. */
  readonly serviceHosts = new Map<string, string>();
  readonly #broker = new MemoryBroker(this.clock, silentLog);
  readonly bus: Bus = this.openBus();

  openBus(): Bus {
    const config = { ...readConfig(busOptions, {}), drainTimeoutMs: 100 };
    return new MemoryBus(this.#broker, config, this.around());
  }

  around() {
    return { clock: this.clock, random: this.random, log: silentLog, metrics: createMetrics({}) };
  }

  /** Hosts with room for `vcpus` instances of one VCPU each, and a scheduler that prefers them in this order. */
  async open(hosts: Readonly<Record<string, number>>): Promise<void> {
    this.hosts = Object.keys(hosts);
    for (const [host, vcpus] of Object.entries(hosts)) await this.#addHost(host, vcpus);
    await this.bus.serve(
      RPC_SCHEDULER,
      answer(selectDestinationsMethod, ({ instanceUuids }) => this.#select(instanceUuids)),
    );
    await this.bus.subscribe('instance.#', (_topic, { body }) => this.events.push(instanceEventCodec.decode(body)));
  }

  /** Starts a conductor; `wrap` may put something between it and what it works with. */
  conductor(wrap: (deps: ConductorDeps) => ConductorDeps = (deps) => deps, settings = {}): Promise<Running> {
    const config = readConfig(conductorOptions, {
      BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '10000',
      BERTH_CONDUCTOR_DESTROY_TIMEOUT_MS: '10000',
      BERTH_CONDUCTOR_SCHEDULING_TIMEOUT_MS: '5000',
      BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '20000',
      BERTH_CONDUCTOR_AUDIT_GRACE_MS: '1000',
      ...settings,
    });
    const { placement, instances, leases } = this;
    const opened = (sealed: Uint8Array) => open(sealed, KEY);
    return startConductor(
      wrap({ ...this.around(), bus: this.openBus(), placement, instances, leases, config, open: opened }),
    );
  }

  /** Publishes a request; answers its id. */
  async request(count = 1, requestId: string = this.random.uuid()): Promise<string> {
    const requestSpec = aRequestSpec({ resources: { VCPU: 1 } });
    const request = { requestId, requestSpec, count, name: 'web', instanceUuids: [] };
    await castTyped(this.bus, BUILD_REQUESTS.name, buildRequestCodec, request, { id: requestId });
    return requestId;
  }

  terminate(instanceUuid: string): Promise<void> {
    return castTyped(this.bus, BUILD_REQUESTS.name, terminateInstanceCodec, { instanceUuid, projectId: '' });
  }

  report(order: BuildInstance, outcome: BuildReport['outcome']): Promise<void> {
    const { instanceUuid, host, attempt, claimRevision, alternates } = order;
    const report = { instanceUuid, host, attempt, outcome, reason: outcome, message: '', claimRevision, alternates };
    return castTyped(this.bus, BUILD_RESULTS.name, buildReportCodec, report);
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

  /** Who holds what, as `consumer host`. */
  async claims(): Promise<string[]> {
    const claims: string[] = [];
    await this.placement.scanConsumers(async (consumers) => {
      for (const { uuid, allocations } of consumers)
        claims.push(`${uuid} ${Object.keys(allocations).map(hostOf).join('+')}`);
    });
    return claims.sort();
  }

  /** What runs, as `instance host`. */
  runs(): string[] {
    return [...this.running].flatMap(([uuid, hosts]) => [...hosts].map((host) => `${uuid} ${host}`)).sort();
  }

  async #addHost(host: string, vcpus: number): Promise<void> {
    const nothing = { traits: [], aggregates: [], capabilities: {}, ioOps: 0, externalInstances: 0 };
    const identity = {
      host,
      providerUuid: providerOf(host),
      cell: 'cell1',
      serviceHost: '',
      availabilityZone: 'zone',
      agentRun: 'run',
    };
    const inventories = { VCPU: inventory(vcpus) };
    await this.placement.commit({ kind: 'report_host', atMs: 0, ...identity, ...nothing, sequence: 1, inventories });
    await this.bus.consume(agentQueue(host), async (message) => {
      if (message.type === destroyInstanceCodec.type) await this.#destroy(host, message.body);
      else await this.#build(buildInstanceCodec.decode(message.body));
      return ACK;
    });
  }

  /** Takes the builds of the hosts that a process carries together; answers what it was ordered. */
  async serveTogether(serviceHost: string): Promise<BuildInstance[]> {
    const orders: BuildInstance[] = [];
    await this.bus.consume(agentQueue(serviceHost), async ({ body }) => {
      const order = buildInstanceCodec.decode(body);
      orders.push(order);
      await this.#build(order);
      return ACK;
    });
    return orders;
  }

  async #build(order: BuildInstance): Promise<void> {
    const { host } = order;
    this.orders.push(order);
    switch (this.behaviour.get(host) ?? 'builds') {
      case 'builds':
        this.running.set(order.instanceUuid, (this.running.get(order.instanceUuid) ?? new Set()).add(host));
        return this.report(order, 'active');
      case 'fails':
        return this.report(order, 'failed');
      case 'refuses':
        return this.report(order, 'refused');
      case 'late':
        this.running.set(order.instanceUuid, (this.running.get(order.instanceUuid) ?? new Set()).add(host));
        return;
      case 'is silent':
        return;
    }
  }

  async #destroy(host: string, body: Uint8Array): Promise<void> {
    const { instanceUuid, report } = destroyInstanceCodec.decode(body);
    this.running.get(instanceUuid)?.delete(host);
    const order = { instanceUuid, host, attempt: 0, claimRevision: 0, alternates: [] } as unknown as BuildInstance;
    if (report) await this.report(order, 'destroyed');
  }

  async #select(instanceUuids: readonly string[]) {
    const destinations = [];
    for (const instanceUuid of instanceUuids) {
      const [held] = await this.placement.consumers([instanceUuid]);
      const claimed = held
        ? { host: hostOf(Object.keys(held.allocations)[0] ?? ''), claimRevision: held.claimRevision }
        : await this.#claimFirst(instanceUuid);
      if (!claimed) return { destinations: [], noValidHost: { ...NONE, summary: '0 of 3 hosts fit' } };
      const others = this.hosts.filter((host) => host !== claimed.host);
      const alternates = others.map((host) => this.#selection(instanceUuid, host));
      const selected = this.#selection(instanceUuid, claimed.host);
      destinations.push({ instanceUuid, selected, alternates, claimRevision: claimed.claimRevision });
    }
    return { destinations, noValidHost: undefined };
  }

  #selection(instanceUuid: string, host: string): Selection {
    const request = requestOn(instanceUuid, host);
    const serviceHost = this.serviceHosts.get(host) ?? '';
    return { host, cell: 'cell1', allocationRequest: sealer(KEY)(request)(request), serviceHost };
  }

  async #claimFirst(instanceUuid: string) {
    for (const host of this.hosts) {
      const consumers = [claimWrite(requestOn(instanceUuid, host))];
      const result = await this.placement.commit({ kind: 'write_allocations', atMs: this.clock.now(), consumers });
      if (result.kind === 'committed') return { host, claimRevision: result.change.revision };
    }
    return undefined;
  }
}

const NONE = { hostsConsidered: 3, hostsPassed: 0, filters: [], claimConflicts: 0 };

export function providerOf(host: string): string {
  return `00000000-0000-4000-8000-0000000000${host.slice(1).padStart(2, '0')}`;
}

function hostOf(providerUuid: string): string {
  return `h${Number(providerUuid.slice(-2))}`;
}

function requestOn(consumerUuid: string, host: string): AllocationRequest {
  const who = { projectId: 'project-1', userId: 'user-1', group: undefined, mappings: {} };
  return { consumerUuid, host, allocations: { [providerOf(host)]: { VCPU: 1 } }, ...who };
}
