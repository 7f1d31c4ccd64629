import { openBus } from '../bus/open';
import type { BusConfig } from '../bus/options';
import { TOP } from '../domain/cells/cell';
import { BerthError } from '../domain/errors';
import type { PlacementConfig } from '../placement/options';
import { connectToCell } from '../redis/schema';
import { createMetrics } from '../runtime/metrics';
import type { RuntimeDeps } from '../runtime/service';
import { type CellStore, memoryCellStore, redisCellStore } from './cell-store';

/** For the services of one process. */
let memoryStore: CellStore | undefined;

/** Opens what operators said of cells, in the store of the top. Errors as `openPlacementStore`. */
export async function openCellStore(
  { storeUrl, storeTimeoutMs: commandTimeoutMs, storeReplicas: replicas }: PlacementConfig,
  { log, clock, random }: RuntimeDeps,
): Promise<CellStore> {
  if (storeUrl === 'memory:') {
    memoryStore ??= memoryCellStore();
    return memoryStore;
  }
  const options = { log, clock, random, commandTimeoutMs, replicas, connectionName: 'berth-cells', onlyReads: false };
  return redisCellStore(await connectToCell(storeUrl, TOP, options), TOP);
}

/** Opens the bus of a cell for the top. Its metrics are kept apart: a process tells those of one bus, its own. */
export function openCellBus(config: { readonly busUrl: string } & BusConfig, cell: string, around: RuntimeDeps) {
  return openBus({ ...config, cell }, { ...around, metrics: createMetrics({}) });
}

/** @throws BerthError `invalid_argument / not_the_top` when a service of the top is told that it is of a cell. */
export function requireTop(cell: string): void {
  if (cell === TOP) return;
  const message = `BERTH_CELL is ${cell}, and this is a service of the top: set BERTH_CELL=${TOP}`;
  throw new BerthError('invalid_argument', 'not_the_top', message);
}
