import type { RunningInstance, UpdateResourceStatsRequest } from '#libs/contracts/stats';
import type { HostPosition } from '#libs/domain/host-position';
import { addResources, type Resources, spreadUsage } from '#libs/domain/inventory';
import type { Driver, RunningWorkload } from '../drivers/driver';
import type { HostFacts } from './host-facts';
import type { Ledger } from './ledger';
import type { OwnProvider } from './own-providers';
import type { TrackedInstance } from './tracked-instance';

/** A host's report without the fields that the reporter adds. */
export type Stats = Omit<UpdateResourceStatsRequest, 'host' | 'agentRun' | 'sequence' | 'disabled'>;

/** Workloads of a host that its agent does not track. */
export interface ExternalUsage {
  readonly workloadCount: number;
  /** By provider name. */
  readonly byProvider: ReadonlyMap<string, Resources>;
}

/**
 * The usage of untracked workloads: put on the providers that have its classes, root first, at most up to each total,
 * the most that a report may contain. Instances' usage of a class that has moved from the root to nested providers
 * since their claim is treated alike.
 */
export function externalUsageOf(
  workloads: readonly RunningWorkload[],
  isTracked: (id: string) => boolean,
  providers: readonly OwnProvider[],
  ledger: Pick<Ledger, 'usedOn'>,
): ExternalUsage {
  const external = workloads.filter(({ id }) => !isTracked(id));
  const sum = external.reduce<Resources>(
    (all, { resources }) => addResources(all, resources),
    displaced(providers, ledger),
  );
  const parts = spreadUsage(
    sum,
    providers.map(({ inventories }) => inventories),
    ({ total }) => total,
  );
  const byProvider = new Map(providers.map(({ name }, n) => [name, parts[n] ?? {}]));
  return { workloadCount: external.length, byProvider };
}

function displaced([root, ...nested]: readonly OwnProvider[], ledger: Pick<Ledger, 'usedOn'>): Resources {
  if (root === undefined || nested.length === 0) return {};
  return Object.fromEntries(
    Object.entries(ledger.usedOn(root.uuid)).filter(([name]) => root.inventories[name] === undefined),
  );
}
/** A host of which an agent reports. */
interface ReportedHost {
  readonly facts: HostFacts;
  readonly driver: Driver;
  readonly ledger: Ledger;
  readonly external: ExternalUsage;
  readonly unreadable: ReadonlySet<string>;
}

/** The content of a host's report without its position. */
export function statsOf(
  { facts, driver, ledger, external, unreadable }: ReportedHost,
  hasAllocationRequests: boolean,
): Omit<Stats, keyof HostPosition> {
  const { inventories, traits, capabilities, nested } = driver.capacity();
  const usedBy = (name: string) => external.byProvider.get(name) ?? {};
  const { providerUuid, cell, serviceHost } = facts;
  return {
    providerUuid,
    cell,
    serviceHost,
    // Operators decide the aggregates of its hosts.
    aggregates: undefined,
    inventories,
    traits,
    capabilities,
    externalUsage: usedBy(''),
    nestedProviders: nested.map((one) => ({ ...one, externalUsage: usedBy(one.name) })),
    externalInstances: external.workloadCount,
    ioOps: ioOpsOf(ledger),
    instances: [
      ...Array.from(ledger.all(), (instance) => runningInstance(instance, hasAllocationRequests, nested.length > 0)),
      ...Array.from(unreadable, unreadableInstance),
    ],
  };
}

/** The number of builds and destroys in progress (Nova's `num_io_ops`). */
function ioOpsOf(ledger: Ledger): number {
  return ledger.count('building') + ledger.count('destroying');
}

/** State that schedulers use and no claim shows: its changes are reported early. */
export function describeVolatile({
  ledger,
  external,
  driver,
}: Pick<ReportedHost, 'ledger' | 'external' | 'driver'>): string {
  return JSON.stringify([ioOpsOf(ledger), [...external.byProvider], driver.capacity().nested]);
}

const NOT_ASKED_FOR = new Uint8Array();

/** It keeps its claim and its record unchanged. */
function unreadableInstance(instanceUuid: string): RunningInstance {
  const unknown = { projectId: '', userId: '', name: '', groupId: '', requestId: '', resources: {}, allocations: {} };
  const builtBy = { attempt: 0, claimToken: 0, allocationRequest: NOT_ASKED_FOR };
  return { instanceUuid, ...unknown, ...builtBy, running: false, unreadable: true };
}

function runningInstance(
  instance: TrackedInstance,
  hasAllocationRequest: boolean,
  hasNested: boolean,
): RunningInstance {
  const { uuid: instanceUuid, projectId, userId, resources, name, groupId, requestId, attempt, claimToken } = instance;
  // A journal of an older version has none.
  const allocationRequest = hasAllocationRequest
    ? Buffer.from(instance.allocationRequest ?? '', 'base64')
    : NOT_ASKED_FOR;
  const running = instance.state !== 'building' && instance.state !== 'destroying';
  const power = instance.state === 'stopped' ? ({ powerState: 'shutdown' } as const) : {};
  const move = instance.handedOver ? { handedOver: true } : {};
  const who = { instanceUuid, projectId, userId, resources, name, groupId, requestId };
  const allocations = hasNested ? (instance.allocations ?? {}) : {};
  return { ...who, running, attempt, claimToken, allocationRequest, allocations, ...power, ...move };
}
