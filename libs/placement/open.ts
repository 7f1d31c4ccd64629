import type { Random } from '../domain/random';
import { connectRedis } from '../redis/connect';
import type { Log } from '../runtime/log';
import { MemoryPlacementStore } from './memory/placement-store';
import type { PlacementConfig } from './options';
import type { PlacementStore } from './port/placement-store';
import { RedisPlacementStore } from './redis/placement-store';

/** The memory stores of this process, by cell: embedded services share them. */
const memoryStores = new Map<string, MemoryPlacementStore>();

/**
 * Opens the placement store that the configuration names, waiting until it is there.
 *
 * @throws BerthError `permission_denied / store_credentials`, `aborted / cancelled`.
 */
export async function openPlacementStore(
  config: PlacementConfig,
  surroundings: { readonly log: Log; readonly random: Random; readonly processName?: string },
  signal?: AbortSignal,
): Promise<PlacementStore> {
  const { cell, storeUrl, storeTimeoutMs, storeReplicas, storeStreamLength } = config;
  if (storeUrl === 'memory:') {
    const store = memoryStores.get(cell) ?? new MemoryPlacementStore(storeStreamLength);
    memoryStores.set(cell, store);
    return store;
  }
  const connectionName = `berth-placement:${surroundings.processName ?? ''}`;
  const { log, random } = surroundings;
  const options = { log, random, commandTimeoutMs: storeTimeoutMs, replicas: storeReplicas, connectionName };
  return new RedisPlacementStore(await connectRedis(storeUrl, options, signal), {
    cell,
    streamLength: storeStreamLength,
  });
}
