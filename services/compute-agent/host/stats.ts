import type { RunningInstance, UpdateResourceStatsRequest } from '#libs/contracts/messages';
import type { HostPosition } from '#libs/domain/host-position';
import { addResources, type Inventories, type Resources } from '#libs/domain/inventory';
import type { RunningWorkload } from '../drivers/driver';
import type { Host } from './host';
import type { Ledger, TrackedInstance } from './ledger';

/** A host's report, less what the reporter adds to each. */
export type Stats = Omit<UpdateResourceStatsRequest, 'host' | 'agentRun' | 'sequence' | 'disabled'>;

/** What runs on a host and is not tracked by its agent. */
export interface ExternalUsage {
  readonly workloadCount: number;
  readonly resources: Resources;
}

/** What a driver found that the agent does not track; of each class at most the total, the most that is reported. */
export function externalUsageOf(
  workloads: readonly RunningWorkload[],
  isTracked: (id: string) => boolean,
  inventories: Inventories,
): ExternalUsage {
  const external = workloads.filter(({ id }) => !isTracked(id));
  const sum = external.reduce<Resources>((all, { resources }) => addResources(all, resources), {});
  const upToTotal = Object.entries(sum).flatMap(([resourceClass, amount]) => {
    const total = inventories[resourceClass]?.total;
    return total === undefined ? [] : [[resourceClass, Math.min(total, amount)] as const];
  });
  return { workloadCount: external.length, resources: Object.fromEntries(upToTotal) };
}

/** What a host reports, but for when. */
export function statsOf(
  { facts, driver, ledger, external }: Host,
  hasAllocationRequests: boolean,
): Omit<Stats, keyof HostPosition> {
  const { inventories, traits, capabilities } = driver.capacity();
  const { providerUuid, cell, serviceHost } = facts;
  return {
    providerUuid,
    cell,
    serviceHost,
    // Those of its hosts are operators' to say.
    aggregates: undefined,
    inventories,
    traits,
    capabilities,
    externalUsage: external.resources,
    externalInstances: external.workloadCount,
    ioOps: ioOpsOf(ledger),
    instances: Array.from(ledger.all(), (instance) => runningInstance(instance, hasAllocationRequests)),
  };
}

/** How many instances are being built or destroyed (Nova's `num_io_ops`). */
function ioOpsOf(ledger: Ledger): number {
  return ledger.count('building') + ledger.count('destroying');
}

/** What schedulers decide by and no claim shows: it is reported ahead of time when it changes. */
export function describeVolatile({ ledger, external }: Pick<Host, 'ledger' | 'external'>): string {
  return JSON.stringify([ioOpsOf(ledger), external.resources]);
}

const NOT_ASKED_FOR = new Uint8Array();

function runningInstance(instance: TrackedInstance, hasAllocationRequest: boolean): RunningInstance {
  const { uuid: instanceUuid, projectId, userId, resources, name, groupId, requestId, attempt, claimToken } = instance;
  // A journal of an older version has none.
  const allocationRequest = hasAllocationRequest
    ? Buffer.from(instance.allocationRequest ?? '', 'base64')
    : NOT_ASKED_FOR;
  const running = instance.state === 'running';
  const who = { instanceUuid, projectId, userId, resources, name, groupId, requestId };
  return { ...who, running, attempt, claimToken, allocationRequest };
}
