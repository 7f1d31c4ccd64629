import { connectRedis } from '../redis/connect';
import type { Surroundings } from '../runtime/service';
import { MemoryPlacementStore } from './memory/placement-store';
import type { PlacementConfig } from './options';
import type { PlacementStore } from './port/placement-store';
import { RedisPlacementStore } from './redis/placement-store';
import { watchStore } from './watch-store';

/** The memory stores of this process, by cell: embedded services share them. */
const memoryStores = new Map<string, MemoryPlacementStore>();

/**
 * Opens the placement store that the configuration names, waiting until it is there, and watches it until it is closed.
 *
 * @throws BerthError `permission_denied / store_credentials`, `aborted / cancelled`.
 */
export async function openPlacementStore(
  config: PlacementConfig,
  surroundings: Surroundings & { readonly processName?: string },
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
  const store = new RedisPlacementStore(await connectRedis(storeUrl, options, signal), {
    cell,
    streamLength: storeStreamLength,
  });
  const closing = new AbortController();
  void watchStore(store, surroundings, closing.signal);
  const close = store.close.bind(store);
  return Object.assign(store, {
    close() {
      closing.abort();
      return close();
    },
  });
}
