import { authOptions } from '#libs/auth/options';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import type { Bus } from '#libs/bus/port';
import { seededRandom } from '#libs/domain/random';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import type { InstanceStore } from '#libs/instances/store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { consoleOptions } from '../options';
import type { StartBerth } from '../rehearsals/berth-process';
import { startConsole } from '../start';

/** A console in this process, on stores and a broker in memory; no scheduler and no conductor serve it. */
export interface World {
  readonly url: string;
  readonly placement: MemoryPlacementStore;
  readonly instances: InstanceStore;
  /** Another connection to its broker. */
  readonly bus: Bus;
  close(): Promise<void>;
}

/** `env` overrides default settings. */
export async function openWorld(
  env: Readonly<Record<string, string>> = {},
  placement = new MemoryPlacementStore(),
  instances: InstanceStore = memoryInstanceStore(systemClock()),
  berth?: StartBerth,
): Promise<World> {
  const clock = systemClock();
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const broker = new MemoryBroker(clock, silentLog);
  const connect = () => openBus({ busUrl: 'memory:' }, { ...around, metrics: createMetrics({}) }, broker);
  const [own, bus] = [await connect(), await connect()];
  const mirror = await Mirror.open(placement, { ...around, random: seededRandom(1) });
  const config = readConfig({ ...authOptions, ...consoleOptions }, { BERTH_CONSOLE_PORT: '0', ...env });
  const running = await startConsole({
    ...around,
    ...(berth ? { berth } : {}),
    bus: own,
    mirror,
    instances,
    placement,
    config,
  });
  return {
    url: running.url,
    placement,
    instances,
    bus,
    async close() {
      await running.close();
      await Promise.all([own.close(), bus.close()]);
      await mirror.close();
      await placement.close();
    },
  };
}
