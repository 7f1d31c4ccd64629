import type { HostSummary } from '#libs/contracts/hosts';
import { capacityOf } from '#libs/domain/inventory';
import { STANDARD_RESOURCE_CLASSES } from '#libs/domain/standard-names';
import type { InventoryDocument } from '../client/placement-documents';
import type { StockedProvider } from '../client/providers';
import type { Gauge } from './table';

/** A provider's inventory, usage and capacity of one class. */
export interface Fill {
  readonly resourceClass: string;
  readonly inventory: InventoryDocument;
  readonly used: number;
  readonly capacity: number;
}

/** A provider's inventories with their usage, in the order of `compareClasses`. */
export function fillsOf({ inventories, usages }: Pick<StockedProvider, 'inventories' | 'usages'>): Fill[] {
  return Object.entries(inventories)
    .map(([resourceClass, inventory]) => {
      const { total, reserved, allocation_ratio: allocationRatio } = inventory;
      const capacity = capacityOf({ total, reserved, allocationRatio });
      return { resourceClass, inventory, used: usages[resourceClass] ?? 0, capacity };
    })
    .sort((a, b) => compareClasses(a.resourceClass, b.resourceClass));
}

/** A host's usage of one class, over all its providers; undefined without that class. */
export function gaugeOf({ resources }: HostSummary, resourceClass: string): Gauge | undefined {
  const found = resources[resourceClass];
  return found && { used: found.used, capacity: capacityOf(found.inventory) };
}

/** Standard classes in Placement's order (VCPU, MEMORY_MB, DISK_GB, ...), then others by name. */
export function compareClasses(a: string, b: string): number {
  return rankOf(a) - rankOf(b) || a.localeCompare(b);
}

function rankOf(resourceClass: string): number {
  const rank = STANDARD_RESOURCE_CLASSES.indexOf(resourceClass);
  return rank === -1 ? STANDARD_RESOURCE_CLASSES.length : rank;
}
