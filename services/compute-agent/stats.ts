import { addResources, type Inventories, type Resources } from '#libs/domain/inventory';
import type { Driver, Found } from './drivers/driver';
import { type Ledger, reported } from './ledger';
import type { Stats } from './reporter';

/** What of a host does not change while its agent runs. */
export interface HostFacts {
  readonly name: string;
  readonly providerUuid: string;
  readonly cell: string;
  /** The process that carries the host, when it carries others, too; else ''. */
  readonly serviceHost: string;
  readonly availabilityZone: string;
  /** Undefined leaves them to operators. */
  readonly aggregates: readonly string[] | undefined;
}

/** What runs on a host and is not the agent's. */
export interface Others {
  readonly count: number;
  readonly usage: Resources;
}

/** What a driver found that the agent does not carry; at most the total of each class, as reports must be. */
export function othersAmong(found: readonly Found[], isOwn: (id: string) => boolean, inventories: Inventories): Others {
  const others = found.filter(({ id }) => !isOwn(id));
  const sum = others.reduce<Resources>((all, one) => addResources(all, one.resources), {});
  const within = Object.entries(sum).flatMap(([resourceClass, amount]) => {
    const total = inventories[resourceClass]?.total;
    return total === undefined ? [] : [[resourceClass, Math.min(total, amount)] as const];
  });
  return { count: others.length, usage: Object.fromEntries(within) };
}

/** A host's report. */
export function statsOf(facts: HostFacts, driver: Driver, ledger: Ledger, others: Others): Stats {
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
    externalUsage: others.usage,
    externalInstances: others.count,
    ioOps: ioOpsOf(ledger),
    instances: Array.from(ledger.all(), reported),
  };
}

/** How many instances are being built or destroyed. */
export function ioOpsOf(ledger: Ledger): number {
  return ledger.count('building') + ledger.count('destroying');
}
