import { truthOf } from '#libs/domain/extra-specs/truth';
import type { HostCell, PciPool } from './host-hardware';
import type { PciRequest } from './wanted-hardware';

/** Where an instance's NUMA nodes are: ids of the host's cells. */
type CellIds = readonly number[];

/**
 * The pools that are left when PCI devices of all requests are taken, or undefined when some can't be had: Nova's `apply_requests`.
 *
 * @param cellIds  where the instance's NUMA nodes are; of an instance without such, devices may be anywhere
 */
export function takeDevices(
  pools: readonly PciPool[],
  requests: readonly PciRequest[],
  hostCells: readonly HostCell[],
  cellIds?: CellIds,
): readonly PciPool[] | undefined {
  let left = pools;
  for (const request of requests) {
    const suitable = suitablePools(left, request, hostCells, cellIds);
    if (suitable.length === 0 || countOf(suitable) < request.count) return undefined;
    left = take(left, suitable, request.count);
  }
  return left;
}

export function countOf(pools: readonly PciPool[]): number {
  return pools.reduce((sum, { count }) => sum + count, 0);
}

function take(pools: readonly PciPool[], suitable: readonly PciPool[], count: number): PciPool[] {
  const left = new Map<PciPool, number>();
  let missing = count;
  for (const pool of suitable) {
    left.set(pool, Math.max(0, pool.count - missing));
    missing -= Math.min(pool.count, missing);
    if (missing === 0) break;
  }
  return pools
    .map((pool) => ({ ...pool, count: left.get(pool) ?? pool.count }))
    .filter(({ count: rest }, i) => rest > 0 || !left.has(pools[i] as PciPool));
}

/** Pools of devices that a request may have, those that it should have first. Physical functions and the like are for requests that name them. */
function suitablePools(
  pools: readonly PciPool[],
  request: PciRequest,
  hostCells: readonly HostCell[],
  cellIds: CellIds | undefined,
): readonly PciPool[] {
  const { anyOf, count } = request;
  const matching = pools.filter((pool) => anyOf.some((wanted) => matches(pool, wanted)));
  if (countOf(matching) < count) return [];
  const near = cellIds?.length ? nearPools(matching, request, hostCells, cellIds) : matching;
  if (countOf(near) < count) return [];
  const names = (type: string) => anyOf.some((wanted) => wanted.get('dev_type') === type);
  const isRemote = anyOf.some((wanted) => isTrue(wanted.get('remote_managed')));
  return near.filter(
    ({ properties }) =>
      (properties.get('dev_type') !== 'type-PF' || names('type-PF')) &&
      (properties.get('dev_type') !== 'vdpa' || names('vdpa')) &&
      (isRemote || !isTrue(properties.get('remote_managed'))),
  );
}

/** Pools near the instance's NUMA nodes, as near as the request's policy wants and as there are enough. */
function nearPools(
  pools: readonly PciPool[],
  { numaPolicy = 'legacy', count }: PciRequest,
  hostCells: readonly HostCell[],
  cellIds: CellIds,
): readonly PciPool[] {
  const isIn = (ids: CellIds) => (pool: PciPool) => pool.numaNode !== undefined && ids.includes(pool.numaNode);
  const same = pools.filter(isIn(cellIds));
  if (numaPolicy === 'required' || countOf(same) >= count) return same;
  if (numaPolicy === 'socket') return pools.filter(isIn(cellsOfSockets(hostCells, cellIds)));
  const isNearOrUnknown = (pool: PciPool) => pool.numaNode === undefined || isIn(cellIds)(pool);
  const near = pools.filter(isNearOrUnknown);
  if (numaPolicy === 'legacy' || countOf(near) >= count) return near;
  return [...near, ...pools.filter((pool) => !isNearOrUnknown(pool))];
}

/** Cells of the sockets on which cells are; none where a host does not tell its sockets. */
function cellsOfSockets(hostCells: readonly HostCell[], cellIds: CellIds): CellIds {
  if (hostCells.some(({ socket }) => socket === undefined)) return [];
  const sockets = new Set(hostCells.filter(({ id }) => cellIds.includes(id)).map(({ socket }) => socket));
  return hostCells.filter(({ socket }) => sockets.has(socket)).map(({ id }) => id);
}

function matches({ properties }: PciPool, wanted: ReadonlyMap<string, string | undefined>): boolean {
  return [...wanted].every(([name, value]) => lowerCase(properties.get(name)) === lowerCase(value));
}

function lowerCase(value: string | number | undefined): string | number | undefined {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

function isTrue(value: string | number | undefined): boolean {
  return value !== undefined && truthOf(String(value)) === true;
}
