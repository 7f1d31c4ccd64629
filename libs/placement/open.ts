import type { Clock } from '../domain/clock';
import { connectToCell } from '../redis/schema';
import type { RuntimeDeps } from '../runtime/service';
import { measureCommits } from './measure-commits';
import { MemoryPlacementStore } from './memory/placement-store';
import type { PlacementConfig } from './options';
import type { PlacementStore } from './port/placement-store';
import { RedisPlacementStore } from './redis/placement-store';
import { storeClock } from './store-clock';
import { watchStore } from './watch-store';

/** The memory stores of this process, by cell: embedded services share them. */
const memoryStores = new Map<string, MemoryPlacementStore>();

/** The memory store of a cell in this process. */
export function memoryPlacementStore(cell: string, streamLength?: number): MemoryPlacementStore {
  const store = memoryStores.get(cell) ?? new MemoryPlacementStore(streamLength);
  memoryStores.set(cell, store);
  return store;
}

/** A store, and the clock by which its users stamp what they write: the store's own, if it has one. */
export type OpenedPlacementStore = PlacementStore & { readonly clock: Clock };

/**
 * Opens the placement store that the configuration names, waiting until it is there, and watches it until it is closed.
 *
 * @throws BerthError `permission_denied / store_credentials`, `aborted / cancelled`,
 *   `failed_precondition / store_too_new`, `/ store_too_old`.
 */
export async function openPlacementStore(
  config: PlacementConfig,
  surroundings: RuntimeDeps & { readonly processName?: string; readonly onlyReads?: boolean },
  signal?: AbortSignal,
): Promise<OpenedPlacementStore> {
  const { cell, storeUrl, storeTimeoutMs, storeReplicas, storeStreamLength } = config;
  if (storeUrl === 'memory:') {
    return Object.assign(memoryPlacementStore(cell, storeStreamLength), { clock: surroundings.clock });
  }
  const connectionName = `berth-placement:${surroundings.processName ?? ''}`;
  const { log, clock: ownClock, random, onlyReads = false } = surroundings;
  const timeouts = { commandTimeoutMs: storeTimeoutMs, replicas: storeReplicas };
  const options = { log, clock: ownClock, random, ...timeouts, connectionName, onlyReads };
  const client = await connectToCell(storeUrl, cell, options, signal);
  const store = new RedisPlacementStore(client, { cell, streamLength: storeStreamLength });
  const closing = new AbortController();
  const clock = storeClock(ownClock);
  const askedAtMs = clock.elapsed();
  const identity = await store.identify().catch(() => undefined);
  if (identity?.nowMs !== undefined) clock.set(identity.nowMs, askedAtMs);
  void watchStore(store, { ...surroundings, clock }, closing.signal);
  const close = store.close.bind(store);
  return Object.assign(store, {
    clock,
    commit: measureCommits(store, surroundings),
    close() {
      closing.abort();
      return close();
    },
  });
}
