import type { Resources } from '#libs/domain/inventory';
import { type Random, randomInt, seededRandom } from '#libs/domain/random';
import { type FakeClock, fakeClock } from '#libs/testing/fake-clock';
import { type EmbeddedFleet, startEmbedded } from '../../services/cli/embedded/fleet';
import type { Bench, BenchContext, Results } from './harness';

/* Retries of builds because a host has less capacity than schedulers know. */

/** Report settings of the hosts' agents. */
const REPORTS = {
  /** Reports any change within seconds. */
  on_change: { LOOK_INTERVAL_MS: '2000', REPORT_MIN_INTERVAL_MS: '1000' },
  /** Reports changes at builds, and once a minute. */
  on_builds: { LOOK_INTERVAL_MS: '3600000', REPORT_MIN_INTERVAL_MS: '1000' },
  once_a_minute: { LOOK_INTERVAL_MS: '3600000', REPORT_MIN_INTERVAL_MS: '60000' },
} as const;

/** Unmanaged share of the workloads, in percent. Managed ones are claimed, and never stale. */
const UNMANAGED_PERCENT = [0, 10, 25, 50, 75];

const HOST_VCPUS = 16;
const MAX_VCPUS = 4;
const MEAN_VCPUS = (1 + MAX_VCPUS) / 2;
/** The used share of the fleet if all workloads fit. */
const TARGET_USE = 0.95;
const MEAN_LIFE_S = 120;
const WARM_UP_S = 300;

/**
 * A mixed fleet on virtual time: builds, and workloads that Berth does not manage, come and go on the same hosts.
 * Nova's old alternatives, schedulers that share the hosts' reported state or that claim from resource providers, are
 * its two ends: without unmanaged workloads all capacity is claimed in the store; the more are unmanaged, the more is
 * known from reports alone.
 */
export const stalenessBench: Bench = {
  name: 'staleness',
  purpose: 'retries of builds on a fleet where unmanaged workloads come and go, by when hosts report; on virtual time',
  flags: {
    hosts: '50',
    seconds: '1800, of virtual time',
    plot: 'FILE, for an SVG',
  },
  async run(context) {
    const { flags } = context;
    const hosts = Number(flags['hosts'] ?? 50);
    const seconds = Number(flags['seconds'] ?? 1_800);
    const results: Record<string, number | string> = { hosts, seconds };
    for (const [name, settings] of Object.entries(REPORTS)) {
      for (const percent of UNMANAGED_PERCENT) {
        const outcome = await measure(hosts, seconds, percent / 100, settings);
        for (const [figure, value] of Object.entries(outcome)) results[`${name}_${percent}_${figure}`] = value;
      }
    }
    plot(results, context);
    return results;
  },
};

interface Tally {
  builds: number;
  attempts: number;
  refused: number;
  errors: number;
}

async function measure(hosts: number, seconds: number, share: number, reports: Readonly<Record<string, string>>) {
  const world = new MixedFleet(hosts, share);
  await world.open(reports);
  await world.run(WARM_UP_S);
  const before = { ...world.tally };
  await world.run(seconds);
  const { tally } = world;
  await world.close();
  const since = (key: keyof Tally) => tally[key] - before[key];
  const percent = (part: number, whole: number) => (whole === 0 ? 0 : Math.round((1_000 * part) / whole) / 10);
  return {
    builds: since('builds'),
    retry_percent: percent(since('refused'), since('attempts')),
    error_percent: percent(since('errors'), since('builds')),
  };
}

class MixedFleet {
  readonly tally: Tally = { builds: 0, attempts: 0, refused: 0, errors: 0 };
  readonly #clock: FakeClock = fakeClock();
  readonly #random: Random = seededRandom(15);
  /** Unmanaged VCPUs, by host. */
  readonly #unmanaged = new Map<string, number>();
  #fleet: EmbeddedFleet | undefined;
  #isClosing = false;

  constructor(
    private readonly hosts: number,
    private readonly share: number,
  ) {}

  async open(reports: Readonly<Record<string, string>>): Promise<void> {
    const env = Object.fromEntries(Object.entries(reports).map(([name, value]) => [`BERTH_AGENT_${name}`, value]));
    const interval = { BERTH_AGENT_REPORT_INTERVAL_MS: '60000', BERTH_SCHEDULER_HOST_TIMEOUT_MS: '300000' };
    const interrupted = new AbortController().signal;
    const context = { env: { ...env, ...interval }, clock: this.#clock, random: this.#random, interrupted };
    const size = { schedulers: 2, conductors: 1, hosts: this.hosts, shape: { VCPU: HOST_VCPUS } };
    const starting = startEmbedded(context, { ...size, failureRate: 0, latencyMs: 3_000 });
    this.#fleet = await this.#whileTimePasses(starting);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#whileTimePasses(this.#fleet?.close() ?? Promise.resolve());
  }

  async run(seconds: number): Promise<void> {
    const perSecond = (TARGET_USE * this.hosts * HOST_VCPUS) / (MEAN_VCPUS * MEAN_LIFE_S);
    for (let second = 0; second < seconds; second++) {
      const [managed, unmanaged] = [perSecond * (1 - this.share), perSecond * this.share].map((mean) =>
        this.#count(mean),
      );
      for (let n = 0; n < (managed ?? 0); n++) this.#start(this.#build());
      for (let n = 0; n < (unmanaged ?? 0); n++) await this.#runUnmanaged();
      await this.#clock.advance(1_000);
    }
  }

  /** Starts a build, counts its outcome, and ends it after its lifetime. */
  async #build(): Promise<void> {
    const client = this.#fleet?.client;
    const spec = { projectId: 'bench', userId: 'bench', resources: { VCPU: this.#vcpus() } };
    const lifeMs = this.#lifeMs();
    const [event] = (await client?.buildAndWait({ spec })) ?? [];
    if (!client || !event) return;
    const { attempts } = await client.instance(event.instanceUuid);
    const tried = attempts.filter(({ outcome }) => outcome !== 'not_claimed');
    this.tally.builds += 1;
    this.tally.attempts += tried.length;
    this.tally.refused += tried.filter(({ outcome }) => outcome === 'refused').length;
    if (event.state === 'error') this.tally.errors += 1;
    else this.#clock.after(lifeMs, () => this.#start(client.terminate(event.instanceUuid)));
  }

  /** Starts an unmanaged workload on any host where it fits, and ends it after its lifetime. */
  async #runUnmanaged(): Promise<void> {
    const names = [...(this.#fleet?.drivers.keys() ?? [])];
    const name = names[randomInt(this.#random, names.length)] ?? '';
    const vcpus = this.#vcpus();
    const running = (await this.#fleet?.drivers.get(name)?.list()) ?? [];
    const used = running.reduce((sum, { resources }) => sum + (resources['VCPU'] ?? 0), 0);
    if (used + vcpus > HOST_VCPUS) return;
    this.#changeUnmanaged(name, vcpus);
    this.#clock.after(this.#lifeMs(), () => this.#changeUnmanaged(name, -vcpus));
  }

  #changeUnmanaged(name: string, by: number): void {
    const vcpus = (this.#unmanaged.get(name) ?? 0) + by;
    this.#unmanaged.set(name, vcpus);
    const external: Resources = vcpus === 0 ? {} : { VCPU: vcpus };
    this.#fleet?.drivers.get(name)?.setExternal(external);
  }

  /** Abandons work in progress at the end. */
  #start(work: Promise<void>): void {
    work.catch((thrown: unknown) => {
      if (!this.#isClosing) throw thrown;
    });
  }

  #vcpus(): number {
    return 1 + randomInt(this.#random, MAX_VCPUS);
  }

  /** Exponential: most lifetimes are short. */
  #lifeMs(): number {
    return -Math.log(1 - this.#random.next()) * MEAN_LIFE_S * 1_000;
  }

  /** A random number of arrivals in a second, with this mean. */
  #count(mean: number): number {
    return Math.floor(mean + this.#random.next());
  }

  async #whileTimePasses<T>(work: Promise<T>): Promise<T> {
    const done = new AbortController();
    const result = work.finally(() => done.abort());
    while (!done.signal.aborted) await this.#clock.advance(100);
    return result;
  }
}

/** Bars of the share of attempts that a host refused. */
function plot(results: Results, context: BenchContext): void {
  context.note('attempts that a host refused, by the share of unmanaged workloads');
  for (const percent of UNMANAGED_PERCENT) {
    for (const name of Object.keys(REPORTS)) {
      const value = Number(results[`${name}_${percent}_retry_percent`]);
      const label = name.replaceAll('_', ' ').padEnd(14);
      context.note(`${String(percent).padStart(3)} %  ${label} ${'█'.repeat(Math.ceil(value * 2))} ${value} %`);
    }
  }
}
