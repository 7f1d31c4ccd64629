import type { RunningInstance, UpdateResourceStatsRequest } from '#libs/contracts/messages';
import type { HostPosition } from '#libs/domain/host-position';
import { addResources, type Resources, spreadUsage } from '#libs/domain/inventory';
import type { RunningWorkload } from '../drivers/driver';
import type { Host } from './host';
import type { Ledger, TrackedInstance } from './ledger';
import type { OwnProvider } from './own-providers';

/** A host's report, less what the reporter adds to each. */
export type Stats = Omit<UpdateResourceStatsRequest, 'host' | 'agentRun' | 'sequence' | 'disabled'>;

/** What runs on a host and is not tracked by its agent. */
export interface ExternalUsage {
  readonly workloadCount: number;
  /** By the names of the host's providers. */
  readonly byProvider: ReadonlyMap<string, Resources>;
}

/**
 * What a driver found that the agent does not track: put on the providers that have its classes, root first, of each class at
 * most the total, the most that is reported. So is what instances hold of a class that the root had when they were claimed,
 * and that is on nested providers now.
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
/** What a host reports, but for when. */
export function statsOf(
  { facts, driver, ledger, external, unreadable }: Host,
  hasAllocationRequests: boolean,
): Omit<Stats, keyof HostPosition> {
  const { inventories, traits, capabilities, nested } = driver.capacity();
  const usedBy = (name: string) => external.byProvider.get(name) ?? {};
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

/** How many instances are being built or destroyed (Nova's `num_io_ops`). */
function ioOpsOf(ledger: Ledger): number {
  return ledger.count('building') + ledger.count('destroying');
}

/** What schedulers decide by and no claim shows: it is reported ahead of time when it changes. */
export function describeVolatile({ ledger, external, driver }: Pick<Host, 'ledger' | 'external' | 'driver'>): string {
  return JSON.stringify([ioOpsOf(ledger), [...external.byProvider], driver.capacity().nested]);
}

const NOT_ASKED_FOR = new Uint8Array();

/** It keeps its claim and its record, whatever they are. */
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
