import { type FittingCell, fitsCell, isDedicated } from './fit-cell';
import { freeCpus, freeMemoryMb, type HostCell, type HostHardware, type Networks, type PciPool } from './host-hardware';
import { takeDevices } from './pci-devices';
import type { PciRequest, WantedTopology } from './wanted-hardware';

/** Nova's `packing_host_numa_cells_allocation_strategy`: cells in use come first, not those with most left. */
export interface FitSettings {
  readonly packingHostNumaCells: boolean;
}

/** Limit of the orders in which the cells of one host are tried; 8 cells have 40,320. */
const MOST_ORDERS = 50_000;

/**
 * Fits an instance's NUMA nodes and PCI devices onto a host: Nova's `numa_fit_instance_to_host`.
 *
 * Nova's function writes ids and page sizes into the instance's cells while it tries, and looks up what it tried before by these ids, so
 * that some hosts are refused that would do. nova-compute claims by the same function, and a host that it refuses is no use: so these
 * cells are written to likewise, in the same order.
 *
 * @returns the instance's cells, with the ids of the host's, or undefined when they do not fit
 */
export function fitTopology(
  host: HostHardware,
  wanted: WantedTopology,
  pciRequests: readonly PciRequest[],
  settings: FitSettings,
): readonly FittingCell[] | undefined {
  const count = wanted.cells.length;
  if (count === 0 || host.cells.length < count) return undefined;
  const cells: FittingCell[] = wanted.cells.map((cell) => ({ ...cell, pinnedCpus: [] }));
  const hostCells = host.cells.length > count ? inOrder(host, cells, pciRequests, settings) : host.cells;
  const tried = new Map<string, boolean>();
  const refusedFirst = new Set<HostCell>();
  const fitsAt = (hostCell: HostCell, i: number): boolean => {
    const cell = cells[i] as FittingCell;
    const pair = `${hostCell.id} ${cell.id}`;
    const before = tried.get(pair);
    if (before === true) cell.id = hostCell.id;
    if (before !== undefined) return before;
    const fits = fitsCell(hostCell, cell, host, wanted.isEmulatorIsolated && i === 0 ? 1 : 0);
    tried.set(pair, fits);
    return fits;
  };
  let orderCount = 0;
  for (const order of ordersOf(hostCells, count, refusedFirst)) {
    if (++orderCount > MOST_ORDERS) return undefined;
    const refusedAt = order.findIndex((hostCell, i) => !fitsAt(hostCell, i));
    if (refusedAt === 0) refusedFirst.add(order[0] as HostCell);
    if (refusedAt !== -1) continue;
    const ids = order.map(({ id }) => id);
    if (pciRequests.length > 0 && takeDevices(host.pools, pciRequests, host.cells, ids) === undefined) continue;
    if (wanted.networks !== undefined && !haveNetworks(order, host.cells, wanted.networks)) continue;
    return cells;
  }
  return undefined;
}

/** The host's cells in the order in which they are tried: those near PCI devices if some are wanted, then the least used ones. */
function inOrder(
  { cells, pools }: HostHardware,
  [first]: readonly FittingCell[],
  pciRequests: readonly PciRequest[],
  { packingHostNumaCells }: FitSettings,
): readonly HostCell[] {
  const sign = packingHostNumaCells ? 1 : -1;
  const usedFirst = (a: number, b: number) => sign * (a - b);
  const isOwn = first !== undefined && isDedicated(first);
  const deviceCount = (cell: HostCell) => sum(pools.filter(({ numaNode }) => numaNode === cell.id));
  return cells
    .toSorted((a, b) => usedFirst(freeMemoryMb(a), freeMemoryMb(b)))
    .toSorted((a, b) => (isOwn ? usedFirst(freeCpus(a).size, freeCpus(b).size) : usedFirst(-a.cpuUsage, -b.cpuUsage)))
    .toSorted((a, b) => (pciRequests.length > 0 ? -1 : 1) * (deviceCount(a) - deviceCount(b)));
}

function sum(pools: readonly PciPool[]): number {
  return pools.reduce((total, { count }) => total + count, 0);
}

/** Each choice of some of the cells, in each order, the first cells first. */
function* ordersOf(
  cells: readonly HostCell[],
  count: number,
  refusedFirst: ReadonlySet<HostCell>,
  begun: readonly HostCell[] = [],
): Generator<readonly HostCell[]> {
  if (begun.length === count) {
    yield begun;
    return;
  }
  for (const cell of cells) {
    if (begun.includes(cell)) continue;
    for (const order of ordersOf(cells, count, refusedFirst, [...begun, cell])) {
      yield order;
      // The first cell of the instance does not fit there: nor will it in another order.
      if (begun.length === 0 && refusedFirst.has(cell)) break;
    }
  }
}

/** True unless a network that is wanted is near to other cells only. */
function haveNetworks(chosen: readonly HostCell[], all: readonly HostCell[], wanted: Networks): boolean {
  const near = chosen.flatMap(({ networks }) => networks ?? []);
  const known = all.flatMap(({ networks }) => networks ?? []);
  const isElsewhere = [...wanted.physnets].some(
    (name) => !near.some(({ physnets }) => physnets.has(name)) && known.some(({ physnets }) => physnets.has(name)),
  );
  if (isElsewhere) return false;
  const isTunnelElsewhere = !near.some((one) => one.isTunneled) && known.some((one) => one.isTunneled);
  return !wanted.isTunneled || !isTunnelElsewhere;
}
