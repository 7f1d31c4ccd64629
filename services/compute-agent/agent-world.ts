import { randomUUID } from 'node:crypto';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { ACK, type Bus, type Subscription } from '#libs/bus/port';
import { buildInstanceCodec, buildReportCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import type { BuildInstance, BuildReport, DestroyInstance, UpdateResourceStatsRequest } from '#libs/contracts/messages';
import { answer, castTyped } from '#libs/contracts/rpc';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { agentQueue, BUILD_RESULTS, STATS } from '#libs/contracts/topology';
import { seededRandom } from '#libs/domain/random';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { Running } from '#libs/runtime/service';
import { fakeClock } from '#libs/testing/fake-clock';
import { Inbox } from '#libs/testing/inbox';
import { aRequestSpec } from '#libs/testing/request-spec';
import { startComputeAgent } from './agent';
import type { OpenDriver } from './drivers/driver';
import type { FakeDriver } from './drivers/fake';
import { driverFromConfig } from './drivers/open-driver';
import { agentOptions } from './options';

/** An agent of one host, h1, among a scheduler and a conductor that only listen, on a bus in memory. For tests. */
export class AgentWorld {
  readonly clock = fakeClock();
  /** What the scheduler was told, and when. */
  readonly stats = new Inbox<UpdateResourceStatsRequest & { readonly atMs: number; readonly sender: string }>();
  /** What the conductors were told. */
  readonly results = new Inbox<BuildReport>();
  /** How the scheduler takes stats: by throwing it refuses them. */
  onStats: () => Promise<void> = async () => {};
  /** The driver of the host that was opened last. */
  driver: FakeDriver | undefined;
  metrics = createMetrics({});
  readonly #broker = new MemoryBroker(this.clock, silentLog);
  readonly #running: Running[] = [];
  readonly bus = this.openBus();

  openBus(): Bus {
    return new MemoryBus(this.#broker, readConfig(busOptions, {}), this.around());
  }

  around() {
    return { clock: this.clock, random: seededRandom(1), log: silentLog, metrics: this.metrics };
  }

  /** A scheduler that takes stats. */
  serveStats(): Promise<Subscription> {
    const take = answer(updateResourceStatsMethod, async (stats, { sender }) => {
      await this.onStats();
      this.stats.put({ ...stats, atMs: this.clock.now(), sender });
      return { sequence: stats.sequence };
    });
    return this.bus.serve(STATS, take);
  }

  /** A conductor that takes results. */
  takeResults(): Promise<Subscription> {
    return this.bus.consume(BUILD_RESULTS, async (message) => {
      this.results.put(buildReportCodec.decode(message.body));
      return ACK;
    });
  }

  /**
   * Starts an agent; `settings` are as in the environment, without `BERTH_AGENT_`. What its journal says runs still runs,
   * or only `survivors`.
   */
  async start(settings: Readonly<Record<string, string>> = {}, survivors?: readonly string[]): Promise<Running> {
    const env = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`BERTH_AGENT_${name}`, value]));
    const config = readConfig(agentOptions, { BERTH_AGENT_HOST: 'h1', ...env });
    this.metrics = createMetrics({});
    const open = driverFromConfig(config, this.around());
    const driver: OpenDriver = async (identity, carried) => {
      this.driver = (await open(identity, survivors ?? carried)) as FakeDriver;
      return this.driver;
    };
    const running = await startComputeAgent({ bus: this.openBus(), config, driver, ...this.around() });
    this.#running.push(running);
    return running;
  }

  /** Scheduler, conductor and agent. */
  async startAll(settings: Readonly<Record<string, string>> = {}): Promise<Running> {
    await this.serveStats();
    await this.takeResults();
    return this.start(settings);
  }

  /** Orders a build, by the queue of h1 or that of a service host. */
  build(fields: Partial<BuildInstance> = {}, queue = agentQueue('h1').name): Promise<void> {
    return castTyped(this.bus, queue, buildInstanceCodec, aBuild(fields));
  }

  destroy(fields: Partial<DestroyInstance> & Pick<DestroyInstance, 'instanceUuid'>): Promise<void> {
    const destroy = { attempt: 0, report: true, ...fields };
    return castTyped(this.bus, agentQueue('h1').name, destroyInstanceCodec, destroy);
  }

  /** What the conductors were told so far, short. */
  outcomes(): string[] {
    return this.results.items.map(({ attempt, outcome, reason }) => `${attempt} ${outcome} ${reason}`.trim());
  }

  /** Lets what is under way go on, without time passing. */
  settle(): Promise<void> {
    return this.clock.advance(0);
  }

  async close(): Promise<void> {
    const agents = Promise.all(this.#running.map((running) => running.close()));
    await this.clock.advance(60_000);
    await agents;
    const bus = this.bus.close();
    await this.clock.advance(60_000);
    await bus;
  }
}

/** An order to build one VCPU and 1 GiB on h1, without a deadline. */
export function aBuild(fields: Partial<BuildInstance> = {}): BuildInstance {
  return {
    instanceUuid: randomUUID(),
    requestId: randomUUID(),
    name: 'web-1',
    projectId: 'project-1',
    userId: 'user-1',
    requestSpec: aRequestSpec(),
    host: 'h1',
    attempt: 1,
    claimRevision: 7,
    alternates: [],
    deadlineAtMs: 0,
    ...fields,
  };
}
