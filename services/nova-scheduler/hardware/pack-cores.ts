import { threadPackings } from '#libs/domain/extra-specs/thread-packing';
import { freeCpus, type HostCell } from './host-hardware';
import type { WantedCell } from './wanted-hardware';

/** Host processors of a cell for an instance's own ones, and for its emulator's threads. */
export interface PackedCpus {
  readonly pinned: readonly number[];
  readonly reserved: readonly number[];
}

/**
 * Packs an instance's dedicated processors onto cores of a host's cell by its thread policy, or not at all: Nova's
 * `_pack_instance_onto_cores`. Of equal threads the lowest is taken, where Nova takes any.
 *
 * @param reservedCount  processors beside, for the emulator
 */
export function packOntoCores(
  cell: HostCell,
  { pcpuset, threadPolicy }: WantedCell,
  reservedCount: number,
): PackedCpus | undefined {
  const wantedCount = pcpuset.size;
  const free = freeCpus(cell);
  const cores = cell.siblings.map((threads) => [...threads].filter((cpu) => free.has(cpu)).sort((a, b) => a - b));
  const threadsPerCore = Math.max(1, ...cell.siblings.map(({ size }) => size));
  const isIsolated = threadPolicy === 'isolate';
  // Only a host of the old `vcpu_pin_set` may leave a thread unused.
  if (isIsolated && threadsPerCore !== 1 && !isSame(cell.pcpuset, cell.cpuset)) return undefined;
  for (const pinned of threadPackings({ cores, threadsPerCore }, threadPolicy, wantedCount)) {
    const packed = reserve(cores, pinned, reservedCount, isIsolated);
    if (packed !== undefined) return packed;
  }
  return undefined;
}

function reserve(
  cores: readonly (readonly number[])[],
  pinned: readonly number[],
  count: number,
  wholeCores: boolean,
): PackedCpus | undefined {
  if (count === 0) return { pinned, reserved: [] };
  const taken = new Set(pinned);
  const left = wholeCores ? cores.filter((threads) => !threads.some((cpu) => taken.has(cpu))) : cores;
  const reserved = left
    .flat()
    .filter((cpu) => !taken.has(cpu))
    .slice(0, count);
  return reserved.length === 0 ? undefined : { pinned, reserved };
}

function isSame(a: ReadonlySet<number>, b: ReadonlySet<number>): boolean {
  return a.size === b.size && [...a].every((cpu) => b.has(cpu));
}
