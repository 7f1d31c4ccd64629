import { randomUUID } from 'node:crypto';
import type { Allocations } from '../../domain/consumer';
import { type Inventories, inventory } from '../../domain/inventory';
import { storedGroupKey } from '../../domain/server-group';
import type {
  AcquireHosts,
  Change,
  Command,
  CommitResult,
  ConsumerWrite,
  HostReport,
  PlacementStore,
  ProjectUsage,
  RecordFailure,
  Revised,
  Rows,
} from '../../placement/port/placement-store';

/** Default time of the tests' commits. */
export const AT_MS = 1_700_000_000_000;

type Plain<C> = C extends { readonly atMs: number } ? Omit<C, 'atMs'> & { readonly atMs?: number } : never;

/** Commits with a time of its own. */
export function commit(store: PlacementStore, command: Plain<Command>): Promise<CommitResult> {
  return store.commit({ atMs: AT_MS, ...command });
}

/** Commits a command that must succeed; returns its change. */
export async function mustCommit(store: PlacementStore, command: Plain<Command>): Promise<Change> {
  const result = await commit(store, command);
  if (result.kind !== 'committed') throw new Error(`not committed: ${JSON.stringify(result)}`);
  return result.change;
}

/** Makes a report that must succeed; returns its change. */
export async function mustReport(store: PlacementStore, report: HostReport): Promise<Change> {
  const result = await store.reportHost(report);
  if (result.kind !== 'committed') throw new Error(`not committed: ${JSON.stringify(result)}`);
  return result.change;
}

/** Creates a root provider (or a child) with inventories; returns its uuid. */
export async function aProvider(
  store: PlacementStore,
  inventories: Inventories = { VCPU: inventory(10), MEMORY_MB: inventory(1_000) },
  parentUuid?: string,
): Promise<string> {
  const uuid = randomUUID();
  await mustCommit(store, { kind: 'put_provider', uuid, name: `provider-${uuid}`, parentUuid, mode: 'create' });
  const change = { providerUuid: uuid, generation: undefined, inventories, replace: true } as const;
  if (Object.keys(inventories).length > 0) await mustCommit(store, { kind: 'write_inventories', ...change });
  return uuid;
}

/** The write of one consumer's allocations; `fields` override the defaults. */
export function aWrite(allocations: Allocations, fields: Partial<ConsumerWrite> = {}): ConsumerWrite {
  return {
    uuid: randomUUID(),
    projectId: 'project-1',
    userId: 'user-1',
    consumerType: 'INSTANCE',
    owner: 'conductor',
    allocations,
    mappings: {},
    expect: { kind: 'any' },
    ...fields,
  };
}

/** Claims for consumers in one command. */
export function claim(store: PlacementStore, ...consumers: readonly ConsumerWrite[]): Promise<CommitResult> {
  return commit(store, { kind: 'write_allocations', consumers });
}

/** An agent's report; `fields` override the defaults. */
export function aReport(fields: Partial<HostReport> = {}): HostReport {
  return {
    atMs: AT_MS,
    host: 'host-1',
    providerUuid: 'a0000000-0000-4000-8000-000000000001',
    cell: 'cell1',
    serviceHost: fields.host ?? 'host-1',
    agentRun: 'run-1',
    sequence: 1,
    epoch: 0,
    inventories: { VCPU: inventory(8), MEMORY_MB: inventory(16_384) },
    traits: ['HW_CPU_X86_AVX2'],
    aggregates: undefined,
    capabilities: { hw_architecture: ['x86_64'] },
    ioOps: 0,
    externalInstances: 0,
    ...fields,
  };
}

/** A failed build on a host; by default it begins when it fails. */
export function aFailure(fields: Partial<RecordFailure> & { readonly atMs?: number } = {}) {
  const atMs = fields.atMs ?? AT_MS;
  const failure = { kind: 'record_failure', host: 'host-1', halfLifeMs: 1_000, reason: 'failed' } as const;
  return { ...failure, startedAtMs: atMs, atMs, ...fields };
}

/** Makes a run the holder of a host; returns the epoch. */
export async function mustAcquire(store: PlacementStore, fields: Partial<AcquireHosts> = {}): Promise<number> {
  const [grant] = await store.acquireHosts(anAcquisition(fields));
  if (grant?.kind !== 'granted') throw new Error(`not granted: ${JSON.stringify(grant)}`);
  return grant.epoch;
}

/** The acquisition by the agent of `aReport`; `fields` override the defaults. */
export function anAcquisition(fields: Partial<AcquireHosts> = {}): AcquireHosts {
  return { atMs: AT_MS, agentRun: 'run-1', serviceHost: 'host-1', hosts: ['host-1'], leaseMs: 60_000, ...fields };
}

/** All rows of a store, sorted, for comparison with another store or a mirror. */
export async function contentsOf(store: PlacementStore): Promise<Contents> {
  const all: Rows[] = [];
  await store.snapshot((rows) => all.push(rows));
  const sorted = <T>(rows: readonly T[], key: (row: T) => string) =>
    [...new Map(rows.map((row) => [key(row), row])).values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  return {
    providers: sorted(
      all.flatMap((rows) => rows.providers ?? []),
      (row) => row.uuid,
    ),
    usages: sorted(
      all.flatMap((rows) => rows.usages ?? []),
      (row) => row.providerUuid,
    ),
    hosts: sorted(
      all.flatMap((rows) => rows.hosts ?? []),
      (row) => row.name,
    ),
    consumers: sorted(
      all.flatMap((rows) => rows.consumers ?? []),
      (row) => row.uuid,
    ),
    resourceClasses: sorted(
      all.flatMap((rows) => rows.resourceClasses ?? []),
      (row) => row.name,
    ),
    aggregates: sorted(
      all.flatMap((rows) => rows.aggregates ?? []),
      (row) => row.uuid,
    ),
    serverGroups: sorted(
      all.flatMap((rows) => rows.serverGroups ?? []),
      (row) => storedGroupKey(row.projectId, row.name),
    ),
    traits: sorted(
      all.flatMap((rows) => rows.traits ?? []),
      (row) => row.name,
    ),
    quotas: sorted(
      all.flatMap((rows) => rows.quotas ?? []),
      (row) => row.projectId,
    ),
    guarantees: sorted(
      all.flatMap((rows) => rows.guarantees ?? []),
      (row) => row.name,
    ),
    reservations: sorted(
      all.flatMap((rows) => rows.reservations ?? []),
      (row) => row.name,
    ),
    admissionTurns: all.flatMap((rows) => rows.admissionTurns ?? []),
    leases: sorted(
      all.flatMap((rows) => rows.leases ?? []),
      (row) => row.consumerUuid,
    ),
    projectUsages: sorted(await store.projectUsages(), (row) => row.projectId),
  };
}

export type Contents = {
  readonly [K in Exclude<keyof Rows, `deleted${string}`>]-?: NonNullable<Rows[K]>;
} & { readonly projectUsages: readonly Revised<ProjectUsage>[] };

/** A store that is empty at the start of each test, with ways to open further clients. */
export interface PlacementStoreWorld {
  readonly store: PlacementStore;
  /** Another client of the same store. */
  another(): Promise<PlacementStore>;
  /** Closes all of them. */
  close(): Promise<void>;
}
