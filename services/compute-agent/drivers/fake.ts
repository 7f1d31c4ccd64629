import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import type { Random } from '#libs/domain/random';
import type { Driver, Found, HostCapacity } from './driver';

/** What a fake host is like. */
export interface FakeHost {
  readonly capacity: HostCapacity;
  /** Median of what a build takes; 0 builds at once. */
  readonly latencyMs: number;
  /** Sigma of the log-normal distribution of latencies; 0 makes all the same. */
  readonly latencySpread: number;
  /** The share of builds that fail. */
  readonly failureRate: number;
  /** What something unmanaged uses. */
  readonly external: Resources;
  /** Uuids of instances that ran before and run still. */
  readonly survivors: readonly string[];
}

/** A driver whose instances are entries of a map. */
export interface FakeDriver extends Driver {
  /** Makes an instance stop by itself. */
  exit(uuid: string, why: string): void;
  /** Changes what something unmanaged uses. */
  setExternal(external: Resources): void;
}

/** Latencies above this many medians are cut: a rare build of an hour helps nobody. */
const LONGEST_LATENCY = 20;

/** A host that takes as long as it is told and fails as often; the same `random` gives the same host. */
export function fakeDriver(host: FakeHost, clock: Clock, random: Random): FakeDriver {
  const running = new Map<string, Resources>(host.survivors.map((uuid) => [uuid, {}]));
  let external = host.external;
  let onExit: (uuid: string, why: string) => void = () => {};

  const latency = () => {
    if (host.latencySpread === 0) return host.latencyMs;
    const factor = Math.exp(host.latencySpread * gaussian(random));
    return Math.round(host.latencyMs * Math.min(LONGEST_LATENCY, factor));
  };

  return {
    capacity: () => host.capacity,

    async build(instance, signal) {
      const fails = random.next() < host.failureRate;
      const latencyMs = latency();
      if (latencyMs > 0) await sleep(clock, latencyMs, signal);
      if (signal.aborted) throw new BerthError('aborted', 'cancelled', 'the build was cancelled');
      if (fails) throw new BerthError('internal', 'fake_failure', 'this build was made to fail');
      running.set(instance.uuid, instance.resources);
    },

    async destroy(uuid) {
      running.delete(uuid);
    },

    async list() {
      const found: Found[] = Array.from(running, ([id, resources]) => ({ id, resources }));
      if (Object.keys(external).length > 0) found.push({ id: 'fake-external', resources: external });
      return found;
    },

    onExit(listener) {
      onExit = listener;
    },

    exit(uuid, why) {
      if (running.delete(uuid)) onExit(uuid, why);
    },

    setExternal(changed) {
      external = changed;
    },

    async close() {},
  };
}

/** A number of the standard normal distribution (Box and Muller). */
function gaussian(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}
