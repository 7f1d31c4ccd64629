import { randomUUID } from 'node:crypto';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { ACK, type Bus, type Subscription } from '#libs/bus/port';
import { answer, castTyped } from '#libs/bus/typed-calls';
import {
  askHostCodec,
  type BuildInstance,
  type BuildReport,
  buildInstanceCodec,
  buildReportCodec,
  type DestroyInstance,
  destroyInstanceCodec,
} from '#libs/contracts/compute';
import { acquireHostsMethod, type HostGrant, releaseHostsMethod } from '#libs/contracts/host-leases';
import { type Identity, SERVICE } from '#libs/contracts/identity';
import type { PowerReport, SetPowerState } from '#libs/contracts/power';
import { powerReportCodec, setPowerStateCodec } from '#libs/contracts/power';
import { agentQueue, BUILD_RESULTS, STATS } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type AnswerHostRequest, answerHostMethod } from '#libs/contracts/selection';
import { type UpdateResourceStatsRequest, updateResourceStatsMethod } from '#libs/contracts/stats';
import type { Resources } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import type { RequestSpec } from '#libs/domain/request-spec';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { Running } from '#libs/runtime/service';
import { Inbox } from '#libs/testing/bus/inbox';
import { fakeClock } from '#libs/testing/fake-clock';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import type { OpenDriver } from '../drivers/driver';
import type { FakeDriver } from '../drivers/fake';
import { driverFromConfig } from '../drivers/open-driver';
import { decodeBuildOrder } from '../host/build-order';
import type { BuildOrder } from '../host/tracked-instance';
import { agentOptions } from '../options';
import { startComputeAgent } from '../start';

/** A build order as tests describe it; omitted fields have defaults. */
export type BuildFields = Partial<Omit<BuildInstance, 'requestSpec'>> & { readonly requestSpec?: RequestSpec };

/** An agent, by default of the host h1, on a bus in memory; its scheduler and conductor only listen. */
export class AgentWorld {
  readonly clock = fakeClock();
  /** Reports to the scheduler, with their time. */
  readonly stats = new Inbox<UpdateResourceStatsRequest & { readonly atMs: number; readonly sender: string }>();
  /** Reports to the conductor. */
  readonly results = new Inbox<BuildReport>();
  readonly powerReports = new Inbox<PowerReport>();
  /** Answers to schedulers that ask. */
  readonly answers = new Inbox<AnswerHostRequest>();
  /** The scheduler's answer about an operator's disabling of the host. */
  disabled: { readonly reason: string } | undefined;
  /** The scheduler's answer to stats; when it throws, they are rejected. */
  onStats: () => Promise<void> = async () => {};
  /** The driver of the host opened last. */
  driver: FakeDriver | undefined;
  /** Changes a newly opened driver. */
  onOpenDriver: (driver: FakeDriver) => void = () => {};
  metrics = createMetrics({});
  readonly #broker = new MemoryBroker(this.clock, silentLog);
  readonly #agents: Running[] = [];
  #serviceHost = 'h1';
  readonly bus = this.openBus();

  openBus(identity: Identity = SERVICE): Bus {
    return new MemoryBus(this.#broker, identity, readConfig(busOptions, {}), this.around());
  }

  around() {
    return { clock: this.clock, random: seededRandom(1), log: silentLog, metrics: this.metrics };
  }

  /** The holders of hosts; a test may set another run. */
  readonly holders = new Map<string, { readonly epoch: number; readonly run: string; readonly untilMs: number }>();
  /** The hosts of each acquisition. */
  readonly acquisitions: (readonly string[])[] = [];
  readonly released: string[] = [];

  /** A scheduler that takes stats, and grants agents their hosts. */
  serveStats(): Promise<Subscription> {
    const take = answer(updateResourceStatsMethod, async (stats, { sender }) => {
      await this.onStats();
      this.stats.put({ ...stats, atMs: this.clock.now(), sender });
      const { wantsAllocationRequests, disabled } = this;
      return { sequence: stats.sequence, wantsAllocationRequests, atMs: this.#storeNowMs(), disabled };
    });
    const heard = answer(answerHostMethod, async (said) => {
      this.answers.put(said);
      return { isAwaited: true };
    });
    return this.bus.serve(STATS, this.isOldScheduler ? take : { ...take, ...heard, ...this.#holderCalls() });
  }

  /** True for a scheduler version without epochs. */
  isOldScheduler = false;
  /** The store clock's lead; undefined when answers carry no time. */
  storeAheadMs: number | undefined;
  /** True when the scheduler's answers request allocation requests. */
  wantsAllocationRequests = false;

  #storeNowMs(): number {
    return this.storeAheadMs === undefined ? 0 : this.clock.now() + this.storeAheadMs;
  }

  #holderCalls() {
    const nowMs = () => this.clock.now();
    const acquire = (host: string, run: string, leaseMs: number): HostGrant => {
      const present = this.holders.get(host);
      if (present && present.run !== run && present.untilMs > nowMs()) {
        const heldForMs = present.untilMs - nowMs();
        return { epoch: 0, holderRun: present.run, holderServiceHost: 'another', heldForMs };
      }
      const epoch = present?.run === run ? present.epoch : (present?.epoch ?? 0) + 1;
      this.holders.set(host, { epoch, run, untilMs: nowMs() + leaseMs });
      return { epoch, holderRun: '', holderServiceHost: '', heldForMs: 0 };
    };
    return {
      ...answer(acquireHostsMethod, async ({ hosts, agentRun, leaseMs }) => {
        this.acquisitions.push(hosts);
        return { grants: hosts.map((host) => acquire(host, agentRun, leaseMs)), atMs: this.#storeNowMs() };
      }),
      ...answer(releaseHostsMethod, async ({ hosts }) => {
        for (const host of hosts) this.holders.delete(host);
        this.released.push(...hosts);
        return {};
      }),
    };
  }

  /** A conductor that takes results. */
  takeResults(): Promise<Subscription> {
    return this.bus.consume(BUILD_RESULTS, async (message) => {
      if (message.type === powerReportCodec.type) this.powerReports.put(powerReportCodec.decode(message.body));
      else this.results.put(buildReportCodec.decode(message.body));
      return ACK;
    });
  }

  /**
   * Starts an agent; `settings` lack their prefix `BERTH_AGENT_`. The fake driver runs the journal's running instances,
   * or only `running`.
   */
  async start(settings: Readonly<Record<string, string>> = {}, running?: readonly string[]): Promise<Running> {
    const env = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`BERTH_AGENT_${name}`, value]));
    const config = readConfig(agentOptions, { BERTH_AGENT_HOST: 'h1', ...env });
    this.#serviceHost = config.host;
    this.metrics = createMetrics({});
    const open = driverFromConfig(config, this.around());
    const driver: OpenDriver = async (identity, remembered) => {
      this.driver = (await open(identity, running ?? remembered)) as FakeDriver;
      this.onOpenDriver(this.driver);
      return this.driver;
    };
    const agent = await startComputeAgent({ bus: this.openBus(), config, driver, ...this.around() });
    this.#agents.push(agent);
    return agent;
  }

  /** Scheduler, conductor and agent. */
  async startAll(settings: Readonly<Record<string, string>> = {}): Promise<Running> {
    await this.serveStats();
    await this.takeResults();
    return this.start(settings);
  }

  /** Asks h1, as a scheduler does, about an instance with such amounts of its root provider; its answer. */
  async ask(resources: Resources): Promise<AnswerHostRequest | undefined> {
    const allocations = { [this.stats.items.at(-1)?.providerUuid ?? '']: resources };
    const about = { askId: randomUUID(), instanceUuid: randomUUID(), projectId: 'project-1' };
    const question = { ...about, host: 'h1', epoch: 0, allocations };
    const count = this.answers.items.length;
    await castTyped({ bus: this.bus, queue: this.orderQueue }, askHostCodec, question);
    return (await this.answers.has(count + 1)).at(-1);
  }

  /** The order queue of the agent started last. */
  get orderQueue(): string {
    return agentQueue(this.#serviceHost).name;
  }

  /** Orders a build, on h1 unless `fields` name another host. */
  build(fields: BuildFields = {}): Promise<void> {
    return castTyped({ bus: this.bus, queue: this.orderQueue }, buildInstanceCodec, aBuild(fields));
  }

  /** Orders a destroy, on h1 unless `fields` name another host; reported by default. */
  destroy(fields: Partial<DestroyInstance> & Pick<DestroyInstance, 'instanceUuid'>): Promise<void> {
    const claimed = { allocations: {}, mappings: {} };
    const destroy = { host: 'h1', attempt: 0, report: true, epoch: 0, claimToken: 0, ...claimed, ...fields };
    return castTyped({ bus: this.bus, queue: this.orderQueue }, destroyInstanceCodec, destroy);
  }

  /** Orders a stop or start of an instance on h1; by default after h1's last statement. */
  setPowerState(fields: Partial<SetPowerState> & Pick<SetPowerState, 'instanceUuid' | 'powerState'>): Promise<void> {
    const { epoch, position } = this.powerReports.items.at(-1) ??
      this.results.items.at(-1) ?? { epoch: 0, position: 0 };
    const restsOn = { restsOnEpoch: epoch, restsOnPosition: position };
    const claimed = { allocations: {}, mappings: {} };
    const order = { host: 'h1', attempt: 1, claimToken: 7, epoch: 0, ...restsOn, ...claimed, ...fields };
    return castTyped({ bus: this.bus, queue: this.orderQueue }, setPowerStateCodec, order);
  }

  /** Attempt, outcome and reason of all reports to the conductor. */
  outcomes(): string[] {
    return this.results.items.map(({ attempt, outcome, reason }) => `${attempt} ${outcome} ${reason}`.trim());
  }

  /** Runs pending promises and messages, without advancing time. */
  settle(): Promise<void> {
    return this.clock.advance(0);
  }

  async close(): Promise<void> {
    const agents = Promise.all(this.#agents.map((agent) => agent.close()));
    await this.clock.advance(60_000);
    await agents;
    const bus = this.bus.close();
    await this.clock.advance(60_000);
    await bus;
  }
}

/** A host's order to build one VCPU and 1 GiB on h1, without a deadline. */
export function anOrder(fields: BuildFields = {}): BuildOrder {
  return decodeBuildOrder(buildInstanceCodec.encode(aBuild(fields)));
}

/** The same, as a conductor's message. */
export function aBuild({ requestSpec = aRequestSpec(), ...fields }: BuildFields = {}): BuildInstance {
  return {
    instanceUuid: randomUUID(),
    requestId: randomUUID(),
    name: 'web-1',
    projectId: 'project-1',
    userId: 'user-1',
    requestSpec: requestSpecCodec.encode(requestSpec),
    host: 'h1',
    attempt: 1,
    claimToken: 7,
    alternates: [],
    deadlineAtMs: 0,
    timeLeftMs: 0,
    epoch: 0,
    allocationRequest: Uint8Array.of(1, 2, 3),
    allocations: {},
    mappings: {},
    powerState: 'running',
    ...fields,
  };
}
