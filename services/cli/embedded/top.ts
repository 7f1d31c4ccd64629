import type { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import type { Bus } from '#libs/bus/port';
import { CellLink } from '#libs/cells/cell-link';
import { memoryCellStore } from '#libs/cells/cell-store';
import { Client } from '#libs/client/client';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { TOP } from '#libs/domain/cells/cell';
import { memoryFlavorStore } from '#libs/instances/memory/flavor-store';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { memoryLeaseStore } from '#libs/instances/memory/lease-store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { Running, RuntimeDeps } from '#libs/runtime/service';
import { topConductorOptions } from '../../top-conductor/options';
import { startTopConductor } from '../../top-conductor/start';
import { topSchedulerOptions } from '../../top-scheduler/options';
import { startTopScheduler } from '../../top-scheduler/start';
import type { FleetContext } from './fleet';

/** The top of a fleet of cells in this process. */
export interface EmbeddedTop {
  /** A client of the whole fleet. */
  readonly client: Client;
  /** Stops its services; records stay. */
  stop(): Promise<void>;
  /** Starts them again. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const CALL_TIMEOUT_MS = 30_000;

/** Starts a scheduler and a conductor of the top on the broker that the cells are on. */
export async function startEmbeddedTop(
  { clock, random, env }: FleetContext,
  broker: MemoryBroker,
  cells: readonly string[],
): Promise<EmbeddedTop> {
  const around = (): RuntimeDeps => ({ clock, random, log: silentLog, metrics: createMetrics({}) });
  const connect = (cell = TOP): Promise<Bus> => openBus({ busUrl: 'memory:', cell }, around(), broker);
  const states = memoryCellStore();
  const placement = new MemoryPlacementStore();
  const stores = {
    instances: memoryInstanceStore(clock),
    leases: memoryLeaseStore(clock),
    flavors: memoryFlavorStore(clock),
    placement,
  };
  const clientBus = await connect();
  await clientBus.declare(BUILD_REQUESTS);
  const client = new Client(clientBus, { clock, random, timeoutMs: CALL_TIMEOUT_MS, retryForMs: 0 });
  let opened: { close(): Promise<void> }[] = [];

  const start = async () => {
    const bus = await connect();
    const links = cells.map((cell) => new CellLink(cell, () => connect(cell), around()));
    const mirror = await Mirror.open(placement, around());
    const scheduling = {
      ...around(),
      bus,
      placement,
      mirror,
      cells: states,
      links,
      config: readConfig(topSchedulerOptions, env),
    };
    const scheduler: Running = await startTopScheduler(scheduling);
    const ownBus = await connect();
    const config = readConfig(topConductorOptions, env);
    const conducting = { ...around(), ...stores, bus: ownBus, cells, openCell: connect, config };
    opened = [bus, ownBus, mirror, ...links, scheduler, await startTopConductor(conducting)];
  };
  const stop = async () => {
    for (const one of opened.splice(0).toReversed()) await one.close();
  };
  await start();
  return {
    client,
    start,
    stop,
    async close() {
      await stop();
      await client.close();
      await clientBus.close();
    },
  };
}
