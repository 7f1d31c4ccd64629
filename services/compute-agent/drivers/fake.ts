import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import type { Random } from '#libs/domain/random';
import type { Driver, HostCapacity, InstanceToBuild, RunningWorkload } from './driver';
import { type FakeMoves, fakeMoves, NO_FAKE_MOVES } from './fake-moves';

/** Parameters of a fake host. */
export interface FakeHost {
  readonly capacity: HostCapacity;
  /** The median duration of a build; 0 builds at once. */
  readonly latencyMs: number;
  /** Sigma of the log-normal distribution of durations; 0 makes all equal the median. */
  readonly latencySpread: number;
  /** The share of builds that fail. */
  readonly failureRate: number;
  /** Usage that Berth does not manage. */
  readonly external: Resources;
  /** Parameters of its moves; default: at once, without failures. */
  readonly moves?: FakeMoves;
  /** Uuids of instances that run from the start. */
  readonly running: readonly string[];
}

/** A driver whose instances are entries of a map. */
export interface FakeDriver extends Driver {
  /** Makes an instance exit. */
  exit(uuid: string, why: string): void;
  /** Changes the usage that Berth does not manage. */
  setExternal(resources: Resources): void;
  /** Sets the share of later builds that fail. */
  setFailureRate(share: number): void;
  /** The build input of an instance that this run built. */
  built(uuid: string): InstanceToBuild | undefined;
  /** Data of the instances, by uuid; it moves with them. */
  readonly data: Map<string, string>;
}

/** The tail of the distribution is cut at this many medians. */
const MAX_LATENCY_MEDIANS = 20;

/** A driver for demos, load and tests: instances are entries of a map. The same `random` gives the same builds. */
export function fakeDriver(host: FakeHost, clock: Clock, random: Random): FakeDriver {
  const running = new Map<string, Resources>(host.running.map((uuid) => [uuid, {}]));
  const stopped = new Map<string, Resources>();
  const given = new Map<string, InstanceToBuild>();
  const data = new Map<string, string>();
  let onExit: (uuid: string, why: string) => void = () => {};
  let { external, failureRate } = host;

  const latency = () => {
    if (host.latencySpread === 0) return host.latencyMs;
    const factor = Math.exp(host.latencySpread * gaussian(random));
    return Math.round(host.latencyMs * Math.min(MAX_LATENCY_MEDIANS, factor));
  };

  const driver: FakeDriver = {
    capacity: () => host.capacity,

    async build(instance, signal) {
      const fails = random.next() < failureRate;
      const latencyMs = latency();
      if (latencyMs > 0) await sleep(clock, latencyMs, signal);
      if (signal.aborted) throw new BerthError('aborted', 'cancelled', 'the build was cancelled');
      if (fails) throw new BerthError('internal', 'fake_failure', 'this build was made to fail');
      (instance.powerState === 'shutdown' ? stopped : running).set(instance.uuid, instance.resources);
      given.set(instance.uuid, instance);
    },

    async destroy(uuid) {
      running.delete(uuid);
      stopped.delete(uuid);
      data.delete(uuid);
    },

    async stop(uuid) {
      const resources = running.get(uuid);
      if (resources && running.delete(uuid)) stopped.set(uuid, resources);
    },

    async start(uuid, fence) {
      if (running.has(uuid)) return;
      fence?.();
      running.set(uuid, stopped.get(uuid) ?? {});
      stopped.delete(uuid);
      given.delete(uuid);
    },

    async list() {
      const workloads: RunningWorkload[] = Array.from(running, ([id, resources]) => ({ id, resources }));
      if (Object.keys(external).length > 0) {
        workloads.push({ id: 'fake-external', resources: external });
      }
      return workloads;
    },

    onExit(listener) {
      onExit = listener;
    },

    built: (uuid) => given.get(uuid),
    data,

    exit(uuid, why) {
      given.delete(uuid);
      if (running.delete(uuid)) onExit(uuid, why);
    },

    setFailureRate(share) {
      failureRate = share;
    },

    setExternal(resources) {
      external = resources;
    },

    async close() {},
  };
  const build: FakeDriver['build'] = (instance, signal) => driver.build(instance, signal);
  const instances = { running, stopped, data, build };
  return { ...driver, moves: fakeMoves(instances, host.moves ?? NO_FAKE_MOVES, clock, random) };
}

/** A sample of the standard normal distribution (Box and Muller). */
function gaussian(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}
