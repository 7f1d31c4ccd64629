import { randomUUID } from 'node:crypto';
import type { Allocations } from '#libs/domain/consumer';
import { inventory } from '#libs/domain/inventory';
import type {
  Command,
  CommitResult,
  HostReport,
  PlacementStore,
  ReportResult,
} from '#libs/placement/port/placement-store';
import { systemClock } from '#libs/runtime/system';
import { measureRate, type Rate } from './harness';

/** Providers in a store, and claims on them. */
export interface PlacementFleet {
  readonly name: string;
  /** Claims of VCPU, MEMORY_MB and DISK_GB, one per host. */
  readonly claims: readonly Allocations[];
}

/** An aggregate of a third of the hosts, and a trait of every other one. */
export const AGGREGATE = randomUUID();
export const TRAIT = 'HW_CPU_X86_AVX2';
/** A class with inventories in one tree only: one unit at each of eight children. */
export const DEVICE = 'CUSTOM_BENCH_DEVICE';
export const DEVICES = 8;

const AT_ONCE = 64;
const VCPU = inventory(128, { allocationRatio: 16 });
const MEMORY_MB = inventory(1_048_576, { reserved: 512 });
const DISK_GB = inventory(100_000);
const VFS = inventory(8);

/** Fills a store with hosts of one provider each, `host-0` and so on. */
export async function fillFlat(
  store: PlacementStore,
  count: number,
  inventories: Inventories = { VCPU, MEMORY_MB, DISK_GB },
): Promise<PlacementFleet> {
  const claims = await forEach(count, async (n) => {
    const uuid = randomUUID();
    await reportHost(store, report(n, uuid, inventories));
    return { [uuid]: { VCPU: 1, MEMORY_MB: 64, DISK_GB: 1 } };
  });
  return { name: `flat_${count}`, claims };
}

/**
 * Fills a store with hosts of seven providers each: a root with disk, two NUMA nodes with processors and memory, two
 * network cards below each. And one more tree, with eight devices.
 */
export async function fillNested(store: PlacementStore, count: number): Promise<PlacementFleet> {
  const claims = await forEach(count, async (n) => {
    const root = randomUUID();
    await reportHost(store, report(n, root, { DISK_GB }));
    const cells = await Promise.all([1, 2].map(() => child(store, root, { VCPU, MEMORY_MB })));
    await Promise.all(cells.flatMap((cell) => [1, 2].map(() => child(store, cell, { SRIOV_NET_VF: VFS }))));
    return { [root]: { DISK_GB: 1 }, [cells[n % 2] ?? '']: { VCPU: 1, MEMORY_MB: 64 } };
  });
  await commit(store, { kind: 'create_name', catalogue: 'resource_class', name: DEVICE });
  const root = randomUUID();
  await commit(store, { kind: 'put_provider', uuid: root, name: root, parentUuid: undefined, mode: 'create' });
  for (let n = 0; n < DEVICES; n++) await child(store, root, { [DEVICE]: inventory(1) });
  return { name: `nested_${count}x7`, claims };
}

/** The rate of claims directly on the store, from one client: the ceiling of everything that claims. */
export function measureClaims(
  store: PlacementStore,
  claims: readonly Allocations[],
  seconds: number,
  inFlight = 64,
): Promise<Rate> {
  return measureRate(
    (n) => {
      const owner = { projectId: 'bench', userId: 'bench', consumerType: 'INSTANCE', owner: 'api' } as const;
      const allocations = claims[n % claims.length] as Allocations;
      const consumer = { uuid: randomUUID(), ...owner, allocations, mappings: {}, expect: { kind: 'absent' } as const };
      return commit(store, { kind: 'write_allocations', consumers: [consumer] });
    },
    { inFlight, seconds },
  );
}

/** A command without its time. */
type Untimed = Command extends infer C ? (C extends Command ? Omit<C, 'atMs'> : never) : never;
type Inventories = Parameters<typeof report>[2];

function report(n: number, providerUuid: string, inventories: Readonly<Record<string, typeof VCPU>>): HostReport {
  return {
    atMs: systemClock().now(),
    host: `host-${n}`,
    providerUuid,
    cell: 'cell1',
    serviceHost: `host-${n}`,
    agentRun: 'bench',
    sequence: 1,
    epoch: 0,
    inventories,
    traits: ['COMPUTE_NODE', 'HW_CPU_X86_SSE42', ...(n % 2 === 0 ? [TRAIT] : [])],
    aggregates: n % 3 === 0 ? [AGGREGATE] : [],
    capabilities: {},
    ioOps: 0,
    externalInstances: 0,
  };
}

async function child(store: PlacementStore, parentUuid: string, inventories: Inventories): Promise<string> {
  const uuid = randomUUID();
  await commit(store, { kind: 'put_provider', uuid, name: uuid, parentUuid, mode: 'create' });
  const change = { providerUuid: uuid, generation: undefined, inventories, replace: true } as const;
  await commit(store, { kind: 'write_inventories', ...change });
  return uuid;
}

async function reportHost(store: PlacementStore, hostReport: HostReport): Promise<void> {
  requireCommitted('report_host', await store.reportHost(hostReport));
}

async function commit(store: PlacementStore, command: Untimed): Promise<void> {
  requireCommitted(command.kind, await store.commit({ ...command, atMs: systemClock().now() }));
}

function requireCommitted(what: string, { kind }: CommitResult | ReportResult): void {
  if (kind !== 'committed') throw new Error(`the store refused ${what}: ${kind}`);
}

async function forEach<T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < count; n = next++) made[n] = await make(n);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return made;
}
