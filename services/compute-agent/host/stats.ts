import type { RunningInstance, UpdateResourceStatsRequest } from '#libs/contracts/messages';
import { addResources, type Inventories, type Resources } from '#libs/domain/inventory';
import type { Driver, RunningWorkload } from '../drivers/driver';
import type { HostFacts } from './host-facts';
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

/** What a host reports. */
export function statsOf(facts: HostFacts, driver: Driver, ledger: Ledger, external: ExternalUsage): Stats {
  const { inventories, traits, capabilities } = driver.capacity();
  const { providerUuid, cell, serviceHost, availabilityZone, aggregates } = facts;
  return {
    providerUuid,
    cell,
    serviceHost,
    availabilityZone,
    aggregates,
    inventories,
    traits,
    capabilities,
    externalUsage: external.resources,
    externalInstances: external.workloadCount,
    ioOps: ioOpsOf(ledger),
    instances: Array.from(ledger.all(), runningInstance),
  };
}

/** How many instances are being built or destroyed (Nova's `num_io_ops`). */
export function ioOpsOf(ledger: Ledger): number {
  return ledger.count('building') + ledger.count('destroying');
}

function runningInstance(instance: TrackedInstance): RunningInstance {
  const { uuid: instanceUuid, projectId, userId, resources, name, groupId, requestId, state } = instance;
  return { instanceUuid, projectId, userId, resources, name, groupId, requestId, running: state === 'running' };
}
