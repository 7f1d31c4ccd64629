import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import type { Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type SelectDestinationsResponse, selectDestinationsMethod } from '#libs/contracts/selection';
import { sleep } from '#libs/domain/clock';
import type { RequestSpec } from '#libs/domain/request-spec';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aReport, mustReport } from '#libs/testing/placement/placement';
import { type Child, startChild } from '#libs/testing/servers/child';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { type Client, openClient } from '../../services/placement-api/testing/client';
import { type OwnVirtualHost, ownVirtualHost } from '../shared-servers';
import { traceStore } from '../sim/model/trace/store-trace';

type OpenedClient = ReturnType<typeof openClient>;
type Inventories = NonNullable<Parameters<typeof aReport>[0]>['inventories'];

const clock = systemClock();
const NEVER_SILENT_MS = 3_600_000;

/** Two placement APIs and optionally two schedulers: real processes on a private Redis and a private RabbitMQ. */
export class TestCell {
  private constructor(
    readonly store: PlacementStore,
    readonly bus: Bus,
    private readonly broker: OwnVirtualHost,
    private readonly redis: TestServer,
    private readonly children: Child[],
    private readonly schedulerUrls: readonly string[],
    /** A client of each API. */
    readonly apis: readonly [OpenedClient, OpenedClient],
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  /** @param settings  of all its processes */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<TestCell> {
    const [broker, redis] = await Promise.all([ownVirtualHost(), startRedis({ appendOnly: true })]);
    const env = { BERTH_BUS_URL: broker.url, BERTH_STORE_URL: redis.url, BERTH_HTTP_PORT: '0', ...settings };
    const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
    const [store, bus] = await Promise.all([
      openPlacementStore(readConfig(placementOptions, env), around),
      openBus({ ...readConfig(busOptions, {}), busUrl: broker.url }, around),
    ]);
    const children = ['placement-api', 'placement-api', 'scheduler', 'scheduler'].map((name) => launch(name, env));
    const [a, b] = await Promise.all(children.slice(0, 2).map(listens));
    const schedulerUrls = await Promise.all(children.slice(2).map(runs));
    const apis = [openClient(a ?? ''), openClient(b ?? '')] as const;
    return new TestCell(store, bus, broker, redis, children, schedulerUrls, apis, env);
  }

  /** For commands that use this cell's bus. */
  get commandEnv(): Readonly<Record<string, string>> {
    return { BERTH_BUS_URL: this.broker.url };
  }

  /** One of the APIs, in turn. */
  api(n: number): Client {
    return this.apis[n % 2] as Client;
  }

  /** One more process, with settings of its own, until the cell stops. */
  async launch(name: string, settings: Readonly<Record<string, string>>): Promise<void> {
    const child = launch(name, { ...this.env, ...settings });
    this.children.push(child);
    await child.says('"msg":"running"');
  }

  /** Reports a host that stays up as long as any test runs, to all schedulers; returns its provider's uuid. */
  async reportHost(host: string, inventories: Inventories): Promise<string> {
    const providerUuid = systemRandom.uuid();
    const report = aReport({ host, providerUuid, ...(inventories ? { inventories } : {}) });
    await mustReport(this.store, { ...report, atMs: clock.now() });
    await this.store.reportHost({ ...report, sequence: 2, atMs: clock.now() + NEVER_SILENT_MS });
    await this.#schedulersSee(await this.store.revision());
    return providerUuid;
  }

  /** A report is written past the schedulers here: either of them may see it later than it is asked. */
  async #schedulersSee(revision: number): Promise<void> {
    const revisions = () => Promise.all(this.schedulerUrls.map(mirrorRevision));
    await eventually(`schedulers at ${revision}`, async () => (await revisions()).every((seen) => seen >= revision));
  }

  /** Asks the schedulers for a host for one instance. */
  select(instanceUuid: string, requestSpec: RequestSpec): Promise<SelectDestinationsResponse> {
    const requestId = systemRandom.uuid();
    const request = {
      requestId,
      requestSpec: requestSpecCodec.encode(requestSpec),
      instanceUuids: [instanceUuid],
      numAlternates: 0,
    };
    return callMethod({ bus: this.bus, queue: RPC_SCHEDULER }, selectDestinationsMethod, request, {
      timeoutMs: 20_000,
    });
  }

  /** Ends all processes. @throws when the store took a step that is none of the model's */
  async stop(): Promise<void> {
    for (const client of this.apis) client.close();
    for (const child of this.children) child.process.kill('SIGKILL');
    await Promise.all(this.children.map(({ exit }) => exit));
    await Promise.allSettled([this.bus.close(), this.store.close()]);
    const { broken } = traceStore(this.redis.folder);
    await Promise.all([this.broker.stop(), this.redis.stop()]);
    if (broken !== undefined) throw new Error(broken);
  }
}

/** Polls until the condition holds. */
export async function eventually(what: string, isSo: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  for (const untilMs = clock.now() + timeoutMs; !(await isSo()); await sleep(clock, 50)) {
    if (clock.now() > untilMs) throw new Error(`never became true: ${what}`);
  }
}

function launch(name: string, env: Readonly<Record<string, string>>): Child {
  return startChild('services/cli/main.ts', [name], { ...env, BERTH_PLACEMENT_PORT: '0' });
}

async function listens(child: Child): Promise<string> {
  const line = /"event":"api_listening"[^\n]*"url":"(http:[^"]+)"/;
  await child.says(line);
  return line.exec(child.stdout() + child.stderr())?.[1] ?? '';
}

/** Where a process answers operators. */
async function runs(child: Child): Promise<string> {
  await child.says('"msg":"running"');
  const line = /"url":"(http:[^"]+)"[^\n]*"msg":"running"/;
  return line.exec(child.stdout() + child.stderr())?.[1] ?? '';
}

async function mirrorRevision(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^berth_scheduler_mirror_revision(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1] ?? 0);
}
