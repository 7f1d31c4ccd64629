import type { Clock } from '../domain/clock';
import type { Random } from '../domain/random';
import { memoryPlacementStore } from '../placement/open';
import type { PlacementConfig } from '../placement/options';
import { connectToCell } from '../redis/schema';
import type { Log } from '../runtime/log';
import type { FlavorStore } from './flavor-store';
import { memoryFlavorStore } from './memory/flavor-store';
import { memoryInstanceStore } from './memory/instance-store';
import { memoryLeaseStore } from './memory/lease-store';
import { redisFlavorStore } from './redis/flavor-store';
import { redisInstanceStore } from './redis/instance-store';
import { redisLeaseStore } from './redis/lease-store';
import { type InstanceStore, type LeaseStore, MAX_OUTBOX } from './store';

/** All that is kept beside the placement of a cell. */
type CellStores = InstanceStore & LeaseStore & FlavorStore;

/** The memory stores of this process, by cell: embedded services share them. */
const memoryStores = new Map<string, CellStores>();

/**
 * Opens the instance records, leases and flavors of the store that the configuration names, with the settings of the placement
 * store, waiting until it is there. On Redis they have a connection of their own.
 *
 * @throws BerthError `permission_denied / store_credentials`, `aborted / cancelled`,
 *   `failed_precondition / store_too_new`, `/ store_too_old`.
 */
export async function openInstanceStore(
  config: Pick<PlacementConfig, 'cell' | 'storeUrl' | 'storeTimeoutMs' | 'storeReplicas'>,
  surroundings: {
    readonly log: Log;
    readonly clock: Clock;
    readonly random: Random;
    readonly processName?: string;
    readonly onlyReads?: boolean;
  },
  signal?: AbortSignal,
): Promise<CellStores> {
  const { cell, storeUrl, storeTimeoutMs: commandTimeoutMs, storeReplicas: replicas } = config;
  const { log, clock, random, processName = '', onlyReads = false } = surroundings;
  if (storeUrl === 'memory:') {
    const store = memoryStores.get(cell) ?? {
      ...memoryInstanceStore(clock, MAX_OUTBOX, memoryPlacementStore(cell)),
      ...memoryLeaseStore(clock),
      ...memoryFlavorStore(clock),
    };
    memoryStores.set(cell, store);
    return store;
  }
  const connectionName = `berth-instances:${processName}`;
  const client = await connectToCell(
    storeUrl,
    cell,
    { log, clock, random, commandTimeoutMs, replicas, connectionName, onlyReads },
    signal,
  );
  return { ...redisInstanceStore(client, cell), ...redisLeaseStore(client, cell), ...redisFlavorStore(client, cell) };
}
